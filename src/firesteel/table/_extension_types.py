"""Types whose values are stored as those of another type or as bytes (Flink: the families EXTENSION and
USER_DEFINED)."""

from __future__ import annotations

import pickle
from typing import Any

from firesteel.sql import types as t
from firesteel.table._data_type import DataType

__all__ = ["BitmapType", "RawType", "UserDefinedType", "VariantType"]


class RawType(DataType):
    """A pickled object."""

    _sql = t.RawType

    def from_sql_type(self, obj: Any) -> Any:
        return None if obj is None else pickle.loads(obj)


class UserDefinedType(DataType):
    """A type of the user's, whose values are stored as those of another type. Not the type of a column:
    PyFlink's planner does not take it either."""

    @classmethod
    def type_name(cls) -> str:
        return cls.__name__.lower()

    @classmethod
    def sql_type(cls) -> DataType:
        """The type that values are stored as."""
        raise NotImplementedError("UDT must implement sql_type().")

    @classmethod
    def module(cls) -> str:
        """The module of the type."""
        raise NotImplementedError("UDT must implement module().")

    def serialize(self, obj: Any) -> Any:
        """A value of ``sql_type`` for a value of this type."""
        raise NotImplementedError("UDT must implement serialize().")

    def deserialize(self, datum: Any) -> Any:
        """The value of a value of ``sql_type``."""
        raise NotImplementedError("UDT must implement deserialize().")

    @property
    def logical(self) -> t.DataType:
        return self.sql_type().logical

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, obj: Any) -> Any:
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: Any) -> Any:
        return None if obj is None else self.deserialize(self.sql_type().from_sql_type(obj))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class VariantType(DataType):
    """Semi-structured data."""

    _sql = t.VariantType


class BitmapType(DataType):
    """A set of 32-bit integers, in Python the bytes of a Roaring bitmap."""

    _sql = t.BitmapType
