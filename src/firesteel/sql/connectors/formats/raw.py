"""``raw``: messages that are one value each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.serialization import checked_charset
from firesteel.formats.raw import RawFormatDeserializationSchema, RawFormatSerializationSchema
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.connectors.formats.file_types import file_type_info
from firesteel.sql.connectors.formats.message_lines import in_lines
from firesteel.sql.connectors.formats.messages import MessageReader, ReadMessages, have_bodies
from firesteel.sql.connectors.formats.registry import INSERTS, FormatOptions, MessageWriter, TableFormat
from firesteel.sql.connectors.options import text, word
from firesteel.sql.operators.objects import column_of_objects, objects_of
from firesteel.util.exceptions import TableException

__all__ = ["FORMATS", "RawTableFormat"]

_TEXTS: Final = (t.CharType, t.VarCharType)
_BYTES: Final = (t.BinaryType, t.VarBinaryType)
_NUMBERS: Final[dict[type[t.DataType], str]] = {
    t.BooleanType: "?",
    t.TinyIntType: "i1",
    t.SmallIntType: "i2",
    t.IntType: "i4",
    t.BigIntType: "i8",
    t.FloatType: "f4",
    t.DoubleType: "f8",
}


@dataclass(frozen=True, slots=True)
class RawTableFormat:
    """:param charset: of texts. :param big_endian: the order of the bytes of numbers."""

    charset: str = "UTF-8"
    big_endian: bool = True
    kinds: ClassVar = INSERTS

    def message_reader(self, row: t.RowType, columns: tuple[int, ...]) -> MessageReader:
        return _Reader(self, _single(row), bool(columns))

    def message_writer(self, row: t.RowType) -> MessageWriter:
        data_type = _single(row)
        schema = RawFormatSerializationSchema(file_type_info(data_type), self.charset, self.big_endian)

        def write(columns: Columns) -> list[bytes | None]:
            if isinstance(data_type, _BYTES):
                found: list[bytes | None] = columns.arrays[0].to_pylist()
                return found
            return schema.serialize_batch(objects_of(columns.arrays[0], data_type))

        return write


def _single(row: t.RowType) -> t.DataType:
    """Return the type of the only column."""
    if len(row.fields) != 1:
        raise TableException(
            "The 'raw' format only supports single physical column.",
            detail=f"the defined schema contains multiple physical columns: {', '.join(row.names)}",
            hint="use json, csv or avro for several, or METADATA columns beside the one",
        )
    (data_type,) = row.types
    if not isinstance(data_type, (*_TEXTS, *_BYTES, *_NUMBERS)):
        raise TableException(
            f"The 'raw' format doesn't supports '{data_type}' as column type.",
            detail=f"column {row.names[0]}",
            hint="declare a STRING, BYTES, BOOLEAN or a number",
        )
    return data_type


class _Reader:
    """NULL is a row, too. :param wanted: whether the column is."""

    def __init__(self, format_: RawTableFormat, data_type: t.DataType, wanted: bool) -> None:
        self._type = data_type
        self._wanted = wanted
        self._utf8 = checked_charset(format_.charset) == "utf-8"
        self._order: Literal["<", ">"] = ">" if format_.big_endian else "<"
        # Texts in a charset and wrong numbers are for the schema.
        self._schema = (
            None
            if isinstance(data_type, _BYTES)
            else RawFormatDeserializationSchema(
                file_type_info(data_type), format_.charset, format_.big_endian
            )
        )

    def open(self) -> None:
        """Nothing to prepare."""

    def read(self, messages: Sequence[bytes | None]) -> ReadMessages:  # hot
        if not self._wanted:
            return ReadMessages(Columns([], len(messages)))
        array = self._at_once(messages)
        if array is not None:
            return ReadMessages(Columns([array], len(messages)))
        return self._one_by_one(messages)

    def _at_once(self, messages: Sequence[bytes | None]) -> pa.Array | None:
        wanted = arrow_type(self._type)
        code = _NUMBERS.get(type(self._type))
        if code is None:
            array = pa.array(messages, pa.binary())
            if isinstance(self._type, _TEXTS) and not self._utf8:
                return None
            try:
                return array.cast(wanted)
            except pa.ArrowInvalid:  # not UTF-8
                return None
        kind = np.dtype(code).newbyteorder(self._order)
        if not have_bodies(messages) or set(map(len, messages)) - {kind.itemsize}:
            return None
        found = np.frombuffer(b"".join(messages), kind)
        return pa.array(found.astype(kind.newbyteorder("=")), wanted)

    def _one_by_one(self, messages: Sequence[bytes | None]) -> ReadMessages:
        assert self._schema is not None, "bytes are taken as they are"
        values: list[Any] = []
        origins: list[int] = []
        bad: list[tuple[int, Exception]] = []
        for index, message in enumerate(messages):
            try:
                values.append(self._schema.deserialize(message))
                origins.append(index)
            except ValueError as error:
                bad.append((index, error))
        columns = Columns([column_of_objects(values, self._type)], len(values))
        return ReadMessages(columns, np.array(origins, np.int64) if bad else None, bad)


def create(options: FormatOptions) -> RawTableFormat:
    try:
        checked_charset(options["charset"])
    except ValueError as error:
        raise options.error("charset", str(error)) from error
    return RawTableFormat(options["charset"], options["endianness"] == "big-endian")


FORMATS: Final = (
    TableFormat(
        name="raw",
        options=(
            text("charset", "UTF-8"),
            word("endianness", ("big-endian", "little-endian"), "big-endian"),
        ),
        files=in_lines(create),
        messages=create,
    ),
)
