"""Columns as the objects that DataStream programs have for them: dates, datetimes, Row, dict, list.

``sql.values`` has the physical form, which is plain; here it is what PyFlink gives: DATE a date, TIME a time,
TIMESTAMP a datetime, TIMESTAMP_LTZ an Instant, intervals of days and seconds a timedelta, ROW a Row, MAP and
MULTISET a dict, RAW the object itself.
"""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Final

import pyarrow as pa

from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.sql import types as t
from firesteel.sql.values import array_of, physical, unit_of, values_of

__all__ = ["column_of_objects", "column_of_results", "objects_of"]

_EPOCH_DAY: Final = dt.date(1970, 1, 1).toordinal()
_EPOCH: Final = dt.datetime(1970, 1, 1)


def objects_of(array: pa.Array, data_type: t.DataType) -> list[Any]:
    """The objects of a column."""
    values = values_of(array, data_type)
    convert = _converter(data_type)
    return values if convert is None else [None if v is None else convert(v) for v in values]


Converter = Callable[[Any], Any]


def _converter(data_type: t.DataType) -> Converter | None:
    make = _CONVERTERS.get(type(data_type))
    return None if make is None else make(data_type)


def _nullable(convert: Converter | None) -> Converter:
    return (lambda v: v) if convert is None else (lambda v: None if v is None else convert(v))


def _of_date(_: t.DataType) -> Converter:
    return lambda days: dt.date.fromordinal(days + _EPOCH_DAY)


def _of_time(_: t.DataType) -> Converter:
    return lambda ms: (_EPOCH + dt.timedelta(milliseconds=ms)).time()


