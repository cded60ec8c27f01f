"""CAST of text to other types, on columns.

What Arrow reads as Flink does is read by Arrow, whole columns at a time; the rest one text after the other.
"""

from __future__ import annotations

import calendar
import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import calendars as c, types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.cast_to_text import sized
from firesteel.sql.values import array_of, fit_decimal, unit_of

__all__ = ["CastError", "from_text", "parse_date", "parse_time", "parse_timestamp"]

_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()


class CastError(ValueError):
    """A text does not stand for a value of the type."""


def from_text(array: pa.Array, target: t.DataType, zone: str, attempt: bool) -> pa.Array:
    """:param attempt: null instead of an error."""
    if isinstance(target, (t.CharType, t.VarCharType)):
        return sized(array, target)
    found = _at_once(array, target, zone)
    if found is not None:
        return found
    parse = _PARSERS[type(target)](target, zone)
    encoded = array.dictionary_encode() if len(array) > 1 else None
    texts = array if encoded is None else encoded.dictionary
    values = [None if x is None else _parsed(parse, x, attempt) for x in texts.to_pylist()]
    made = array_of(values, target)
    return made if encoded is None else made.take(encoded.indices)


def _parsed(parse: Callable[[str], Any], text: str, attempt: bool) -> Any:
    if not attempt:
        return parse(text)
    try:
        return parse(text)
    except CastError:
        return None


_DIGITS: Final = r"[+-]?[0-9]{1,18}"
_ARROW_READS: Final[dict[type[t.DataType], str]] = {
    t.TinyIntType: r"^-?[0-9]{1,18}$",
    t.SmallIntType: r"^-?[0-9]{1,18}$",
    t.IntType: r"^-?[0-9]{1,18}$",
    t.BigIntType: r"^-?[0-9]{1,18}$",
    t.DoubleType: r"^-?[0-9]+(\.[0-9]+)?$",
    t.DateType: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    t.TimestampType: r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?$",
    t.LocalZonedTimestampType: r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?$",
}
_FEW: Final = 64


def _at_once(array: pa.Array, target: t.DataType, zone: str) -> pa.Array | None:
    """By Arrow; None: there are few texts, or some that Arrow reads in another way."""
    pattern = _ARROW_READS.get(type(target))
    if pattern is None or len(array) < _FEW:
        return None
    if not pc.all(pc.match_substring_regex(array, pattern), skip_nulls=True).as_py():
        return None
    try:
        if not isinstance(target, (t.TimestampType, t.LocalZonedTimestampType)):
            return array.cast(arrow_type(target))
        nanos = array.cast(pa.timestamp("ns"))
    except pa.ArrowInvalid:
        return None
    found = c.cut(c.converted(c.integers(nanos), 1_000_000_000, unit_of(target)), target)
    if isinstance(target, t.LocalZonedTimestampType):
        found = c.to_instant(found, unit_of(target), zone)
    return c.temporal(found, target, array)


# ---- numbers and truth

_TRUE: Final = frozenset(("t", "true", "y", "yes", "1"))
_FALSE: Final = frozenset(("f", "false", "n", "no", "0"))


def _boolean(_: Any, __: str) -> Callable[[str], bool]:
    def parse(text: str) -> bool:
        word = text.lower()
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        raise CastError(f"Cannot parse '{text}' as BOOLEAN.")

    return parse


_INTEGER: Final = re.compile(r"([+-]?[0-9]+)(?:\.[0-9]*)?|([+-]?)\.[0-9]+")
_BITS: Final = {t.TinyIntType: 7, t.SmallIntType: 15, t.IntType: 31, t.BigIntType: 63}


def _integer(target: t.DataType, _: str) -> Callable[[str], int]:
    limit = 1 << _BITS[type(target)]

    def parse(text: str) -> int:
        stripped = text.strip()
        match = _INTEGER.fullmatch(stripped)
        if match is None:
            why = "Invalid character found." if stripped else "Input is empty."
            raise CastError(f"For input string: '{text}'. {why}")
        number = int(match[1] or 0)
        if not -limit <= number < limit:
            raise CastError(f"For input string: '{text}'. Overflow.")
        return number

    return parse


_FLOAT: Final = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?)")


def _float(_: Any, __: str) -> Callable[[str], float]:
    def parse(text: str) -> float:
        stripped = text.strip()
        if _FLOAT.fullmatch(stripped) is None:
            raise CastError(f'For input string: "{text}"' if stripped else "empty String")
        return float(stripped if stripped.endswith(("N", "y")) else stripped.rstrip("dDfF"))

    return parse


_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _decimal(target: Any, _: str) -> Callable[[str], decimal.Decimal]:
    def parse(text: str) -> decimal.Decimal:
        stripped = text.strip()
        found = fit_decimal(decimal.Decimal(stripped), target) if _DECIMAL.fullmatch(stripped) else None
        if found is None:
            raise CastError(f"For input string: '{text}'. Overflow.")
        return found

    return parse


