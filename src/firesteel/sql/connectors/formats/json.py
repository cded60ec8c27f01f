"""``json``: JSON objects, one in each line of a file or in each message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from json.encoder import encode_basestring
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from firesteel.common.columns import Columns
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.files.json_source import JsonFileSource, JsonFormat
from firesteel.formats.changelog_rows import TIME_FORMATS
from firesteel.formats.json_messages import JsonRowDeserializationSchema
from firesteel.formats.json_rows import json_elements_decoder, value_encoder
from firesteel.program.sources import SourceReader
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.cast import cast_column
from firesteel.sql.connectors.formats.file_types import file_type_info
from firesteel.sql.connectors.formats.joining import as_lines, as_messages, joined, whole
from firesteel.sql.connectors.formats.lines import LinesEncoder, LinesReader, ReadBlock
from firesteel.sql.connectors.formats.message_lines import MessageLines
from firesteel.sql.connectors.formats.messages import MessageReader, SchemaReader, one_object_each
from firesteel.sql.connectors.formats.registry import INSERTS, FormatOptions, MessageWriter, TableFormat
from firesteel.sql.connectors.formats.texts import NUMBERS, TIMES, plain_texts, short_decimal, short_decimals
from firesteel.sql.connectors.options import boolean, refused, word
from firesteel.sql.operators.objects import objects_of

__all__ = ["FORMATS", "OPTIONS", "JsonTableFormat", "block_reader", "create", "json_texts"]

_TEXT: Final = t.VarCharType(t.MAX_LENGTH)
_PLAIN: Final = (
    t.BooleanType,
    t.TinyIntType,
    t.SmallIntType,
    t.IntType,
    t.BigIntType,
    t.FloatType,
    t.DoubleType,
    t.CharType,
    t.VarCharType,
    t.TimestampType,
)
#: Read as texts first.
_AS_TEXT: Final = (t.DateType, t.TimeType)


@dataclass(frozen=True, slots=True)
class JsonTableFormat:
    """:param times: SQL or ISO-8601."""

    kinds: ClassVar = INSERTS

    fail_on_missing: bool = False
    ignore_errors: bool = False
    times: str = "SQL"
    ignore_nulls: bool = False
    plain_decimals: bool = False

    def reader(self, row: t.RowType, columns: tuple[int, ...]) -> SourceReader:
        if self.ignore_errors and columns:  # a field that cannot be read is NULL, as in a message
            return MessageLines(self).reader(row, columns)
        format_ = JsonFormat(file_type_info(row), self.fail_on_missing, self.ignore_errors)
        rows = JsonFileSource(("-",), format_).create_reader()
        return LinesReader(block_reader(self, row, columns), rows, row, columns)

    def writer(self, row: t.RowType) -> LinesEncoder:
        return LinesEncoder(partial(_line_writer, self, row))

    def message_reader(self, row: t.RowType, columns: tuple[int, ...]) -> MessageReader:
        # Only what is wanted is looked for in a message.
        read = t.RowType.of([row.names[c] for c in columns], [row.types[c] for c in columns])
        every = tuple(range(len(columns)))
        rows = _Messages(file_type_info(read), self.fail_on_missing, self.ignore_errors)
        return SchemaReader(rows, read, every, one_object_each(block_reader(self, read, every)))

    def message_writer(self, row: t.RowType) -> MessageWriter:
        texts = json_texts(self, row)
        return lambda columns: as_messages(texts(columns))


class _Messages(JsonRowDeserializationSchema):
    """A message that is an array has a row of each of its elements; a schema of a stream refuses it."""

    def __init__(self, type_info: TypeInformation, strict: bool, ignores: bool) -> None:
        super().__init__(type_info, strict, ignores)
        self._decode_elements = json_elements_decoder(type_info, strict, self._ignore if ignores else None)

    # These two as they are: what reads many at once knows by them that it reads the same as one by one.
    def deserialize(self, message: bytes | None) -> Any:
        return super().deserialize(message)

    def deserialize_batch(self, messages: Sequence[bytes]) -> list[Any]:
        return super().deserialize_batch(messages)

    def deserialize_many(self, message: bytes | None) -> Sequence[Any]:
        return () if message is None else self._decode_elements(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Messages, self._options


def _is_plain(data_type: t.DataType) -> bool:
    if isinstance(data_type, t.RowType):
        return all(_is_plain(x) for x in data_type.types)
    if isinstance(data_type, t.ArrayType):
        return _is_plain(data_type.element_type)
    return isinstance(data_type, _PLAIN)


def block_reader(format_: JsonTableFormat, row: t.RowType, columns: tuple[int, ...]) -> ReadBlock:
    """Return the function that reads usual lines."""
    wanted = [row.fields[c] for c in columns]
    usual = bool(wanted) and all(_is_plain(f.data_type) or isinstance(f.data_type, _AS_TEXT) for f in wanted)
    schema = pa.schema(
        [
            pa.field(f.name, pa.string() if isinstance(f.data_type, _AS_TEXT) else arrow_type(f.data_type))
            for f in wanted
        ]
    )
    how = pyarrow.json.ParseOptions(
        explicit_schema=schema, newlines_in_values=False, unexpected_field_behavior="ignore"
    )

    def read(block: bytes) -> Columns | None:  # hot
        if not usual or format_.fail_on_missing or not block.startswith(b"{"):
            return None
        options = pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        try:
            table = pyarrow.json.read_json(pa.BufferReader(block), options, how)
            arrays = []
            for field in wanted:
                array = whole(table.column(field.name))
                if isinstance(field.data_type, _AS_TEXT):
                    array = cast_column(array, _TEXT, field.data_type, "UTC")
                arrays.append(array)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            return None
        return Columns(arrays, table.num_rows)

    return read


def _line_writer(format_: JsonTableFormat, row: t.RowType) -> Callable[[Columns], bytes]:
    texts = json_texts(format_, row)
    return lambda columns: as_lines(texts(columns))


def json_texts(format_: JsonTableFormat, row: t.RowType) -> Callable[[Columns], list[str]]:
    """Return the function from columns to the JSON objects of their rows."""
    cells = json_cells(format_, row)
    keys = [encode_basestring(f.name) + ":" for f in row.fields]

    def encode(columns: Columns) -> list[str]:
        if format_.ignore_nulls:
            return _without_nulls([cell(a) for cell, a in zip(cells, columns.arrays, strict=True)], keys)
        parts: list[Any] = []
        for i, (cell, key, array) in enumerate(zip(cells, keys, columns.arrays, strict=True)):
            parts += [("," if i else "{") + key, cell(array).fill_null("null")]
        return joined([*parts, "}"], "") if parts else ["{}"] * len(columns)

    return encode


def json_cells(format_: JsonTableFormat, row: t.RowType) -> list[Callable[[pa.Array], pa.Array]]:
    """For each column the function from it to the JSON texts of its values; NULL stays NULL."""
    return [_cells(format_, f.data_type) for f in row.fields]


def _without_nulls(columns: list[pa.Array], keys: list[str]) -> list[str]:
    lists = [column.to_pylist() for column in columns]
    return [
        "{" + ",".join(k + v for k, v in zip(keys, values, strict=True) if v is not None) + "}"
        for values in zip(*lists, strict=True)
    ]


def _cells(format_: JsonTableFormat, data_type: t.DataType) -> Callable[[pa.Array], pa.Array]:
    """Return the function from a column to the JSON texts of its values."""
    separator = "T" if format_.times == "ISO-8601" else " "
    if isinstance(data_type, t.FloatType | t.DoubleType):
        return _floats(data_type)
    if isinstance(data_type, t.DecimalType) and not format_.plain_decimals:
        return short_decimals
    if isinstance(data_type, (*NUMBERS, t.BooleanType)):
        return lambda array: plain_texts(array, data_type)
    if isinstance(data_type, TIMES):
        return lambda array: pc.binary_join_element_wise(
            '"', plain_texts(array, data_type, separator), '"', ""
        )
    if isinstance(data_type, t.CharType | t.VarCharType):
        return _strings
    form = TIME_FORMATS[format_.times]._replace(
        decimal=_plain_decimal if format_.plain_decimals else short_decimal
    )
    encode = value_encoder(file_type_info(data_type), form)
    return lambda array: pa.array(
        [None if v is None else encode(v) for v in objects_of(array, data_type)], pa.string()
    )


def _plain_decimal(value: Decimal) -> str:
    return format(value, "f")


def _floats(data_type: t.DataType) -> Callable[[pa.Array], pa.Array]:
    def cells(array: pa.Array) -> pa.Array:
        texts = plain_texts(array, data_type)
        finite = pc.is_finite(array)  # what is not has no number in JSON
        return pc.if_else(finite, texts, pc.binary_join_element_wise('"', texts, '"', ""))

    return cells


def _strings(array: pa.Array) -> pa.Array:
    special = pc.match_substring_regex(array, r'[\x00-\x1f"\\]')
    if pc.any(special).as_py():
        return pa.array([None if v is None else encode_basestring(v) for v in array.to_pylist()], pa.string())
    return pc.binary_join_element_wise('"', array, '"', "")


def create(options: FormatOptions) -> JsonTableFormat:
    fails = bool(options.get("fail-on-missing-field"))
    if fails and options["ignore-parse-errors"]:
        raise options.error(
            "fail-on-missing-field",
            "fail-on-missing-field and ignore-parse-errors shouldn't both be true",
            "leave out one of them",
        )
    return JsonTableFormat(
        fails,
        bool(options["ignore-parse-errors"]),
        options["timestamp-format.standard"],
        bool(options["encode.ignore-null-fields"]),
        bool(options["encode.decimal-as-plain-number"]),
    )


_NULL_KEYS: Final = "a map with a NULL key has no JSON here"
_FILTER: Final = "filter such maps before"
OPTIONS: Final = (
    boolean("fail-on-missing-field", False),
    boolean("ignore-parse-errors", False),
    word("timestamp-format.standard", ("SQL", "ISO-8601"), "SQL"),
    refused("map-null-key.mode", _NULL_KEYS, _FILTER, unless=("FAIL",)),
    boolean("encode.ignore-null-fields", False),
    boolean("encode.decimal-as-plain-number", False),
    refused("map-null-key.literal", _NULL_KEYS, _FILTER),
    # which of two parsers Flink takes: they differ in which of repeated keys counts; here it is the last one,
    # as for the parser that is not the default
    boolean("decode.json-parser.enabled", True),
)
FORMATS: Final = (TableFormat(name="json", options=OPTIONS, files=create, messages=create),)
