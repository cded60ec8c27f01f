"""The data types of SQL (Flink: ``LogicalType``; PyFlink: ``pyflink.table.types``).

A type is plain, immutable data: ``firesteel.table.types`` shows these classes under PyFlink's names, the
binder derives them, ``arrow.py`` says which Arrow type their columns have. ``str`` gives Flink's summary
text, such as ``DECIMAL(10, 2) NOT NULL``; two types are equal when everything about them is, nullability too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

__all__ = [
    "ArrayType",
    "BigIntType",
    "BinaryType",
    "BitmapType",
    "BooleanType",
    "CharType",
    "DataType",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "IntType",
    "LocalZonedTimestampType",
    "MapType",
    "MultisetType",
    "NullType",
    "RawType",
    "RowField",
    "RowType",
    "SmallIntType",
    "SymbolType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
    "VariantType",
    "YearMonthIntervalType",
    "attribute_of",
    "is_proctime",
    "is_rowtime",
    "unique",
]

MAX_LENGTH: Final = 0x7FFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class DataType:
    """What all types have. Instances of its subclasses only."""

    nullable: bool = True

    def with_nullability(self, nullable: bool) -> Self:
        return self if self.nullable is nullable else replace(self, nullable=nullable)

    def not_null(self) -> Self:
        return self.with_nullability(False)

    @property
    def children(self) -> tuple[DataType, ...]:
        return ()

    def text(self) -> str:
        """The type without its nullability, as Flink prints it."""
        raise NotImplementedError

    def __str__(self) -> str:
        if self.nullable:
            return self.text()
        if attribute_of(self) == TimeAttribute.NONE:
            return f"{self.text()} NOT NULL"
        head, mark, attribute = self.text().partition(" *")
        return f"{head} NOT NULL{mark}{attribute}"

    def equals_ignoring_nullability(self, other: DataType) -> bool:
        return self.with_nullability(True) == other.with_nullability(True)

    def walk(self) -> Iterator[DataType]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class NullType(DataType):
    """The type of a bare NULL, before it is cast to what its place needs."""

    def text(self) -> str:
        return "NULL"


@dataclass(frozen=True, slots=True)
class BooleanType(DataType):
    def text(self) -> str:
        return "BOOLEAN"


@dataclass(frozen=True, slots=True)
class TinyIntType(DataType):
    def text(self) -> str:
        return "TINYINT"


@dataclass(frozen=True, slots=True)
class SmallIntType(DataType):
    def text(self) -> str:
        return "SMALLINT"


@dataclass(frozen=True, slots=True)
class IntType(DataType):
    def text(self) -> str:
        return "INT"


@dataclass(frozen=True, slots=True)
class BigIntType(DataType):
    def text(self) -> str:
        return "BIGINT"


@dataclass(frozen=True, slots=True)
class FloatType(DataType):
    def text(self) -> str:
        return "FLOAT"


@dataclass(frozen=True, slots=True)
class DoubleType(DataType):
    def text(self) -> str:
        return "DOUBLE"


@dataclass(frozen=True, slots=True)
class DecimalType(DataType):
    """``precision`` digits (1 to 38), ``scale`` of them after the point."""

    precision: int = 10
    scale: int = 0

    def text(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class CharType(DataType):
    """Text of exactly ``length`` characters. A literal '' has the length 0."""

    length: int = 1

    def text(self) -> str:
        return f"CHAR({self.length})"


@dataclass(frozen=True, slots=True)
class VarCharType(DataType):
    """Text of at most ``length`` characters; STRING is the longest."""

    length: int = MAX_LENGTH

    def text(self) -> str:
        return "STRING" if self.length == MAX_LENGTH else f"VARCHAR({self.length})"


@dataclass(frozen=True, slots=True)
class BinaryType(DataType):
    length: int = 1

    def text(self) -> str:
        return f"BINARY({self.length})"


@dataclass(frozen=True, slots=True)
class VarBinaryType(DataType):
    """At most ``length`` bytes; BYTES is the longest."""

    length: int = MAX_LENGTH

    def text(self) -> str:
        return "BYTES" if self.length == MAX_LENGTH else f"VARBINARY({self.length})"


@dataclass(frozen=True, slots=True)
class DateType(DataType):
    def text(self) -> str:
        return "DATE"


@dataclass(frozen=True, slots=True)
class TimeType(DataType):
    """A time of day. Flink keeps milliseconds whatever ``precision`` says."""

    precision: int = 0

    def text(self) -> str:
        return f"TIME({self.precision})"


class TimeAttribute:
    """What a timestamp column means for the progress of time."""

    NONE: Final = "none"
    ROWTIME: Final = "rowtime"
    PROCTIME: Final = "proctime"


@dataclass(frozen=True, slots=True)
class TimestampType(DataType):
    """A date and a time of day without a zone."""

    precision: int = 6
    attribute: str = TimeAttribute.NONE

    def text(self) -> str:
        suffix = "" if self.attribute == TimeAttribute.NONE else f" *{self.attribute.upper()}*"
        return f"TIMESTAMP({self.precision}){suffix}"


@dataclass(frozen=True, slots=True)
class LocalZonedTimestampType(DataType):
    """An instant, shown in the session's time zone. PROCTIME() is one of precision 3."""

    precision: int = 6
    attribute: str = TimeAttribute.NONE

    def text(self) -> str:
        suffix = "" if self.attribute == TimeAttribute.NONE else f" *{self.attribute.upper()}*"
        return f"TIMESTAMP_LTZ({self.precision}){suffix}"


