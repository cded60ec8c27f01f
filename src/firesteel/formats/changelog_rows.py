"""Changes of database tables as JSON: Debezium, Canal, Maxwell and Ogg (Flink: ``debezium-json``).

A reader converts a message to rows with row kinds; an update is two rows, -U and +U. An invalid message
raises one of PARSE_ERRORS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import RowTypeInfo, TypeInformation, Types
from firesteel.common.types import Row, RowKind, _make_row
from firesteel.formats.json_rows import (
    Ignore,
    ValueFormat,
    json_decoder,
    parse_json,
    value_decoder,
    value_encoder,
)

ReadChanges = Callable[[bytes], Sequence[Row]]
WriteChange = Callable[[Row], bytes]


@dataclass(frozen=True, slots=True)
class ChangelogOptions:
    """``schema_include`` (Debezium): the change is in ``payload``. ``database`` and ``table`` (Canal):
    patterns of the names to read; other changes are skipped. ``ignore`` is as in ``json_decoder``."""

    type_info: RowTypeInfo
    schema_include: bool = False
    database: str | None = None
    table: str | None = None
    ignore: Ignore | None = None


def row_type(type_info: TypeInformation | None) -> RowTypeInfo:
    """:raises ProgramError: it is not a row type."""
    if not isinstance(type_info, RowTypeInfo):
        raise ProgramError(f"changes are rows, not {type_info}", hint="declare Types.ROW_NAMED")
    return type_info


def debezium_reader(options: ChangelogOptions) -> ReadChanges:
    """Read ``before``, ``after`` and ``op``: c (created), r (read in a snapshot), u (updated), d
    (deleted)."""
    row = options.type_info
    change_type = Types.ROW_NAMED(["before", "after", "op"], [row, row, Types.STRING()])
    wrapped = Types.ROW_NAMED(["payload"], [change_type])
    decode = json_decoder(wrapped if options.schema_include else change_type, False, options.ignore)

    def read(message: bytes) -> Sequence[Row]:
        change = decode(message)
        if options.schema_include and change is not None:
            change = change[0]
        if change is None:
            raise ValueError("there is no change in it")
        return debezium_rows(*change)

    return read


def debezium_rows(before: Row | None, after: Row | None, op: Any) -> Sequence[Row]:
    """Return the rows of a change, with their kinds."""
    match op:
        case "c" | "r":
            return (_of_kind(RowKind.INSERT, _there(after, "after")),)
        case "u":
            return _update(_there(before, "before", _HINT), _there(after, "after"))
        case "d":
            return (_of_kind(RowKind.DELETE, _there(before, "before", _HINT)),)
    raise ValueError(f'unknown "op": {op!r}')


_HINT: Final = "; with PostgreSQL, the table needs REPLICA IDENTITY FULL"


def _there(row: Row | None, name: str, hint: str = "") -> Row:
    if row is None:
        raise ValueError(f'"{name}" is null{hint}')
    return row


def ogg_reader(options: ChangelogOptions) -> ReadChanges:
    """Read ``before``, ``after`` and ``op_type``: I (inserted), U (updated), D (deleted). T, which empties
    the table, is not a change of a row and is skipped."""
    row = options.type_info
    change_type = Types.ROW_NAMED(["before", "after", "op_type"], [row, row, Types.STRING()])
    decode = json_decoder(change_type, False, options.ignore)

    def read(message: bytes) -> Sequence[Row]:
        change = decode(message)
        if change is None:
            raise ValueError("there is no change in it")
        before, after, op = change
        match op:
            case "I":
                return (_of_kind(RowKind.INSERT, _there(after, "after")),)
            case "U":
                return _update(_there(before, "before"), _there(after, "after"))
            case "D":
                return (_of_kind(RowKind.DELETE, _there(before, "before")),)
            case "T":
                return ()
        raise ValueError(f'unknown "op_type": {op!r}')

    return read


def maxwell_reader(options: ChangelogOptions) -> ReadChanges:
    """Read ``data``, ``type`` (insert, update, delete) and, for an update, ``old``: the fields that
    changed."""
    decode = value_decoder(options.type_info, False, options.ignore)

    def read(message: bytes) -> Sequence[Row]:
        root = parse_json(message)
        data = _there(decode(root.get("data")), "data")
        match root["type"]:
            case "insert":
                return (_of_kind(RowKind.INSERT, data),)
            case "update":
                old = root.get("old")
                return _update(_before(_there(decode(old), "old"), old, data), data)
            case "delete":
                return (_of_kind(RowKind.DELETE, data),)
            case other:
                raise ValueError(f'unknown "type": {other!r}')

    return read


def canal_reader(options: ChangelogOptions) -> ReadChanges:
    """As Maxwell's, but ``data`` and ``old`` are lists. CREATE is not a change of a row and is skipped."""
    decode = value_decoder(options.type_info, False, options.ignore)
    patterns = [
        (name, re.compile(pattern))
        for name, pattern in (("database", options.database), ("table", options.table))
        if pattern is not None
    ]

    def read(message: bytes) -> Sequence[Row]:
        root = parse_json(message)
        if not all(pattern.fullmatch(root[name]) for name, pattern in patterns):
            return ()
        match root["type"]:
            case "INSERT":
                return [_of_kind(RowKind.INSERT, decode(data)) for data in root["data"]]
            case "UPDATE":
                rows: list[Row] = []
                for data, old in zip(root["data"], root["old"], strict=True):
                    after = decode(data)
                    rows += _update(_before(decode(old), old, after), after)
                return rows
            case "DELETE":
                return [_of_kind(RowKind.DELETE, decode(data)) for data in root["data"]]
            case "CREATE":
                return ()
            case other:
                raise ValueError(f'unknown "type": {other!r}')

    return read


