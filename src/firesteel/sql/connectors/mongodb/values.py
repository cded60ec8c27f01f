"""Values of BSON as those of data types, and back (Flink: ``BsonToRowDataConverters``,
``RowDataToBsonConverters``)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from firesteel.common.errors import TypeMismatchError
from firesteel.common.extras import extra
from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.connectors._column_families import datetime_to_instant, instant_to_datetime
from firesteel.connectors.mongodb.source import ID
from firesteel.sql import types as t
from firesteel.util.exceptions import TableException

__all__ = ["ID", "Convert", "check_types", "object_id", "reader", "writer"]

Convert = Callable[[Any], Any]
_TRUE_TEXTS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is done with values of one class of types: functions of the type."""

    read: Callable[[Any], Convert]
    write: Callable[[Any], Convert | None]


def _bson() -> Any:
    return extra("bson", "MongoDB", "mongodb")


def object_id(text: str) -> Any:
    """Return the ObjectId that a text stands for, None if it stands for none."""
    bson = _bson()
    return bson.ObjectId(text) if bson.ObjectId.is_valid(text) else None


# ---- reading


def _read_text(value: Any) -> str:
    """What is no text is extended JSON, as in Flink."""
    if isinstance(value, str):
        return value
    bson = _bson()
    if isinstance(value, bson.ObjectId):
        return str(value)
    found = value if isinstance(value, Mapping) else {"_value": value}
    from bson.json_util import RELAXED_JSON_OPTIONS, dumps

    return dumps(found, json_options=RELAXED_JSON_OPTIONS)


def _read_boolean(value: Any) -> bool:
    return _TRUE_TEXTS[value.lower()] if isinstance(value, str) else bool(_number(value))


def _number(value: Any) -> Any:
    return value.to_decimal() if hasattr(value, "to_decimal") else value


def _read_integer(bits: int) -> Convert:
    limit = 1 << (bits - 1)

    def read(value: Any) -> int:
        found = int(_number(value))
        if not -limit <= found < limit:
            raise ValueError(f"{found} has more than {bits} bits")
        return found

    return read


def _read_decimal(value: Any) -> Decimal:
    return Decimal(str(_number(value)))


def _read_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(memoryview(value))


def _read_instant(value: Any) -> Instant:
    if isinstance(value, datetime.datetime):
        return datetime_to_instant(value)
    if isinstance(value, int):
        return Instant(value // 1000, value % 1000 * 1_000_000)
    return Instant(value.time, 0)  # BSON's Timestamp


def _list_reader(data_type: t.ArrayType) -> Convert:
    read = reader(data_type.element_type)
    return lambda value: [read(part) for part in value]


def _map_reader(data_type: t.MapType) -> Convert:
    read = reader(data_type.value_type)
    return lambda value: {key: read(part) for key, part in value.items()}


def _row_reader(data_type: t.RowType) -> Convert:
    readers = [(name, reader(part)) for name, part in zip(data_type.names, data_type.types, strict=True)]
    names = list(data_type.names)

    def read(value: Any) -> Row:
        row = Row(*[convert(value.get(name)) for name, convert in readers])
        row.set_field_names(names)
        return row

    return read


# ---- writing


def _write_decimal(value: Decimal) -> Any:
    return _bson().Decimal128(value)


def _list_writer(data_type: t.ArrayType) -> Convert | None:
    write = writer(data_type.element_type)
    return lambda value: [write(part) for part in value]


def _map_writer(data_type: t.MapType) -> Convert | None:
    write = writer(data_type.value_type)
    return lambda value: {key: write(part) for key, part in value.items()}


def _row_writer(data_type: t.RowType) -> Convert | None:
    writers = [(name, writer(part)) for name, part in zip(data_type.names, data_type.types, strict=True)]
    return lambda value: {name: write(part) for (name, write), part in zip(writers, value, strict=True)}


_INTEGER: Final = _Kind(lambda _: _read_integer(32), lambda _: None)
_LONG: Final = _Kind(lambda _: _read_integer(64), lambda _: _bson().Int64)
_TEXT: Final = _Kind(lambda _: _read_text, lambda _: None)
_BYTES: Final = _Kind(lambda _: _read_bytes, lambda _: None)
_KINDS: Final[dict[type[t.DataType], _Kind]] = {
    t.CharType: _TEXT,
    t.VarCharType: _TEXT,
    t.BooleanType: _Kind(lambda _: _read_boolean, lambda _: None),
    t.BinaryType: _BYTES,
    t.VarBinaryType: _BYTES,
    t.IntType: _INTEGER,
    t.BigIntType: _LONG,
    t.DoubleType: _Kind(lambda _: lambda value: float(_number(value)), lambda _: None),
    t.DecimalType: _Kind(lambda _: _read_decimal, lambda _: _write_decimal),
    t.LocalZonedTimestampType: _Kind(lambda _: _read_instant, lambda _: instant_to_datetime),
    t.ArrayType: _Kind(_list_reader, _list_writer),
    t.MapType: _Kind(_map_reader, _map_writer),
    t.RowType: _Kind(_row_reader, _row_writer),
}


def check_types(row: t.RowType, table: str) -> None:
    """:raises TableException: a column has a type that BSON has not."""
    for field in row.fields:
        for part in field.data_type.walk():
            late = isinstance(part, t.LocalZonedTimestampType) and part.precision > 3
            keyed = isinstance(part, t.MapType) and not isinstance(part.key_type, t.CharType | t.VarCharType)
            if type(part) not in _KINDS or late or keyed:
                raise TableException(
                    f"The connector 'mongodb' has no BSON type for {part}.",
                    detail=f"column {field.name} of table {table}",
                    hint="there are STRING, BOOLEAN, BYTES, INT, BIGINT, DOUBLE, DECIMAL, TIMESTAMP_LTZ(3), "
                    "ROW, ARRAY and MAP<STRING, ...>",
                )


def reader(data_type: t.DataType) -> Convert:
    """Return the function from a value of BSON to one of a type."""
    read = _KINDS[type(data_type)].read(data_type)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        try:
            return read(value)
        except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
            raise TypeMismatchError(
                f"A value of MongoDB is not {data_type}.",
                detail=f"{value!r:.300} is {type(value).__name__}",
                hint="declare the type that the documents have, or STRING",
            ) from error

    return convert


def writer(data_type: t.DataType) -> Convert:
    """Return the function from a value of a type to one of BSON."""
    write = _KINDS[type(data_type)].write(data_type)
    return (lambda value: value) if write is None else (lambda value: None if value is None else write(value))
