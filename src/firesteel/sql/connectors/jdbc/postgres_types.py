"""Column types of PostgreSQL as data types (Flink: ``PostgresTypeMapper``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from firesteel.sql import types as t

__all__ = ["data_type_of"]

_NO_MODIFIER: Final = -1
_HEADER: Final = 4  # of the modifier of texts and numbers
_MAX_PRECISION: Final = 38
_SECONDS: Final = 6  # digits of times without a modifier


def _length(modifier: int) -> int:
    return t.MAX_LENGTH if modifier == _NO_MODIFIER else modifier - _HEADER


def _digits(modifier: int) -> int:
    return _SECONDS if modifier == _NO_MODIFIER else modifier


def _numeric(modifier: int) -> t.DataType | None:
    if modifier == _NO_MODIFIER:
        return t.DecimalType(precision=_MAX_PRECISION, scale=18)
    precision, scale = (modifier - _HEADER) >> 16, (modifier - _HEADER) & 0x7FF
    if precision > _MAX_PRECISION or scale > precision:  # which no DECIMAL can be
        return None
    return t.DecimalType(precision=precision, scale=scale)


#: Name in ``pg_type`` -> modifier -> type.
_TYPES: Final[dict[str, Callable[[int], t.DataType | None]]] = {
    "bool": lambda _: t.BooleanType(),
    "bytea": lambda _: t.VarBinaryType(length=t.MAX_LENGTH),
    "int2": lambda _: t.SmallIntType(),
    "int4": lambda _: t.IntType(),
    "int8": lambda _: t.BigIntType(),
    "float4": lambda _: t.FloatType(),
    "float8": lambda _: t.DoubleType(),
    "numeric": _numeric,
    "bpchar": lambda modifier: t.CharType(length=_length(modifier)),
    "varchar": lambda modifier: t.VarCharType(length=_length(modifier)),
    "text": lambda _: t.VarCharType(length=t.MAX_LENGTH),
    "uuid": lambda _: t.VarCharType(length=36),
    "timestamp": lambda modifier: t.TimestampType(precision=_digits(modifier)),
    "timestamptz": lambda modifier: t.LocalZonedTimestampType(precision=_digits(modifier)),
    "time": lambda modifier: t.TimeType(precision=_digits(modifier)),
    "date": lambda _: t.DateType(),
}
_NOT_IN_ARRAYS: Final = ("uuid", "timestamptz")


def data_type_of(name: str, modifier: int) -> t.DataType | None:
    """Return the type of a column, None if there is none for it.

    :param name: in ``pg_type``; that of an array begins with ``_``. :param modifier: ``atttypmod``.
    """
    element = name.removeprefix("_")
    make = _TYPES.get(element)
    found = None if make is None else make(modifier)
    if element == name or found is None:
        return found
    return None if element in _NOT_IN_ARRAYS else t.ArrayType(element_type=found)
