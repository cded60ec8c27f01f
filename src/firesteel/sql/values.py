"""Columns to Python values and back, in their physical form.

Functions for one value see: int, float, bool, Decimal, str and bytes as themselves; DATE as days, TIME as
milliseconds, timestamps as a count of the column's unit (``unit_of``), intervals as months or milliseconds;
ARRAY as list, ROW as tuple, MAP and MULTISET as list of pairs; VARIANT as its JSON text. Nothing is rounded
on the way, and nothing depends on the range of Python's own dates.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type

__all__ = ["UNITS", "array_of", "constant", "fit_decimal", "physical", "scalar_value", "unit_of", "values_of"]

#: how many of its units a second has
UNITS: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
CONTEXT: Final = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)
_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()


def unit_of(data_type: t.DataType) -> int:
    """How many units of a timestamp column of *data_type* a second has."""
    precision = t.precision_of(data_type)
    return UNITS["ms" if precision <= 3 else "us" if precision <= 6 else "ns"]


# ---- columns to values


def values_of(array: pa.Array, data_type: t.DataType) -> list[Any]:
    """Return the values of a column, null as None."""
    read: Callable[[pa.Array, Any], list[Any]] = _READ.get(type(data_type), _read_any)
    return read(array, data_type)


def _read_any(array: pa.Array, _: t.DataType) -> list[Any]:
    found: list[Any]
    if pa.types.is_integer(array.type) and not array.null_count:
        found = array.to_numpy().tolist()
    else:
        found = array.to_pylist()
    return found


def _as_integers(integer: pa.DataType) -> Callable[[pa.Array, t.DataType], list[Any]]:
    return lambda array, data_type: _read_any(array.view(integer), data_type)


def _read_timestamp(array: pa.Array, data_type: t.DataType) -> list[Any]:
    wanted = arrow_type(data_type)
    return _read_any((array if array.type == wanted else array.cast(wanted)).view(pa.int64()), data_type)


def _read_list(array: pa.Array, data_type: Any) -> list[Any]:
    flat = values_of(array.values, data_type.element_type)
    offsets = array.offsets.to_pylist()
    found = [flat[a:b] for a, b in pairwise(offsets)]
    return found if not array.null_count else _with_nulls(found, array)


def _with_nulls(found: list[Any], array: pa.Array) -> list[Any]:
    valid = array.is_valid().to_pylist()
    return [v if ok else None for v, ok in zip(found, valid, strict=True)]


def _read_pairs(array: pa.Array, key: t.DataType, value: t.DataType) -> list[Any]:
    flat = list(zip(values_of(array.keys, key), values_of(array.items, value), strict=True))
    offsets = array.offsets.to_pylist()
    found = [flat[a:b] for a, b in pairwise(offsets)]
    return found if not array.null_count else _with_nulls(found, array)


def _read_struct(array: pa.Array, data_type: Any) -> list[Any]:
    if not data_type.fields:
        return _with_nulls([()] * len(array), array)
    columns = [values_of(array.field(i), d) for i, d in enumerate(data_type.types)]
    found: list[Any] = list(zip(*columns, strict=True))
    return found if not array.null_count else _with_nulls(found, array)


_READ: Final[dict[type[t.DataType], Callable[[pa.Array, Any], list[Any]]]] = {
    t.DateType: _as_integers(pa.int32()),
    t.TimeType: _as_integers(pa.int32()),
    t.TimestampType: _read_timestamp,
    t.LocalZonedTimestampType: _read_timestamp,
    t.ArrayType: _read_list,
    t.MapType: lambda a, d: _read_pairs(a, d.key_type, d.value_type),
    t.MultisetType: lambda a, d: _read_pairs(a, d.element_type, t.IntType()),
    t.RowType: _read_struct,
}


# ---- values to columns


def array_of(values: Sequence[Any], data_type: t.DataType) -> pa.Array:
    """Return a column of physical values. A DECIMAL that does not fit becomes null."""
    build = _BUILD.get(type(data_type))
    return pa.array(values, arrow_type(data_type)) if build is None else build(values, data_type)


def fit_decimal(value: Any, data_type: t.DecimalType) -> decimal.Decimal | None:
    """Round half up to the scale; None: too many digits."""
    if value is None:
        return None
    if not isinstance(value, decimal.Decimal):
        value = decimal.Decimal(value)
    if not value.is_finite():
        return None
    try:
        rounded = value.quantize(_quantum(data_type.scale), context=CONTEXT)
    except decimal.InvalidOperation:
        return None
    limit = data_type.precision - data_type.scale
    return rounded if rounded.is_zero() or rounded.adjusted() < limit else None


def _quantum(scale: int) -> decimal.Decimal:
    return decimal.Decimal((0, (1,), -scale))


def _build_decimal(values: Sequence[Any], data_type: t.DecimalType) -> pa.Array:
    return pa.array([fit_decimal(v, data_type) for v in values], arrow_type(data_type))


def _build_list(values: Sequence[Any], data_type: Any) -> pa.Array:
    offsets = _offsets(values)
    flat = [x for v in values if v is not None for x in v]
    return pa.ListArray.from_arrays(offsets, array_of(flat, data_type.element_type), arrow_type(data_type))


def _offsets(values: Sequence[Any]) -> pa.Array:
    """Offsets of lists; a null list has a null offset, as ``from_arrays`` reads it."""
    offsets: list[int | None] = []
    position = 0
    for value in values:
        offsets.append(None if value is None else position)
        position += 0 if value is None else len(value)
    offsets.append(position)
    return pa.array(offsets, pa.int32())


def _build_pairs(
    values: Sequence[Any], data_type: t.DataType, key: t.DataType, value: t.DataType
) -> pa.Array:
    flat = [pair for v in values if v is not None for pair in v]
    kind = arrow_type(data_type)
    keys = array_of([k for k, _ in flat], key)
    items = array_of([v for _, v in flat], value)
    entries = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
    return _map_of(_offsets(values), entries, kind)


def _map_of(offsets: pa.Array, entries: pa.StructArray, kind: pa.DataType) -> pa.Array:
    check_keys(entries.field(0))
    as_list = pa.ListArray.from_arrays(
        offsets, entries, pa.list_(pa.field("entries", entries.type, nullable=False))
    )
    buffers = as_list.buffers()[:2]
    return pa.MapArray.from_buffers(kind, len(as_list), buffers, as_list.null_count, children=[entries])


def check_keys(keys: pa.Array) -> None:
    """:raises ValueError: a key of a map is null: Arrow's maps cannot have it."""
    if keys.null_count:
        raise ValueError("A key of a map is NULL; maps have no such keys here.")