def _of_timestamp(data_type: t.DataType) -> Converter:
    unit = unit_of(data_type)
    return lambda n: _EPOCH + dt.timedelta(microseconds=n * 1_000_000 // unit)


def _of_instant(data_type: t.DataType) -> Converter:
    unit = unit_of(data_type)
    return lambda n: Instant(n // unit, n % unit * (1_000_000_000 // unit))


def _of_each(element: Converter | None) -> Converter | None:
    """What converts each element of a list; None: they are right as they are."""
    if element is None:
        return None
    convert = _nullable(element)
    return lambda values: [convert(v) for v in values]


def _of_array(data_type: Any) -> Converter | None:
    return _of_each(_converter(data_type.element_type))


def _of_pairs(key: t.DataType, value: t.DataType) -> Converter:
    keys, values = _nullable(_converter(key)), _nullable(_converter(value))
    return lambda pairs: {keys(k): values(v) for k, v in pairs}


def _of_row(data_type: Any) -> Converter:
    names = list(data_type.names)
    converters = [_nullable(_converter(d)) for d in data_type.types]

    def convert(values: Sequence[Any]) -> Row:
        row = Row(*(c(v) for c, v in zip(converters, values, strict=True)))
        row.set_field_names(names)
        return row

    return convert


_CONVERTERS: Final[dict[type[t.DataType], Callable[[Any], Converter | None]]] = {
    t.DateType: _of_date,
    t.TimeType: _of_time,
    t.TimestampType: _of_timestamp,
    t.LocalZonedTimestampType: _of_instant,
    t.DayTimeIntervalType: lambda _: lambda ms: dt.timedelta(milliseconds=ms),
    t.ArrayType: _of_array,
    t.MapType: lambda d: _of_pairs(d.key_type, d.value_type),
    t.MultisetType: lambda d: _of_pairs(d.element_type, t.IntType()),
    t.RowType: _of_row,
    t.RawType: lambda _: pickle.loads,
}


# ---- objects to columns


def column_of_objects(values: Sequence[Any], data_type: t.DataType) -> pa.Array:
    """The column of objects, or of what stands for them: numbers of epochs, tuples and dicts for rows."""
    plain = _PLAIN.get(type(data_type))
    if plain is not None and plain.issuperset(map(type, values)):
        return array_of(values, data_type)
    prepare = _preparation(data_type)
    return array_of([None if v is None else prepare(v) for v in values], data_type)


_NONE: Final = type(None)
_PLAIN: Final[dict[type[t.DataType], frozenset[type]]] = {
    t.BooleanType: frozenset((bool, _NONE)),
    t.TinyIntType: frozenset((int, _NONE)),
    t.SmallIntType: frozenset((int, _NONE)),
    t.IntType: frozenset((int, _NONE)),
    t.BigIntType: frozenset((int, _NONE)),
    t.FloatType: frozenset((int, float, _NONE)),
    t.DoubleType: frozenset((int, float, _NONE)),
    t.CharType: frozenset((str, _NONE)),
    t.VarCharType: frozenset((str, _NONE)),
    t.BinaryType: frozenset((bytes, _NONE)),
    t.VarBinaryType: frozenset((bytes, _NONE)),
}


def _preparation(data_type: t.DataType) -> Converter:
    """A function from an object that is not None to its physical form."""
    make = _PREPARATIONS.get(type(data_type))
    return (lambda v: physical(v, data_type)) if make is None else make(data_type)


def _prepare_instant(data_type: t.DataType) -> Converter:
    unit = unit_of(data_type)

    def prepare(value: Any) -> Any:
        if isinstance(value, Instant):
            return value.seconds * unit + value.nanos * unit // 1_000_000_000
        return physical(value, data_type)

    return prepare


def _prepare_array(data_type: Any) -> Converter:
    inner = _nullable(_preparation(data_type.element_type))
    return lambda values: [inner(v) for v in values]


def _prepare_pairs(key: t.DataType, value: t.DataType) -> Converter:
    keys, values = _nullable(_preparation(key)), _nullable(_preparation(value))

    def prepare(pairs: Any) -> list[Any]:
        return [(keys(k), values(v)) for k, v in (pairs.items() if isinstance(pairs, dict) else pairs)]

    return prepare


def _prepare_row(data_type: Any) -> Converter:
    fields = [_nullable(_preparation(d)) for d in data_type.types]
    names = data_type.names

    def prepare(value: Any) -> tuple[Any, ...]:
        return tuple(f(v) for f, v in zip(fields, row_fields(value, names), strict=True))

    return prepare


def _prepare_interval(_: t.DataType) -> Converter:
    def prepare(value: Any) -> Any:
        return value // dt.timedelta(milliseconds=1) if isinstance(value, dt.timedelta) else value

    return prepare


_PREPARATIONS: Final[dict[type[t.DataType], Callable[[Any], Converter]]] = {
    t.BooleanType: lambda _: bool,
    t.TinyIntType: lambda _: int,
    t.SmallIntType: lambda _: int,
    t.IntType: lambda _: int,
    t.BigIntType: lambda _: int,
    t.FloatType: lambda _: float,
    t.DoubleType: lambda _: float,
    t.LocalZonedTimestampType: _prepare_instant,
    t.DayTimeIntervalType: _prepare_interval,
    t.ArrayType: _prepare_array,
    t.MapType: lambda d: _prepare_pairs(d.key_type, d.value_type),
    t.MultisetType: lambda d: _prepare_pairs(d.element_type, t.IntType()),
    t.RowType: _prepare_row,
    t.RawType: lambda _: lambda v: pickle.dumps(v, 5),
}


def row_fields(value: Any, names: Sequence[str]) -> Sequence[Any]:
    """The fields of what stands for a row, in the order of *names*: of an object its attributes. What a dict
    or an object does not have is NULL; what a named Row has beside *names* is left out."""
    if isinstance(value, Row):
        fields = value._fields
        if fields and list(fields) != list(names) and set(fields) >= set(names):
            return [value[name] for name in names]
        return value._values
    if isinstance(value, (tuple, list)):
        return value
    if isinstance(value, dict):
        return [value.get(name) for name in names]
    if hasattr(value, "__dict__"):
        return [vars(value).get(name) for name in names]
    return [getattr(value, name) for name in names]


# ---- what functions of the user give


def column_of_results(values: Sequence[Any], data_type: t.DataType) -> pa.Array:
    """The column of what a function has given. Decimals, also in other values, get the digits of their type
    rounded to even, as PyFlink rounds what a function returns; elsewhere they are rounded half up."""
    rounded = _rounding(data_type)
    if rounded is not None:
        values = [None if v is None else rounded(v) for v in values]
    return column_of_objects(values, data_type)


_WIDE: Final = Context(prec=76)


def _rounding(data_type: t.DataType) -> Converter | None:
    """None: there are no decimals in values of the type."""
    make = _ROUNDINGS.get(type(data_type))
    return None if make is None else make(data_type)


def _round_decimal(data_type: Any) -> Converter:
    quantum = Decimal(1).scaleb(-data_type.scale)
    return lambda v: v.quantize(quantum, ROUND_HALF_EVEN, _WIDE) if isinstance(v, Decimal) else v


def _round_array(data_type: Any) -> Converter | None:
    return _of_each(_rounding(data_type.element_type))


def _round_pairs(key: t.DataType, value: t.DataType) -> Converter | None:
    of_keys, of_values = _rounding(key), _rounding(value)
    if of_keys is None and of_values is None:
        return None
    keys, values = _nullable(of_keys), _nullable(of_values)
    return lambda pairs: [
        (keys(k), values(v)) for k, v in (pairs.items() if isinstance(pairs, dict) else pairs)
    ]


def _round_row(data_type: Any) -> Converter | None:
    inner = [_rounding(d) for d in data_type.types]
    if not any(inner):
        return None
    fields = [_nullable(f) for f in inner]
    names = data_type.names
    return lambda value: tuple(f(v) for f, v in zip(fields, row_fields(value, names), strict=True))


_ROUNDINGS: Final[dict[type[t.DataType], Callable[[Any], Converter | None]]] = {
    t.DecimalType: _round_decimal,
    t.ArrayType: _round_array,
    t.MapType: lambda d: _round_pairs(d.key_type, d.value_type),
    t.MultisetType: lambda d: _round_pairs(d.element_type, t.IntType()),
    t.RowType: _round_row,
}
