"""Data types of table columns (PyFlink: ``pyflink.table.types``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.common.types import Row, RowKind
from firesteel.sql.types import MAX_LENGTH
from firesteel.table._atomic_types import (
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DecimalType,
    DoubleType,
    FloatType,
    FractionalType,
    IntegralType,
    IntType,
    NullType,
    NumericType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from firesteel.table._constructed_types import (
    ArrayType,
    ListViewType,
    MapType,
    MapViewType,
    MultisetType,
    RowField,
    RowType,
)
from firesteel.table._data_type import AtomicType, DataType
from firesteel.table._extension_types import BitmapType, RawType, UserDefinedType, VariantType
from firesteel.table._time_types import (
    DateType,
    DayTimeIntervalType,
    LocalZonedTimestampType,
    Resolution,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
    ZonedTimestampType,
)

__all__ = [
    "ArrayType",
    "AtomicType",
    "BigIntType",
    "BinaryType",
    "BitmapType",
    "BooleanType",
    "CharType",
    "DataType",
    "DataTypes",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "ListViewType",
    "LocalZonedTimestampType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "NullType",
    "NumericType",
    "RawType",
    "Resolution",
    "Row",
    "RowField",
    "RowKind",
    "RowType",
    "SmallIntType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "UserDefinedType",
    "VarBinaryType",
    "VarCharType",
    "VariantType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
]

_UNIT: Final = Resolution.IntervalUnit
_YEARS: Final = YearMonthIntervalType.YearMonthResolution
_DAYS: Final = DayTimeIntervalType.DayTimeResolution


class DataTypes:
    """The data types of columns; all may be NULL unless ``nullable`` says otherwise."""

    @staticmethod
    def NULL() -> NullType:
        return NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> CharType:
        """Text of ``length`` characters."""
        return CharType(length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> VarCharType:
        """Text of up to ``length`` characters."""
        return VarCharType(length, nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> VarCharType:
        return VarCharType(MAX_LENGTH, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> BooleanType:
        return BooleanType(nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> BinaryType:
        """``length`` bytes."""
        return BinaryType(length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> VarBinaryType:
        """Up to ``length`` bytes."""
        return VarBinaryType(length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> VarBinaryType:
        return VarBinaryType(MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DecimalType:
        """``precision`` digits, ``scale`` of them behind the point; a ``decimal.Decimal`` in Python."""
        return DecimalType(precision, scale, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> TinyIntType:
        """8 bits."""
        return TinyIntType(nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> SmallIntType:
        """16 bits."""
        return SmallIntType(nullable)

    @staticmethod
    def INT(nullable: bool = True) -> IntType:
        """32 bits."""
        return IntType(nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> BigIntType:
        """64 bits."""
        return BigIntType(nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> FloatType:
        """32 bits."""
        return FloatType(nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DoubleType:
        """64 bits."""
        return DoubleType(nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DateType:
        return DateType(nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> TimeType:
        """A time of day, with ``precision`` digits of a second."""
        return TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> TimestampType:
        """A date and a time of day without a zone; a ``datetime`` in Python."""
        return TimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """An instant; an ``Instant`` in Python."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> ArrayType:
        """A list in Python."""
        return ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> ListViewType:
        """A list in state, in an accumulator."""
        return ListViewType(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> MapType:
        """A dict in Python."""
        return MapType(key_type, value_type, nullable)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> MapViewType:
        """A map in state, in an accumulator."""
        return MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> MultisetType:
        """Elements with their counts; a dict in Python."""
        return MultisetType(element_type, nullable)

    @staticmethod
    def BITMAP(nullable: bool = True) -> BitmapType:
        """A set of 32-bit integers."""
        return BitmapType(nullable)

    @staticmethod
    def VARIANT(nullable: bool = True) -> VariantType:
        """Semi-structured data."""
        return VariantType(nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """A field of ``ROW``."""
        return RowField(name, data_type, description)

    @staticmethod
    def ROW(row_fields: Sequence[Any] = [], nullable: bool = True) -> RowType:
        """Fields in order; those without a name are ``f0``, ``f1`` and so on."""
        fields = [
            field if isinstance(field, RowField) else RowField(f"f{i}", field)
            for i, field in enumerate(row_fields)
        ]
        return RowType(fields, nullable)

    @staticmethod
    def SECOND(precision: int = 6) -> Resolution:
        return Resolution(_UNIT.SECOND, precision)

    @staticmethod
    def MINUTE() -> Resolution:
        return Resolution(_UNIT.MINUTE)

    @staticmethod
    def HOUR() -> Resolution:
        return Resolution(_UNIT.HOUR)

    @staticmethod
    def DAY(precision: int = 2) -> Resolution:
        return Resolution(_UNIT.DAY, precision)

    @staticmethod
    def MONTH() -> Resolution:
        return Resolution(_UNIT.MONTH)

    @staticmethod
    def YEAR(precision: int = 2) -> Resolution:
        return Resolution(_UNIT.YEAR, precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> DayTimeIntervalType | YearMonthIntervalType:
        """From the greatest unit to the smallest, such as ``INTERVAL(DAY(), SECOND(3))``."""
        upper = upper_resolution.unit.name
        name = upper if lower_resolution is None else f"{upper}_TO_{lower_resolution.unit.name}"
        digits = upper_resolution.precision
        if name in ("YEAR", "MONTH", "YEAR_TO_MONTH"):
            of_years = 2 if digits < 0 or name == "MONTH" else digits
            return YearMonthIntervalType(getattr(_YEARS, name), of_years)
        if name not in _DAYS.__members__:
            raise ProgramError(f"There are no intervals from {upper} to {name.partition('_TO_')[2]}.")
        days = digits if upper == "DAY" and digits >= 0 else 2
        last = upper_resolution if lower_resolution is None else lower_resolution
        seconds = last.precision if last.unit is _UNIT.SECOND and last.precision >= 0 else 6
        return DayTimeIntervalType(_DAYS[name], days, seconds)
