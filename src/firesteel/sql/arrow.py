"""Which Arrow type a column of each data type has.

Physical form: integers, floats, booleans and decimals are Arrow's own; CHAR and VARCHAR are ``string``,
BINARY and VARBINARY ``binary``; DATE is ``date32``; TIME is ``time32[ms]``; TIMESTAMP(p) is ``timestamp``
in milliseconds for p <= 3, microseconds for p <= 6, else nanoseconds; TIMESTAMP_LTZ(p) the same with the
zone UTC; year-month intervals are ``int32`` months, day-time intervals ``int64`` milliseconds; ARRAY is
``list``, MAP is ``map``, MULTISET is ``map`` to ``int32``, ROW is ``struct``; VARIANT is ``string`` of
canonical JSON; RAW is ``binary`` of a pickle; BITMAP is ``binary`` in Roaring's portable form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from firesteel.common.errors import TypeMismatchError
from firesteel.sql import types as t

__all__ = ["arrow_schema", "arrow_type", "logical_of_arrow"]


def _unit(precision: int) -> str:
    return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


def _struct(row: t.RowType) -> pa.DataType:
    return pa.struct([pa.field(f.name, arrow_type(f.data_type)) for f in row.fields])


_ARROW: Final[dict[type[t.DataType], Callable[[Any], pa.DataType]]] = {
    t.NullType: lambda _: pa.null(),
    t.BooleanType: lambda _: pa.bool_(),
    t.TinyIntType: lambda _: pa.int8(),
    t.SmallIntType: lambda _: pa.int16(),
    t.IntType: lambda _: pa.int32(),
    t.BigIntType: lambda _: pa.int64(),
    t.FloatType: lambda _: pa.float32(),
    t.DoubleType: lambda _: pa.float64(),
    t.DecimalType: lambda d: pa.decimal128(d.precision, d.scale),
    t.CharType: lambda _: pa.string(),
    t.VarCharType: lambda _: pa.string(),
    t.BinaryType: lambda _: pa.binary(),
    t.VarBinaryType: lambda _: pa.binary(),
    t.DateType: lambda _: pa.date32(),
    t.TimeType: lambda _: pa.time32("ms"),
    t.TimestampType: lambda d: pa.timestamp(_unit(d.precision)),
    t.LocalZonedTimestampType: lambda d: pa.timestamp(_unit(d.precision), "UTC"),
    t.YearMonthIntervalType: lambda _: pa.int32(),
    t.DayTimeIntervalType: lambda _: pa.int64(),
    t.ArrayType: lambda d: pa.list_(arrow_type(d.element_type)),
    t.MapType: lambda d: pa.map_(arrow_type(d.key_type), arrow_type(d.value_type)),
    t.MultisetType: lambda d: pa.map_(arrow_type(d.element_type), pa.int32()),
    t.RowType: _struct,
    t.RawType: lambda _: pa.binary(),
    t.VariantType: lambda _: pa.string(),
    t.BitmapType: lambda _: pa.binary(),
    t.SymbolType: lambda _: pa.string(),
}


def arrow_type(data_type: t.DataType) -> pa.DataType:
    """Return the Arrow type of a column of *data_type*."""
    return _ARROW[type(data_type)](data_type)


def arrow_schema(row: t.RowType) -> pa.Schema:
    """Return the Arrow schema of a table whose rows are of type *row*."""
    return pa.schema([pa.field(f.name, arrow_type(f.data_type)) for f in row.fields])


# ---- and back

_LOGICAL: Final[list[tuple[Callable[[Any], bool], Callable[[Any], t.DataType]]]] = [
    (pa.types.is_boolean, lambda _: t.BooleanType()),
    (pa.types.is_int8, lambda _: t.TinyIntType()),
    (pa.types.is_int16, lambda _: t.SmallIntType()),
    (pa.types.is_uint8, lambda _: t.SmallIntType()),
    (pa.types.is_int32, lambda _: t.IntType()),
    (pa.types.is_uint16, lambda _: t.IntType()),
    (pa.types.is_integer, lambda _: t.BigIntType()),
    (pa.types.is_float16, lambda _: t.FloatType()),
    (pa.types.is_float32, lambda _: t.FloatType()),
    (pa.types.is_float64, lambda _: t.DoubleType()),
    (pa.types.is_decimal, lambda x: t.DecimalType(x.precision, x.scale)),
    (lambda x: pa.types.is_string(x) or pa.types.is_large_string(x), lambda _: t.VarCharType()),
    (lambda x: pa.types.is_binary(x) or pa.types.is_large_binary(x), lambda _: t.VarBinaryType()),
    (pa.types.is_date, lambda _: t.DateType()),
    (pa.types.is_time, lambda x: t.TimeType(0 if x.unit == "s" else 3)),
    (pa.types.is_null, lambda _: t.VarCharType()),
    (pa.types.is_dictionary, lambda x: logical_of_arrow(x.value_type)),
]
_DIGITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def logical_of_arrow(arrow: pa.DataType) -> t.DataType:
    """The data type for an Arrow type."""
    if pa.types.is_timestamp(arrow):
        kind = t.TimestampType if arrow.tz is None else t.LocalZonedTimestampType
        return kind(_DIGITS[arrow.unit])
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        return t.ArrayType(logical_of_arrow(arrow.value_type))
    if pa.types.is_map(arrow):
        return t.MapType(logical_of_arrow(arrow.key_type).not_null(), logical_of_arrow(arrow.item_type))
    if pa.types.is_struct(arrow):
        return t.RowType(fields=tuple(t.RowField(f.name, logical_of_arrow(f.type)) for f in arrow))
    for fits, make in _LOGICAL:
        if fits(arrow):
            return make(arrow)
    raise TypeMismatchError(f"There is no data type for the Arrow type {arrow}.")
