"""Data types of tables and types of streams, from one to the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from firesteel.common import typeinfo as ti
from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.sql import types as t
from firesteel.sql.type_infos import type_info_of
from firesteel.table import types as d

__all__ = ["data_type_of", "logical_of", "logical_type", "type_info_of"]


# ---------------------------------------------------------------- of the planner -> of programs

_PLAIN: Final[dict[type[t.DataType], type[d.DataType]]] = {
    t.BooleanType: d.BooleanType,
    t.TinyIntType: d.TinyIntType,
    t.SmallIntType: d.SmallIntType,
    t.IntType: d.IntType,
    t.BigIntType: d.BigIntType,
    t.FloatType: d.FloatType,
    t.DoubleType: d.DoubleType,
    t.DateType: d.DateType,
    t.RawType: d.RawType,
    t.VariantType: d.VariantType,
    t.BitmapType: d.BitmapType,
}
_SIZED: Final[dict[type[t.DataType], Callable[[int, bool], d.DataType]]] = {
    t.CharType: d.CharType,
    t.VarCharType: d.VarCharType,
    t.BinaryType: d.BinaryType,
    t.VarBinaryType: d.VarBinaryType,
}
_TIMED: Final[dict[type[t.DataType], Callable[[int, bool], d.DataType]]] = {
    t.TimeType: d.TimeType,
    t.TimestampType: d.TimestampType,
    t.LocalZonedTimestampType: d.LocalZonedTimestampType,
}


def data_type_of(logical: t.DataType) -> d.DataType:
    """The data type of programs for one of the planner; time attributes are not part of it."""
    kind: Any = type(logical)
    found: Any = logical
    nullable = logical.nullable
    if kind in _PLAIN:
        return _PLAIN[kind](nullable)
    if kind in _SIZED:
        return _SIZED[kind](max(1, found.length), nullable)
    if kind in _TIMED:
        return _TIMED[kind](found.precision, nullable)
    if kind is t.DecimalType:
        return d.DecimalType(found.precision, found.scale, nullable)
    if kind is t.ArrayType:
        return d.ArrayType(data_type_of(found.element_type), nullable)
    if kind is t.MultisetType:
        return d.MultisetType(data_type_of(found.element_type), nullable)
    if kind is t.MapType:
        return d.MapType(data_type_of(found.key_type), data_type_of(found.value_type), nullable)
    if kind is t.RowType:
        fields = [d.RowField(f.name, data_type_of(f.data_type), f.description) for f in found.fields]
        return d.RowType(fields, nullable)
    if kind is t.YearMonthIntervalType:
        resolution = getattr(d.YearMonthIntervalType.YearMonthResolution, found.resolution)
        return d.YearMonthIntervalType(resolution, found.precision, nullable)
    if kind is t.DayTimeIntervalType:
        resolution = d.DayTimeIntervalType.DayTimeResolution[found.resolution]
        return d.DayTimeIntervalType(resolution, found.day_precision, found.fractional_precision, nullable)
    if kind is t.NullType:
        return d.NullType()
    raise ProgramError(f"There is no data type for {logical}.")


# ---------------------------------------------------------------- of streams -> of the planner


def logical_of(type_info: TypeInformation | None) -> t.DataType:
    """The data type for a type of records; RAW for any object."""
    if type_info is None or type_info == Types.PICKLED_BYTE_ARRAY():
        return t.RawType()
    for known, made in _FROM_INFO:
        if type_info == known:
            return made
    if isinstance(type_info, ti.DecimalTypeInfo):
        return t.DecimalType(type_info.precision, type_info.scale)
    if isinstance(type_info, ti.RowTypeInfo):
        names, types_ = type_info.get_field_names(), type_info.get_field_types()
        return t.RowType(
            fields=tuple(t.RowField(n, logical_of(x)) for n, x in zip(names, types_, strict=True))
        )
    if isinstance(type_info, ti.TupleTypeInfo):
        types_ = type_info.get_field_types()
        return t.RowType(fields=tuple(t.RowField(f"f{i}", logical_of(x)) for i, x in enumerate(types_)))
    if isinstance(type_info, ti.MapTypeInfo):
        return t.MapType(logical_of(type_info._key_type_info), logical_of(type_info._value_type_info))
    element = getattr(type_info, "_element_type", None) or getattr(type_info, "elem_type", None)
    if element is not None:
        return t.ArrayType(logical_of(element))
    return t.RawType()


_FROM_INFO: Final[list[tuple[TypeInformation, t.DataType]]] = [
    (Types.BOOLEAN(), t.BooleanType()),
    (Types.BYTE(), t.TinyIntType()),
    (Types.SHORT(), t.SmallIntType()),
    (Types.INT(), t.IntType()),
    (Types.LONG(), t.BigIntType()),
    (Types.FLOAT(), t.FloatType()),
    (Types.DOUBLE(), t.DoubleType()),
    (Types.STRING(), t.VarCharType()),
    (Types.CHAR(), t.CharType(1)),
    (Types.BIG_INT(), t.DecimalType(38, 0)),
    (Types.BIG_DEC(), t.DecimalType(38, 18)),
    (Types.SQL_DATE(), t.DateType()),
    (Types.SQL_TIME(), t.TimeType(0)),
    (Types.SQL_TIMESTAMP(), t.TimestampType(9)),
    (Types.INSTANT(), t.LocalZonedTimestampType(9)),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), t.VarBinaryType()),
]


def logical_type(data_type: Any) -> t.DataType:
    """The planner's type of what a program gives for one: a DataType, a TypeInformation or SQL text."""
    if isinstance(data_type, d.DataType):
        return data_type.logical
    if isinstance(data_type, TypeInformation):
        return logical_of(data_type)
    if isinstance(data_type, t.DataType):
        return data_type
    if isinstance(data_type, str):
        from firesteel.sql.type_text import parse_type

        return parse_type(data_type)
    raise ProgramError(
        "Not a data type.", detail=f"got {data_type!r}", hint="such as DataTypes.INT() or 'INT'"
    )
