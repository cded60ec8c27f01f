"""``debezium-json``, ``canal-json``, ``maxwell-json``, ``ogg-json``: changes of tables as messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Columns
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.formats.changelog_json import READING_SCHEMAS
from firesteel.formats.changelog_rows import ENVELOPES, ChangelogOptions
from firesteel.sql import types as t
from firesteel.sql.connectors.formats.change_metadata import CHANGE_METADATA, FormatMetadata
from firesteel.sql.connectors.formats.file_types import file_type_info
from firesteel.sql.connectors.formats.joining import as_messages
from firesteel.sql.connectors.formats.json import (
    OPTIONS,
    JsonTableFormat,
    block_reader,
    create as json_format,
    json_texts,
)
from firesteel.sql.connectors.formats.message_lines import in_lines
from firesteel.sql.connectors.formats.messages import (
    MessageReader,
    ReadMessages,
    ReadUsual,
    SchemaReader,
    one_object_each,
)
from firesteel.sql.connectors.formats.registry import FormatOptions, MessageWriter, TableFormat
from firesteel.sql.connectors.options import Option, boolean, text

__all__ = ["FORMATS", "ChangesFormat"]

_ALL: Final = frozenset({"+I", "-U", "+U", "-D"})
_STRING: Final = t.VarCharType(t.MAX_LENGTH)


@dataclass(frozen=True, slots=True)
class _Images:
    """What messages with the row before and after a change call it. :param field: where they say it."""

    field: str
    inserted: tuple[str, ...]
    updated: str
    deleted: str


#: The formats whose messages are columns at once; the others name only the fields that changed.
_IMAGES: Final = {
    "debezium": _Images("op", ("c", "r"), "u", "d"),
    "ogg": _Images("op_type", ("I",), "U", "D"),
}


@dataclass(frozen=True, slots=True)
class ChangesFormat:
    """:param name: without ``-json``. :param json: how rows are written in it.
    :param schema_include: of Debezium: messages have their schema. :param database, table: of Canal: patterns
        of the names of what is read.
    """

    name: str
    json: JsonTableFormat = field(default_factory=JsonTableFormat)
    schema_include: bool = False
    database: str | None = None
    table: str | None = None
    kinds: ClassVar = _ALL

    @property
    def metadata(self) -> Mapping[str, FormatMetadata]:
        return CHANGE_METADATA[self.name, self.schema_include]

    def message_reader(self, row: t.RowType, columns: tuple[int, ...]) -> MessageReader:
        read = t.RowType.of([row.names[c] for c in columns], [row.types[c] for c in columns])
        read_type = file_type_info(read)
        assert isinstance(read_type, RowTypeInfo)
        options: Any = ChangelogOptions(read_type, self.schema_include, self.database, self.table)
        schema = READING_SCHEMAS[self.name](options, self.json.ignore_errors)
        images = _IMAGES.get(self.name)
        usual = None if images is None or not columns else _images_reader(images, read, self.schema_include)
        return SchemaReader(schema, read, tuple(range(len(columns))), usual)

    def message_writer(self, row: t.RowType) -> MessageWriter:
        texts = json_texts(self.json, row)
        there, gone = (tuple(envelope.split("%s")) for envelope in ENVELOPES[self.name])
        around = {INSERT: there, UPDATE_AFTER: there, UPDATE_BEFORE: gone, DELETE: gone}

        def write(columns: Columns) -> list[bytes | None]:
            kinds = columns.kinds_or_inserts().tolist()
            found = zip(texts(columns), kinds, strict=True)
            return as_messages(f"{around[kind][0]}{row}{around[kind][1]}" for row, kind in found)

        return write


def _images_reader(images: _Images, row: t.RowType, wrapped: bool) -> ReadUsual:
    change = t.RowType.of(["before", "after", images.field], [row, row, _STRING])
    message = t.RowType.of(["payload"], [change]) if wrapped else change
    every = tuple(range(len(message.fields)))
    read_block = one_object_each(block_reader(JsonTableFormat(), message, every))
    words = pa.array([*images.inserted, images.updated, images.deleted])
    update, delete = len(images.inserted), len(images.inserted) + 1

    def read(messages: Sequence[bytes]) -> ReadMessages | None:  # hot
        found = read_block(messages)
        if found is None:
            return None
        arrays = found.columns.arrays
        before, after, word = arrays[0].flatten() if wrapped else arrays
        ops = pc.index_in(word, words)
        if ops.null_count:
            return None
        return _rows_of(before, after, ops.to_numpy(zero_copy_only=False), update, delete)

    return read


def _rows_of(
    before: pa.StructArray, after: pa.StructArray, ops: np.ndarray[Any, Any], update: int, delete: int
) -> ReadMessages | None:
    """Return the rows of changes: of an update two, the one before and the one after.

    :param ops: below *update*: an insertion. :return: None: a row that must be there is missing.
    """
    count = len(ops)
    updated, deleted = ops == update, ops == delete
    has_before, has_after = (a.is_valid().to_numpy(zero_copy_only=False) for a in (before, after))
    if not has_before[updated | deleted].all() or not has_after[~deleted].all():
        return None
    origins = np.repeat(np.arange(count), np.where(updated, 2, 1))
    second = np.zeros(len(origins), bool)
    second[1:] = origins[1:] == origins[:-1]
    two, gone = updated[origins], deleted[origins]
    old = gone | (two & ~second)
    kinds = np.select([gone, two & ~second, two], [DELETE, UPDATE_BEFORE, UPDATE_AFTER], INSERT)
    at = pa.array(np.where(old, origins, origins + count))
    arrays = [
        pa.concat_arrays([b, a]).take(at) for b, a in zip(before.flatten(), after.flatten(), strict=True)
    ]
    columns = Columns(arrays, len(origins), kinds.astype(np.int8) if kinds.any() else None)
    return ReadMessages(columns, None if len(origins) == count else origins)


def _create(name: str, options: FormatOptions) -> ChangesFormat:
    known = {option.key for option in _OPTIONS[name]}
    return ChangesFormat(
        name,
        json_format(options),
        bool("schema-include" in known and options["schema-include"]),
        _pattern(options, "database.include") if "database.include" in known else None,
        _pattern(options, "table.include") if "table.include" in known else None,
    )


def _pattern(options: FormatOptions, key: str) -> str | None:
    found: str | None = options[key]
    try:
        re.compile(found or "")
    except re.error as error:
        raise options.error(key, f"{found!r} is not a regular expression: {error}") from error
    return found


_JSON: Final = tuple(option for option in OPTIONS if option.key != "fail-on-missing-field")
_OPTIONS: Final[dict[str, tuple[Option, ...]]] = {
    "debezium": (*_JSON, boolean("schema-include", False)),
    "canal": (*_JSON, text("database.include"), text("table.include")),
    "maxwell": _JSON,
    "ogg": _JSON,
}
FORMATS: Final = tuple(
    TableFormat(
        name=f"{name}-json",
        options=options,
        files=in_lines(partial(_create, name)),
        messages=partial(_create, name),
    )
    for name, options in _OPTIONS.items()
)
