"""Types of single values: numbers, texts, bytes, truth values."""

from __future__ import annotations

from typing import Any, ClassVar

from firesteel.sql import types as t
from firesteel.table._data_type import AtomicType, checked_number

__all__ = [
    "BigIntType",
    "BinaryType",
    "BooleanType",
    "CharType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "NullType",
    "NumericType",
    "SmallIntType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
]


class NullType(AtomicType):
    """The type of None."""

    _sql = t.NullType

    def __init__(self) -> None:
        super().__init__(True)


class NumericType(AtomicType):
    """A number."""


class IntegralType(NumericType):
    """A whole number."""


class FractionalType(NumericType):
    """A number with a fraction."""


class _Sized(AtomicType):
    _sql: ClassVar[type[t.CharType | t.VarCharType | t.BinaryType | t.VarBinaryType]]

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.length = checked_number("length", length, 1, t.MAX_LENGTH)

    @property
    def logical(self) -> t.DataType:
        return self._sql(length=self.length, nullable=self._nullable)

    def _arguments(self) -> tuple[Any, ...]:
        return (self.length,)


class CharType(_Sized):
    """Text of exactly ``length`` characters."""

    _sql = t.CharType


class VarCharType(_Sized):
    """Text of at most ``length`` characters."""

    _sql = t.VarCharType


class BinaryType(_Sized):
    """Exactly ``length`` bytes."""

    _sql = t.BinaryType


class VarBinaryType(_Sized):
    """At most ``length`` bytes."""

    _sql = t.VarBinaryType


class BooleanType(AtomicType):
    """True or false."""

    _sql = t.BooleanType


class TinyIntType(IntegralType):
    """8 bits."""

    _sql = t.TinyIntType


class SmallIntType(IntegralType):
    """16 bits."""

    _sql = t.SmallIntType


class IntType(IntegralType):
    """32 bits."""

    _sql = t.IntType


class BigIntType(IntegralType):
    """64 bits."""

    _sql = t.BigIntType


class FloatType(FractionalType):
    """32 bits."""

    _sql = t.FloatType


class DoubleType(FractionalType):
    """64 bits."""

    _sql = t.DoubleType


class DecimalType(FractionalType):
    """``precision`` digits, ``scale`` of them after the point."""

    _sql = t.DecimalType

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = checked_number("precision", precision, 1, 38)
        self.scale = checked_number("scale", scale, 0, precision)
        self.has_precision_info = True

    @property
    def logical(self) -> t.DataType:
        return t.DecimalType(self.precision, self.scale, nullable=self._nullable)

    def _arguments(self) -> tuple[Any, ...]:
        return self.precision, self.scale