# ---- dates and times

_DATE: Final = re.compile(r"\s*([0-9]{1,4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?\s*")


def parse_date(text: str) -> int | None:
    """Days since 1970-01-01 of ``2020-2-3``, ``2020-02`` or ``2020``; a time after it is left out."""
    head = text.strip().split(" ", 1)[0]
    match = _DATE.fullmatch(head)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
    try:
        return datetime.date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None


_TIME: Final = re.compile(r"\s*([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{1,9}))?)?)?\s*")


def parse_time(text: str) -> int | None:
    """Milliseconds of the day of ``12:34:56.7``, ``12:34`` or ``12``."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * 1000 + int((match[4] or "")[:3].ljust(3, "0"))


_TIMESTAMP: Final = re.compile(
    r"([0-9]{1,4})-([0-9]{1,2})-([0-9]{1,2})(?: ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{0,9}))?)?"
)


def parse_timestamp(text: str) -> int | None:
    """Nanoseconds since 1970-01-01 of ``2020-1-2 3:04:05.678`` or ``2020-01-02``, without a zone."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    hour, minute, second = (int(match[i] or 0) for i in (4, 5, 6))
    if not (year and 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 60):
        return None
    # as Java does when it resolves a date: the 30th of February is its last day
    day = min(day, calendar.monthrange(year, month)[1])
    days = datetime.date(year, month, day).toordinal() - _EPOCH
    seconds = days * 86_400 + (hour * 60 + minute) * 60 + second
    return seconds * 1_000_000_000 + int((match[7] or "").ljust(9, "0"))


def _date(_: Any, __: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        found = parse_date(text)
        if found is None:
            raise CastError(f"For input string: '{text}'.")
        return found

    return parse


def _time(target: Any, _: str) -> Callable[[str], int]:
    step = 10 ** (3 - min(target.precision, 3))

    def parse(text: str) -> int:
        found = parse_time(text)
        if found is None:
            raise CastError(
                f"Invalid time format: '{text}'. Expected format: HH:mm:ss[.fff] where HH is 00-23, "
                "mm is 00-59, ss is 00-59"
            )
        return int(found // step * step)

    return parse


def _timestamp(target: Any, zone: str) -> Callable[[str], int]:
    unit, zoned = unit_of(target), isinstance(target, t.LocalZonedTimestampType)

    def parse(text: str) -> int:
        nanos = parse_timestamp(text)
        if nanos is None:
            raise CastError(f"Text '{text}' could not be parsed.")
        found = int(c.cut(c.converted(nanos, 1_000_000_000, unit), target))
        if unit == 1_000_000_000 and not -(1 << 63) <= found < 1 << 63:
            raise CastError(
                f"'{text}' is out of range: timestamps of more than 6 digits are those from 1677-09-21 to "
                "2262-04-11"
            )
        return int(c.to_instant(np.array([found]), unit, zone)[0]) if zoned else found

    return parse


# ---- intervals

_MONTHS: Final = re.compile(r"\s*([+-]?)(?:([0-9]+)-([0-9]+)|([0-9]+))\s*")
_MILLIS: Final = re.compile(
    r"\s*([+-]?)([0-9]+)(?: ([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{1,9}))?)?)?)?\s*"
)


def _months(target: Any, _: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        match = _MONTHS.fullmatch(text)
        if match is None:
            raise CastError(f"'{text}' is not an interval of years and months.")
        plain = int(match[4] or 0) * (12 if target.resolution == "YEAR" else 1)
        months = int(match[2] or 0) * 12 + int(match[3] or 0) + plain
        return -months if match[1] == "-" else months

    return parse


_UNIT_MS: Final = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}


def _millis(target: Any, _: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        match = _MILLIS.fullmatch(text)
        if match is None:
            raise CastError(f"'{text}' is not an interval of days and times.")
        days, hours, minutes, seconds = (int(match[i] or 0) for i in (2, 3, 4, 5))
        if match[3] is None:
            millis = days * _UNIT_MS[target.resolution.split("_TO_")[0]]
        else:
            millis = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
            millis += int((match[6] or "")[:3].ljust(3, "0"))
        return -millis if match[1] == "-" else millis

    return parse


_PARSERS: Final[dict[type[t.DataType], Callable[[Any, str], Callable[[str], Any]]]] = {
    t.BooleanType: _boolean,
    t.TinyIntType: _integer,
    t.SmallIntType: _integer,
    t.IntType: _integer,
    t.BigIntType: _integer,
    t.FloatType: _float,
    t.DoubleType: _float,
    t.DecimalType: _decimal,
    t.DateType: _date,
    t.TimeType: _time,
    t.TimestampType: _timestamp,
    t.LocalZonedTimestampType: _timestamp,
    t.YearMonthIntervalType: _months,
    t.DayTimeIntervalType: _millis,
}
