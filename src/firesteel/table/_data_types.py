"""Data types under PyFlink's names (``pyflink.table.types``).

They describe columns in programs; what the planner works with is ``firesteel.sql.types``, and ``logical``
gives that. The methods ``to_sql_type`` and ``from_sql_type`` are PyFlink's conversions of single values.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from copy import copy
from enum import Enum
from typing import Any, ClassVar, Self

from firesteel.common._no_effect import tell_no_effect
from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation
from firesteel.sql import types as t

_MICROS = 1_000_000


def _checked(what: str, value: Any, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ProgramError(f"the {what} of a data type is not from {low} to {high}: {value}")
    return value


class DataType:
    """A type of columns. May hold NULL unless ``not_null()`` says otherwise."""

    _sql: ClassVar[type[t.DataType]]

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable

    @property
    def logical(self) -> t.DataType:
        """The type as the planner has it."""
        return self._sql(nullable=self._nullable)

    @property
    def type_info(self) -> TypeInformation:
        """The type that records of streams have for it."""
        from firesteel.table._conversions import type_info_of

        return type_info_of(self.logical)

    @property
    def is_nullable(self) -> bool:
        return self._nullable

    @classmethod
    def type_name(cls) -> str:
        """As in ``str()``: the name of the class in capitals, without ``Type``."""
        return cls.__name__.removesuffix("Type").upper()

    def not_null(self) -> Self:
        found = copy(self)
        found._nullable = False
        return found

    def nullable(self) -> Self:
        found = copy(self)
        found._nullable = True
        return found

    def bridged_to(self, conversion_cls: str) -> Self:
        """Return the type itself: this has no effect, and a warning says so."""
        tell_no_effect("bridged_to", f"values are Python objects, {conversion_cls} is a class of Java")
        return self

    def need_conversion(self) -> bool:
        """Whether ``to_sql_type`` changes values."""
        return False

    def to_sql_type(self, obj: Any) -> Any:
        """The internal form of a value."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """The value of an internal form."""
        return obj

    def _arguments(self) -> tuple[Any, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __ne__(self, other: object) -> bool:  # PyFlink's class has it
        return not self == other

    def __hash__(self) -> int:
        return hash(repr(self))

    def __str__(self) -> str:
        return self.type_name()

    def __repr__(self) -> str:
        shown = [repr(a) if isinstance(a, DataType) else str(a) for a in self._arguments()]
        return f"{type(self).__name__}({', '.join([*shown, str(self._nullable).lower()])})"


class AtomicType(DataType):
    """A type without parts."""


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
    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.length = _checked("length", length, 1, t.MAX_LENGTH)

    @property
    def logical(self) -> t.DataType:
        return self._sql(length=self.length, nullable=self._nullable)  # type: ignore[call-arg]

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
        self.precision = _checked("precision", precision, 1, 38)
        self.scale = _checked("scale", scale, 0, precision)
        self.has_precision_info = True

    @property
    def logical(self) -> t.DataType:
        return t.DecimalType(self.precision, self.scale, nullable=self._nullable)

    def _arguments(self) -> tuple[Any, ...]:
        return self.precision, self.scale


class DateType(AtomicType):
    """A day."""

    _sql = t.DateType
    EPOCH_ORDINAL = datetime.datetime(1970, 1, 1).toordinal()

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, d: Any) -> Any:
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_sql_type(self, v: Any) -> Any:
        return None if v is None else datetime.date.fromordinal(v + self.EPOCH_ORDINAL)


_EPOCH = datetime.datetime(1970, 1, 1)


def _micros(dt: datetime.datetime) -> int:
    if dt.tzinfo is not None:
        dt = dt.astimezone(datetime.UTC).replace(tzinfo=None)
    return (dt - _EPOCH) // datetime.timedelta(microseconds=1)


class _Timed(AtomicType):
    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = _checked("precision", precision, 0, 9)

    @property
    def logical(self) -> t.DataType:
        return self._sql(precision=self.precision, nullable=self._nullable)  # type: ignore[call-arg]

    def need_conversion(self) -> bool:
        return True

    def _arguments(self) -> tuple[Any, ...]:
        return (self.precision,)

    def to_sql_type(self, dt: Any) -> Any:
        return None if dt is None else _micros(dt)

    def from_sql_type(self, ts: Any) -> Any:
        return None if ts is None else _EPOCH + datetime.timedelta(microseconds=ts)


class TimeType(_Timed):
    """A time of day."""

    _sql = t.TimeType
    EPOCH_ORDINAL = 0

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def to_sql_type(self, t: Any) -> Any:
        if t is None:
            return None
        offset = (t.utcoffset() or datetime.timedelta()) // datetime.timedelta(microseconds=1)
        return ((t.hour * 60 + t.minute) * 60 + t.second) * _MICROS + t.microsecond - offset

    def from_sql_type(self, t: Any) -> Any:
        if t is None:
            return None
        return (datetime.datetime.min + datetime.timedelta(microseconds=t)).time()


class TimestampType(_Timed):
    """A date and a time of day without a zone."""

    _sql = t.TimestampType


class LocalZonedTimestampType(_Timed):
    """An instant."""

    _sql = t.LocalZonedTimestampType
    EPOCH_ORDINAL = 0


class ZonedTimestampType(_Timed):
    """A date and a time of day with a zone. No column of a table can have it, as in Flink."""

    @property
    def logical(self) -> t.DataType:
        raise ProgramError(
            "TIMESTAMP WITH TIME ZONE is not the type of a column.", hint="use TIMESTAMP_LTZ or TIMESTAMP"
        )

    def to_sql_type(self, dt: Any) -> Any:
        if dt is None:
            return None
        offset = int((dt.utcoffset() or datetime.timedelta()).total_seconds())
        return _micros(dt) + offset * _MICROS, offset

    def from_sql_type(self, zoned_ts: Any) -> Any:
        if zoned_ts is None:
            return None
        micros, offset = zoned_ts
        zone = datetime.timezone(datetime.timedelta(seconds=offset))
        return (_EPOCH + datetime.timedelta(microseconds=micros)).replace(tzinfo=zone)


# ---------------------------------------------------------------- intervals


class Resolution:
    """A unit of an interval, with the number of its digits."""

    class IntervalUnit(Enum):
        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: Any, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> Any:
        return self._unit

    @property
    def precision(self) -> int:
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


class YearMonthIntervalType(AtomicType):
    """Months."""

    _sql = t.YearMonthIntervalType

    class YearMonthResolution:
        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

    DEFAULT_PRECISION = 2

    def __init__(self, resolution: int, precision: int = DEFAULT_PRECISION, nullable: bool = True) -> None:
        super().__init__(nullable)
        self._resolution = _checked("resolution", resolution, 1, 3)
        self._precision = _checked("precision", precision, 1, 4)

    @property
    def resolution(self) -> int:
        return self._resolution

    @property
    def precision(self) -> int:
        return self._precision

    @property
    def logical(self) -> t.DataType:
        name = ("YEAR", "MONTH", "YEAR_TO_MONTH")[self._resolution - 1]
        return t.YearMonthIntervalType(name, self._precision, nullable=self._nullable)


class DayTimeIntervalType(AtomicType):
    """Milliseconds."""

    _sql = t.DayTimeIntervalType

    class DayTimeResolution(Enum):
        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6

    def __init__(
        self,
        resolution: Any,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        self._resolution = resolution
        self._day_precision = _checked("precision of days", day_precision, 1, 6)
        self._fractional_precision = _checked("precision of seconds", fractional_precision, 0, 9)

    @property
    def resolution(self) -> Any:
        return self._resolution

    @property
    def day_precision(self) -> int:
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        return self._fractional_precision

    @property
    def logical(self) -> t.DataType:
        return t.DayTimeIntervalType(
            self._resolution.name, self._day_precision, self._fractional_precision, nullable=self._nullable
        )

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, timedelta: Any) -> Any:
        return None if timedelta is None else timedelta // datetime.timedelta(microseconds=1)

    def from_sql_type(self, ts: Any) -> Any:
        return None if ts is None else datetime.timedelta(microseconds=ts)


# ---------------------------------------------------------------- types of parts


def _require(value: Any, what: str) -> DataType:
    if not isinstance(value, DataType):
        raise ProgramError(f"The {what} of a data type is a data type.", detail=f"got {value!r}")
    return value


class _OfElements(DataType):
    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = _require(element_type, "element type")

    @property
    def logical(self) -> t.DataType:
        return self._sql(self.element_type.logical, nullable=self._nullable)  # type: ignore[arg-type,misc]

    def need_conversion(self) -> bool:
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        return obj and [self.element_type.to_sql_type(v) for v in obj]

    def from_sql_type(self, obj: Any) -> Any:
        return obj and [self.element_type.from_sql_type(v) for v in obj]

    def _arguments(self) -> tuple[Any, ...]:
        return (self.element_type,)


class ArrayType(_OfElements):
    """A list."""

    _sql = t.ArrayType


class _View(DataType):
    """The type of a view of state, in accumulators alone."""

    @property
    def logical(self) -> t.DataType:
        raise ProgramError(f"{type(self).__name__} is a type of accumulators, not of columns.")

    def to_sql_type(self, obj: Any) -> Any:
        raise ProgramError(f"{type(self).__name__} is a type of accumulators: its values are not converted.")

    def from_sql_type(self, obj: Any) -> Any:
        return self.to_sql_type(obj)


class ListViewType(_View):
    """A ``ListView`` in an accumulator."""

    def __init__(self, element_type: DataType) -> None:
        super().__init__(False)
        self._element_type = _require(element_type, "element type")


class MapViewType(_View):
    """A ``MapView`` in an accumulator."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(False)
        self._key_type = _require(key_type, "key type")
        self._value_type = _require(value_type, "value type")


