"""Types of records for data types of the planner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from firesteel.common import typeinfo as ti
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.sql import types as t

__all__ = ["type_info_of"]

_INFOS: Final[dict[type[t.DataType], Callable[[Any], TypeInformation]]] = {
    t.BooleanType: lambda _: Types.BOOLEAN(),
    t.TinyIntType: lambda _: Types.BYTE(),
    t.SmallIntType: lambda _: Types.SHORT(),
    t.IntType: lambda _: Types.INT(),
    t.BigIntType: lambda _: Types.LONG(),
    t.FloatType: lambda _: Types.FLOAT(),
    t.DoubleType: lambda _: Types.DOUBLE(),
    t.DecimalType: lambda x: ti.DecimalTypeInfo(x.precision, x.scale),
    t.CharType: lambda _: Types.STRING(),
    t.VarCharType: lambda _: Types.STRING(),
    t.BinaryType: lambda _: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    t.VarBinaryType: lambda _: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    t.DateType: lambda _: Types.SQL_DATE(),
    t.TimeType: lambda _: Types.SQL_TIME(),
    t.TimestampType: lambda _: Types.SQL_TIMESTAMP(),
    t.LocalZonedTimestampType: lambda _: Types.INSTANT(),
    t.YearMonthIntervalType: lambda _: Types.INT(),
    t.DayTimeIntervalType: lambda _: Types.LONG(),
    t.ArrayType: lambda x: Types.OBJECT_ARRAY(type_info_of(x.element_type)),
    t.MapType: lambda x: Types.MAP(type_info_of(x.key_type), type_info_of(x.value_type)),
    t.MultisetType: lambda x: Types.MAP(type_info_of(x.element_type), Types.INT()),
    t.RowType: lambda x: Types.ROW_NAMED(list(x.names), [type_info_of(y) for y in x.types]),
    t.VariantType: lambda _: Types.STRING(),
    t.BitmapType: lambda _: Types.PICKLED_BYTE_ARRAY(),
    t.RawType: lambda _: Types.PICKLED_BYTE_ARRAY(),
    t.NullType: lambda _: Types.PICKLED_BYTE_ARRAY(),
}


def type_info_of(logical: t.DataType) -> TypeInformation:
    """The type that records have for a data type."""
    return _INFOS[type(logical)](logical)