def _build_struct(values: Sequence[Any], data_type: t.RowType) -> pa.Array:
    kind = arrow_type(data_type)
    if not data_type.fields:
        return pa.array([None if v is None else {} for v in values], kind)
    width = len(data_type.fields)
    missing = (None,) * width
    columns = zip(*(missing if v is None else v for v in values), strict=True) if values else ((),) * width
    arrays = [array_of(list(c), f.data_type) for c, f in zip(columns, data_type.fields, strict=True)]
    mask = pa.array([v is None for v in values], pa.bool_())
    return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=mask)


_BUILD: Final[dict[type[t.DataType], Callable[[Sequence[Any], Any], pa.Array]]] = {
    t.DecimalType: _build_decimal,
    t.ArrayType: _build_list,
    t.MapType: lambda v, d: _build_pairs(v, d, d.key_type, d.value_type),
    t.MultisetType: lambda v, d: _build_pairs(v, d, d.element_type, t.IntType()),
    t.RowType: _build_struct,
}


# ---- literals


def physical(value: Any, data_type: t.DataType) -> Any:
    """A Python value (``Literal.value``: date, time, datetime, ...) in its physical form."""
    if value is None:
        return None
    convert = _PHYSICAL.get(type(data_type))
    return value if convert is None else convert(value, data_type)


def _physical_date(value: Any, _: t.DataType) -> int:
    return value.toordinal() - _EPOCH if isinstance(value, datetime.date) else int(value)


def _physical_time(value: Any, _: t.DataType) -> int:
    if not isinstance(value, datetime.time):
        return int(value)
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1_000 + value.microsecond // 1_000


def _physical_timestamp(value: Any, data_type: t.DataType) -> int:
    unit = unit_of(data_type)
    if isinstance(value, np.datetime64):
        name = next(n for n, count in UNITS.items() if count == unit)
        return int(value.astype(f"datetime64[{name}]").astype(np.int64))
    if not isinstance(value, datetime.datetime):
        return int(value)
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    seconds = (value.toordinal() - _EPOCH) * 86_400 + (value.hour * 60 + value.minute) * 60 + value.second
    nanos: int = getattr(value, "nanosecond", 0)  # pandas' timestamps have it
    return int(seconds * unit + (value.microsecond * 1_000 + nanos) * unit // 1_000_000_000)


def _physical_list(value: Any, data_type: Any) -> list[Any]:
    return [physical(v, data_type.element_type) for v in value]


def _physical_pairs(value: Any, key: t.DataType, item: t.DataType) -> list[Any]:
    pairs = value.items() if isinstance(value, dict) else value
    return [(physical(k, key), physical(v, item)) for k, v in pairs]


def _physical_row(value: Any, data_type: Any) -> tuple[Any, ...]:
    if isinstance(value, dict):
        value = [value.get(name) for name in data_type.names]
    return tuple(physical(v, d) for v, d in zip(value, data_type.types, strict=True))


_PHYSICAL: Final[dict[type[t.DataType], Callable[[Any, Any], Any]]] = {
    t.DateType: _physical_date,
    t.TimeType: _physical_time,
    t.TimestampType: _physical_timestamp,
    t.LocalZonedTimestampType: _physical_timestamp,
    t.ArrayType: _physical_list,
    t.MapType: lambda v, d: _physical_pairs(v, d.key_type, d.value_type),
    t.MultisetType: lambda v, d: _physical_pairs(v, d.element_type, t.IntType()),
    t.RowType: _physical_row,
}


def constant(value: Any, data_type: t.DataType) -> pa.Array:
    """Return a column of one row with a literal's value."""
    return array_of([physical(value, data_type)], data_type)


def scalar_value(scalar: pa.Scalar, data_type: t.DataType) -> Any:
    """The physical value of an Arrow scalar."""
    if not scalar.is_valid:
        return None
    return values_of(pa.repeat(scalar, 1), data_type)[0] if type(data_type) in _READ else scalar.as_py()


def repeat(value: pa.Array, length: int) -> pa.Array:
    """Return *length* copies of a column of one row."""
    return pc.take(value, pa.array(np.zeros(length, np.int64)))