class MapType(DataType):
    """A dict."""

    _sql = t.MapType

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = _require(key_type, "key type")
        self.value_type = _require(value_type, "value type")

    @property
    def logical(self) -> t.DataType:
        return t.MapType(self.key_type.logical, self.value_type.logical, nullable=self._nullable)

    def need_conversion(self) -> bool:
        return self.key_type.need_conversion() or self.value_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        return obj and {self.key_type.to_sql_type(k): self.value_type.to_sql_type(v) for k, v in obj.items()}

    def from_sql_type(self, obj: Any) -> Any:
        return obj and {
            self.key_type.from_sql_type(k): self.value_type.from_sql_type(v) for k, v in obj.items()
        }

    def _arguments(self) -> tuple[Any, ...]:
        return self.key_type, self.value_type


class MultisetType(_OfElements):
    """Elements with their counts."""

    _sql = t.MultisetType


class RowField:
    """A field of a row; made by ``DataTypes.FIELD``."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        if not isinstance(name, str):
            raise ProgramError("The name of a field is text.", detail=f"got {name!r}")
        self.name = name
        self.data_type = _require(data_type, "type of a field")
        self.description = description

    def need_conversion(self) -> bool:
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Any) -> Any:
        return self.data_type.from_sql_type(obj)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))

    def __repr__(self) -> str:
        return (
            f"RowField({self.name}, {self.data_type!r}{f', {self.description}' if self.description else ''})"
        )


class RowType(DataType):
    """Named fields in order; made by ``DataTypes.ROW``."""

    _sql = t.RowType

    def __init__(self, fields: list[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = list(fields or ())

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Add a field at the end, and return the row type itself."""
        if not isinstance(field, RowField):
            field = RowField(field, _require(data_type, "type of a field"))
        self.fields.append(field)
        return self

    def field_names(self) -> list[str]:
        return self.names

    def field_types(self) -> list[DataType]:
        return [field.data_type for field in self.fields]

    @property
    def logical(self) -> t.DataType:
        fields = tuple(t.RowField(f.name, f.data_type.logical, f.description) for f in self.fields)
        return t.RowType(fields=fields, nullable=self._nullable)

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """A tuple of the fields' internal forms."""
        if obj is None:
            return None
        if isinstance(obj, dict):
            values = [obj.get(name) for name in self.names]
        elif isinstance(obj, list | tuple) or hasattr(obj, "__iter__"):
            values = list(obj)
        else:
            values = [getattr(obj, name) for name in self.names]
        return tuple(f.to_sql_type(v) for f, v in zip(self.fields, values, strict=True))

    def from_sql_type(self, obj: Any) -> Any:
        """A Row with the names of the fields."""
        if obj is None:
            return None
        from firesteel.common.types import Row

        row = Row(*(f.from_sql_type(v) for f, v in zip(self.fields, obj, strict=True)))
        row.set_field_names(self.names)
        return row

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            for field in self.fields:
                if field.name == key:
                    return field
            raise KeyError(f"No RowField named {key}")
        if isinstance(key, int):
            return self.fields[key]
        if isinstance(key, slice):
            return RowType(self.fields[key])
        raise ValueError("RowType keys should be strings, integers or slices")

    def __repr__(self) -> str:
        return f"RowType({','.join(map(str, map(repr, self.fields)))})"


class RawType(DataType):
    """A pickled object."""

    _sql = t.RawType

    def from_sql_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        import pickle

        return pickle.loads(obj)


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
