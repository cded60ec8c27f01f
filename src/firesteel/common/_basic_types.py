"""Types of single values: numbers, text, dates and times, and pickled objects."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Any

from firesteel.common.time import Instant

_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


class TypeInformation:
    """Base of all declared types.

    Types are values: equal when they declare the same thing. ``to_internal_type`` and ``from_internal_type``
    turn a Python value into the plain form that Flink's source of a collection uses, and back; types
    that have no such form return what they were given.
    """

    def __init__(self) -> None:
        pass

    def need_conversion(self) -> bool:
        """Whether ``to_internal_type`` does anything."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        return obj

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return type(self).__name__


class BasicType(Enum):
    """The kinds of ``BasicTypeInfo``; the values are the names that plans and errors show."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(TypeInformation):
    """A number, a boolean, text or an instant."""

    def __init__(self, basic_type: BasicType) -> None:
        super().__init__()
        self._basic_type = basic_type

    def __eq__(self, o: object) -> bool:
        return isinstance(o, BasicTypeInfo) and self._basic_type is o._basic_type

    def __hash__(self) -> int:
        return hash(self._basic_type)

    def __repr__(self) -> str:
        return self._basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """An ``Instant``; its internal form is epoch microseconds."""

    def __init__(self, basic_type: BasicType) -> None:
        super().__init__(basic_type)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        return None if obj is None else obj.to_epoch_milli() * 1000

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else Instant.of_epoch_milli(obj // 1000)


class DecimalTypeInfo(BasicTypeInfo):
    """A BIG_DEC of ``precision`` digits, ``scale`` of them behind the point: what a column of a table or file
    has. In a stream it is a BIG_DEC."""

    def __init__(self, precision: int, scale: int) -> None:
        super().__init__(BasicType.BIG_DEC)
        self.precision = precision
        self.scale = scale


class SqlTimeTypeInfo(TypeInformation):
    """Dates and times as ``java.sql`` has them."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        return TimestampTypeInfo()


class DateTypeInfo(TypeInformation):
    """A ``datetime.date``; its internal form is days since the epoch."""

    EPOCH_ORDINAL = _EPOCH.toordinal()

    def __init__(self) -> None:
        super().__init__()

    def __eq__(self, o: object) -> bool:
        return isinstance(o, DateTypeInfo)

    def __hash__(self) -> int:
        return hash(DateTypeInfo)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, d: datetime.date | None) -> int | None:
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_internal_type(self, v: int | None) -> datetime.date | None:
        return None if v is None else datetime.date.fromordinal(v + self.EPOCH_ORDINAL)


class TimeTypeInfo(TypeInformation):
    """A ``datetime.time``; its internal form is microseconds since midnight (UTC if it has a zone)."""

    EPOCH_ORDINAL = 0

    def __eq__(self, o: object) -> bool:
        return isinstance(o, TimeTypeInfo)

    def __hash__(self) -> int:
        return hash(TimeTypeInfo)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, t: datetime.time | None) -> int | None:
        if t is None:
            return None
        micros = ((t.hour * 60 + t.minute) * 60 + t.second) * 1_000_000 + t.microsecond
        offset = t.utcoffset()
        return micros if offset is None else micros - offset // _MICROSECOND

    def from_internal_type(self, t: int | None) -> datetime.time | None:
        if t is None:
            return None
        seconds, micros = divmod(t, 1_000_000)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return datetime.time(hours, minutes, seconds, micros)


class TimestampTypeInfo(TypeInformation):
    """A ``datetime.datetime``; its internal form is epoch microseconds; without a zone it is local time."""

    def __eq__(self, o: object) -> bool:
        return isinstance(o, TimestampTypeInfo)

    def __hash__(self) -> int:
        return hash(TimestampTypeInfo)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, dt: datetime.datetime | None) -> int | None:
        # datetime.astimezone takes a value without a zone for local time, as Flink does
        return None if dt is None else (dt.astimezone(datetime.UTC) - _EPOCH_UTC) // _MICROSECOND

    def from_internal_type(self, ts: int | None) -> datetime.datetime | None:
        if ts is None:
            return None
        return datetime.datetime.fromtimestamp(ts // 1_000_000).replace(microsecond=ts % 1_000_000)


class LocalTimeTypeInfo(TypeInformation):
    """Dates and times as ``java.time`` has them, exact to the microsecond."""

    class TimeType(Enum):
        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: TimeType) -> None:
        super().__init__()
        self._time_type = time_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalTimeTypeInfo) and self._time_type is other._time_type

    def __hash__(self) -> int:
        return hash(self._time_type)

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self._time_type.name}>"


class PickledBytesTypeInfo(TypeInformation):
    """Any Python object."""

    def __eq__(self, o: object) -> bool:
        return isinstance(o, PickledBytesTypeInfo)

    def __hash__(self) -> int:
        return hash(PickledBytesTypeInfo)

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"