def _of_kind(kind: RowKind, row: Row) -> Row:
    row.set_row_kind(kind)
    return row


def _update(before: Row, after: Row) -> Sequence[Row]:
    return _of_kind(RowKind.UPDATE_BEFORE, before), _of_kind(RowKind.UPDATE_AFTER, after)


def _before(changed: Row, old: Any, after: Row) -> Row:
    """Return the row before an update, of which only the changed fields are given; a null counts as given."""
    names = after._fields or ()
    return _make_row([changed[n] if n in old else after[n] for n in names], list(names))


def _sql(separator: str) -> ValueFormat:
    def timestamp(value: Any) -> str:
        text = value.isoformat(separator)
        return f'"{text.rstrip("0") if "." in text else text}"'

    def time(value: Any) -> str:
        text = value.isoformat()
        return f'"{text.rstrip("0") if "." in text else text}"'

    return ValueFormat(timestamp, time)


TIME_FORMATS: Final = {"SQL": _sql(" "), "ISO-8601": _sql("T")}

# The text around a row, for an insertion and for a deletion.
ENVELOPES: Final = {
    "debezium": ('{"before":null,"after":%s,"op":"c"}', '{"before":%s,"after":null,"op":"d"}'),
    "canal": ('{"data":[%s],"type":"INSERT"}', '{"data":[%s],"type":"DELETE"}'),
    "maxwell": ('{"data":%s,"type":"insert"}', '{"data":%s,"type":"delete"}'),
    "ogg": ('{"before":null,"after":%s,"op_type":"I"}', '{"before":%s,"after":null,"op_type":"D"}'),
}
READERS: Final = {
    "debezium": debezium_reader,
    "canal": canal_reader,
    "maxwell": maxwell_reader,
    "ogg": ogg_reader,
}


def change_writer(format_: str, type_info: RowTypeInfo, times: str) -> WriteChange:
    """Return the function from a row to its message. An update is written as a deletion and an insertion."""
    encode = value_encoder(type_info, TIME_FORMATS[times])
    there, gone = ((a, b) for a, b in (envelope.split("%s") for envelope in ENVELOPES[format_]))
    envelopes = {
        RowKind.INSERT: there,
        RowKind.UPDATE_AFTER: there,
        RowKind.UPDATE_BEFORE: gone,
        RowKind.DELETE: gone,
    }

    def write(row: Row) -> bytes:
        before, behind = envelopes[row.get_row_kind()] if isinstance(row, Row) else there
        return f"{before}{encode(row)}{behind}".encode("utf-8", "replace")

    return write
