"""Data types of table columns (Flink: ``DataTypes``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from firesteel.common._no_effect import tell_no_effect
from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import DecimalTypeInfo, TypeInformation, Types

__all__ = ["DataType", "DataTypes", "RowField", "RowType"]

_LONGEST: Final = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class DataType:
    """A logical type. ``type_info``: how streams name it."""

    name: str
    type_info: TypeInformation
    is_nullable: bool = True

    def not_null(self) -> Self:
        return replace(self, is_nullable=False)

    def nullable(self) -> Self:
        return replace(self, is_nullable=True)

    def bridged_to(self, conversion_cls: str) -> Self:
        """Return the type itself: this has no effect, and a warning says so."""
        tell_no_effect("bridged_to", f"values are Python objects, {conversion_cls} is a class of Java")
        return self

    def __str__(self) -> str:
        return self.name if self.is_nullable else f"{self.name} NOT NULL"


@dataclass(frozen=True, slots=True)
class RowField:
    """A field of a row; made by ``DataTypes.FIELD``."""

    name: str
    data_type: DataType
    description: str | None = None


@dataclass(frozen=True, slots=True)
class RowType(DataType):
    """Named fields in order; made by ``DataTypes.ROW``. Its ``type_info`` is a named row."""

    fields: tuple[RowField, ...] = ()

    def field_names(self) -> list[str]:
        return [field.name for field in self.fields]

    def field_types(self) -> list[DataType]:
        return [field.data_type for field in self.fields]


def _checked(what: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ConfigurationError(f"the {what} of a data type is not from {low} to {high}: {value}")
    return value


class DataTypes:
    """The data types of columns; all may be NULL unless ``nullable`` says otherwise."""

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> DataType:
        return DataType("BOOLEAN", Types.BOOLEAN(), nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> DataType:
        """8 bits."""
        return DataType("TINYINT", Types.BYTE(), nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> DataType:
        """16 bits."""
        return DataType("SMALLINT", Types.SHORT(), nullable)

    @staticmethod
    def INT(nullable: bool = True) -> DataType:
        """32 bits."""
        return DataType("INT", Types.INT(), nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> DataType:
        """64 bits."""
        return DataType("BIGINT", Types.LONG(), nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> DataType:
        """32 bits."""
        return DataType("FLOAT", Types.FLOAT(), nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DataType:
        """64 bits."""
        return DataType("DOUBLE", Types.DOUBLE(), nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DataType:
        """``precision`` digits, ``scale`` of them behind the point; a ``decimal.Decimal`` in Python."""
        _checked("precision", precision, 1, 38)
        _checked("scale", scale, 0, precision)
        return DataType(f"DECIMAL({precision}, {scale})", DecimalTypeInfo(precision, scale), nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> DataType:
        return DataType("STRING", Types.STRING(), nullable)

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> DataType:
        """Text of ``length`` characters."""
        return DataType(f"CHAR({_checked('length', length, 1, _LONGEST)})", Types.STRING(), nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> DataType:
        """Text of up to ``length`` characters."""
        return DataType(f"VARCHAR({_checked('length', length, 1, _LONGEST)})", Types.STRING(), nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> DataType:
        return DataType("BYTES", Types.PRIMITIVE_ARRAY(Types.BYTE()), nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> DataType:
        """``length`` bytes."""
        name = f"BINARY({_checked('length', length, 1, _LONGEST)})"
        return DataType(name, Types.PRIMITIVE_ARRAY(Types.BYTE()), nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> DataType:
        """Up to ``length`` bytes."""
        name = f"VARBINARY({_checked('length', length, 1, _LONGEST)})"
        return DataType(name, Types.PRIMITIVE_ARRAY(Types.BYTE()), nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DataType:
        return DataType("DATE", Types.SQL_DATE(), nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> DataType:
        """A time of day, with ``precision`` digits of a second."""
        return DataType(f"TIME({_checked('precision', precision, 0, 9)})", Types.SQL_TIME(), nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> DataType:
        """A date and a time of day without a zone; a ``datetime`` in Python, so to microseconds."""
        name = f"TIMESTAMP({_checked('precision', precision, 0, 9)})"
        return DataType(name, Types.SQL_TIMESTAMP(), nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> DataType:
        """An instant; an ``Instant`` in Python."""
        name = f"TIMESTAMP_LTZ({_checked('precision', precision, 0, 9)})"
        return DataType(name, Types.INSTANT(), nullable)

    TIMESTAMP_WITH_LOCAL_TIME_ZONE = TIMESTAMP_LTZ

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> DataType:
        """A list in Python."""
        return DataType(f"ARRAY<{element_type}>", Types.OBJECT_ARRAY(element_type.type_info), nullable)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> DataType:
        """A dict in Python."""
        type_info = Types.MAP(key_type.type_info, value_type.type_info)
        return DataType(f"MAP<{key_type}, {value_type}>", type_info, nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """A field of ``ROW``."""
        return RowField(name, data_type, description)

    @staticmethod
    def ROW(row_fields: Sequence[RowField | DataType] = (), nullable: bool = True) -> RowType:
        """Fields in order; those without a name are ``f0``, ``f1`` and so on."""
        fields = tuple(
            field if isinstance(field, RowField) else RowField(f"f{i}", field)
            for i, field in enumerate(row_fields)
        )
        type_info = Types.ROW_NAMED([f.name for f in fields], [f.data_type.type_info for f in fields])
        name = f"ROW<{', '.join(f'`{f.name}` {f.data_type}' for f in fields)}>"
        return RowType(name, type_info, nullable, fields)
