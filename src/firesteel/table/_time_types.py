"""Types of times and of intervals between them."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Any, ClassVar, Final

from firesteel.common.errors import ProgramError
from firesteel.sql import types as t
from firesteel.table._data_type import AtomicType, checked_number

__all__ = [
    "DateType",
    "DayTimeIntervalType",
    "LocalZonedTimestampType",
    "Resolution",
    "TimeType",
    "TimestampType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
]

_MICROS: Final = 1_000_000
_EPOCH: Final = datetime.datetime(1970, 1, 1)


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


def _micros(dt: datetime.datetime) -> int:
    if dt.tzinfo is not None:
        dt = dt.astimezone(datetime.UTC).replace(tzinfo=None)
    return (dt - _EPOCH) // datetime.timedelta(microseconds=1)


class _Timed(AtomicType):
    _sql: ClassVar[type[t.TimeType | t.TimestampType | t.LocalZonedTimestampType]]

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = checked_number("precision", precision, 0, 9)

    @property
    def logical(self) -> t.DataType:
        return self._sql(precision=self.precision, nullable=self._nullable)

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


# ---- intervals


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
        self._resolution = checked_number("resolution", resolution, 1, 3)
        self._precision = checked_number("precision", precision, 1, 4)

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
        self._day_precision = checked_number("precision of days", day_precision, 1, 6)
        self._fractional_precision = checked_number("precision of seconds", fractional_precision, 0, 9)

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