def is_rowtime(data_type: DataType) -> bool:
    return attribute_of(data_type) == TimeAttribute.ROWTIME


def is_proctime(data_type: DataType) -> bool:
    return attribute_of(data_type) == TimeAttribute.PROCTIME


def attribute_of(data_type: DataType) -> str:
    """A value of ``TimeAttribute``."""
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        return data_type.attribute
    return TimeAttribute.NONE


def precision_of(data_type: DataType) -> int:
    """How many digits of the second a type of times has."""
    assert isinstance(data_type, TimeType | TimestampType | LocalZonedTimestampType), data_type
    return data_type.precision


@dataclass(frozen=True, slots=True)
class YearMonthIntervalType(DataType):
    """Months as an int. ``resolution``: YEAR, MONTH or YEAR_TO_MONTH."""

    resolution: str = "YEAR_TO_MONTH"
    precision: int = 2

    def text(self) -> str:
        match self.resolution:
            case "YEAR":
                return f"INTERVAL YEAR({self.precision})"
            case "MONTH":
                return "INTERVAL MONTH"
            case _:
                return f"INTERVAL YEAR({self.precision}) TO MONTH"


@dataclass(frozen=True, slots=True)
class DayTimeIntervalType(DataType):
    """Milliseconds as an int. ``resolution``: DAY, DAY_TO_SECOND, HOUR, ... as in Flink's
    ``DayTimeResolution``."""

    resolution: str = "DAY_TO_SECOND"
    day_precision: int = 2
    fractional_precision: int = 6

    def text(self) -> str:
        parts = self.resolution.split("_TO_")
        shown = [
            f"DAY({self.day_precision})"
            if part == "DAY"
            else f"SECOND({self.fractional_precision})"
            if part == "SECOND"
            else part
            for part in parts
        ]
        return f"INTERVAL {' TO '.join(shown)}"


@dataclass(frozen=True, slots=True)
class ArrayType(DataType):
    element_type: DataType = field(default_factory=NullType)

    @property
    def children(self) -> tuple[DataType, ...]:
        return (self.element_type,)

    def text(self) -> str:
        return f"ARRAY<{self.element_type}>"


@dataclass(frozen=True, slots=True)
class MapType(DataType):
    key_type: DataType = field(default_factory=NullType)
    value_type: DataType = field(default_factory=NullType)

    @property
    def children(self) -> tuple[DataType, ...]:
        return (self.key_type, self.value_type)

    def text(self) -> str:
        return f"MAP<{self.key_type}, {self.value_type}>"


@dataclass(frozen=True, slots=True)
class MultisetType(DataType):
    """Elements with their counts; in Python a dict element -> count."""

    element_type: DataType = field(default_factory=NullType)

    @property
    def children(self) -> tuple[DataType, ...]:
        return (self.element_type,)

    def text(self) -> str:
        return f"MULTISET<{self.element_type}>"


@dataclass(frozen=True, slots=True)
class RowField:
    """A field of a row type."""

    name: str
    data_type: DataType
    description: str | None = None


@dataclass(frozen=True, slots=True)
class RowType(DataType):
    fields: tuple[RowField, ...] = ()

    @property
    def children(self) -> tuple[DataType, ...]:
        return tuple(f.data_type for f in self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @property
    def types(self) -> tuple[DataType, ...]:
        return self.children

    def text(self) -> str:
        shown = (
            f"`{f.name}` {f.data_type}" + (f" '{f.description}'" if f.description else "")
            for f in self.fields
        )
        return f"ROW<{', '.join(shown)}>"

    @classmethod
    def of(cls, names: tuple[str, ...] | list[str], types: tuple[DataType, ...] | list[DataType]) -> RowType:
        """A NOT NULL row of columns."""
        fields = tuple(RowField(n, t) for n, t in zip(names, types, strict=True))
        return cls(nullable=False, fields=fields)


@dataclass(frozen=True, slots=True)
class RawType(DataType):
    """A pickled Python object (PyFlink: ``DataTypes.RAW``)."""

    def text(self) -> str:
        return "RAW('java.lang.Object', '...')"


@dataclass(frozen=True, slots=True)
class VariantType(DataType):
    """Semi-structured data, as PARSE_JSON makes it."""

    def text(self) -> str:
        return "VARIANT"


@dataclass(frozen=True, slots=True)
class BitmapType(DataType):
    """A set of 32-bit integers: a Roaring bitmap."""

    def text(self) -> str:
        return "BITMAP"


@dataclass(frozen=True, slots=True)
class SymbolType(DataType):
    """The type of a keyword argument, such as the unit of TIMESTAMPDIFF; never of a column."""

    def text(self) -> str:
        return "SYMBOL"


def unique(names: Sequence[str]) -> list[str]:
    """The same names, those that come again with a number: ``a``, ``a0``, ``a1``."""
    used: set[str] = set()
    result = []
    for name in names:
        attempt = 0
        made = name
        while made in used:
            made = f"{name}{attempt}"
            attempt += 1
        used.add(made)
        result.append(made)
    return result
