"""Parts of dates, times and intervals (EXTRACT, YEAR ...), and the begin of units (FLOOR, CEIL ... TO)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.sql import calendars as c, type_rules as r, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.functions.rules import BIGINT
from firesteel.sql.values import unit_of

_DAY: Final = 86_400 * 1_000_000_000
_CLOCK: Final = {
    "HOUR": 3_600_000_000_000,
    "MINUTE": 60_000_000_000,
    "SECOND": 1_000_000_000,
    "MILLISECOND": 1_000_000,
    "MICROSECOND": 1_000,
    "NANOSECOND": 1,
}


def _iso(days: Any) -> tuple[Any, Any]:
    """Year and week of ISO 8601: the week is in the year in which its Thursday is."""
    thursday = days - (days + 3) % 7 + 3
    year, _, _ = c.civil(thursday)
    return year, (thursday - c.days_from(year, 1, 1)) // 7 + 1


def _century(year: Any) -> Any:
    return np.where(year > 0, (year + 99) // 100, -((99 - year) // 100))


def _millennium(year: Any) -> Any:
    return np.where(year > 0, (year + 999) // 1000, -((999 - year) // 1000))


_DATE_FIELDS: Final[dict[str, Callable[[Any], Any]]] = {
    "YEAR": lambda d: c.civil(d)[0],
    "QUARTER": lambda d: (c.civil(d)[1] + 2) // 3,
    "MONTH": lambda d: c.civil(d)[1],
    "WEEK": lambda d: _iso(d)[1],
    "ISOYEAR": lambda d: _iso(d)[0],
    "DAY": lambda d: c.civil(d)[2],
    "DOW": lambda d: (d + 4) % 7 + 1,
    "ISODOW": lambda d: (d + 3) % 7 + 1,
    "DOY": lambda d: d - c.days_from(c.civil(d)[0], 1, 1) + 1,
    "DECADE": lambda d: c.civil(d)[0] // 10,
    "CENTURY": lambda d: _century(c.civil(d)[0]),
    "MILLENNIUM": lambda d: _millennium(c.civil(d)[0]),
}
#: a part of the second comes with those above it: MILLISECOND of 1.5 s is 500
_CLOCK_FIELDS: Final[dict[str, Callable[[Any], Any]]] = {
    "HOUR": lambda n: n // _CLOCK["HOUR"],
    "MINUTE": lambda n: n // _CLOCK["MINUTE"] % 60,
    "SECOND": lambda n: n // _CLOCK["SECOND"] % 60,
    "MILLISECOND": lambda n: n // 1_000_000 % 1_000,
    "MICROSECOND": lambda n: n // 1_000 % 1_000_000,
    "NANOSECOND": lambda n: n % 1_000_000_000,
}


def _parts(site: CallSite, column: Any, kind: t.DataType) -> tuple[Any, Any, Any]:
    """Days, nanoseconds of the day, and seconds since the epoch; in local time."""
    numbers = c.integers(column)
    if isinstance(kind, t.DateType):
        return numbers, numbers * 0, numbers * 86_400
    if isinstance(kind, t.TimeType):
        return numbers * 0, numbers * 1_000_000, numbers // 1000
    unit = unit_of(kind)
    local = c.to_local(numbers, unit, site.zone) if isinstance(kind, t.LocalZonedTimestampType) else numbers
    days = np.floor_divide(local, 86_400 * unit)
    nanos = (local - days * 86_400 * unit) * (1_000_000_000 // unit)
    return days, nanos, np.floor_divide(local, unit)


def extract(site: CallSite, unit: str, column: Any, kind: t.DataType) -> pa.Array:
    if isinstance(kind, r.INTERVAL):
        return c.temporal(_of_interval(c.integers(column), unit, kind), BIGINT, column, length=site.length)
    days, nanos, seconds = _parts(site, column, kind)
    if unit == "EPOCH":
        if isinstance(kind, t.TimeType):
            raise ValueError("unit EPOCH can not be applied to time variable")
        found = seconds
    elif unit in _DATE_FIELDS:
        found = _DATE_FIELDS[unit](days)
    else:
        found = _CLOCK_FIELDS[unit](nanos)
    return c.temporal(found, BIGINT, column, length=site.length)


def _of_interval(numbers: Any, unit: str, kind: t.DataType) -> Any:
    signs, sizes = np.sign(numbers), np.abs(numbers)
    if isinstance(kind, t.YearMonthIntervalType):
        years, months = sizes // 12, sizes % 12
        fields = {
            "YEAR": years,
            "QUARTER": months // 3 + 1,
            "MONTH": months,
            "DECADE": years // 10,
            "CENTURY": years // 100,
            "MILLENNIUM": years // 1000,
        }
    else:
        fields = {
            "DAY": sizes // c.DAY_MS,
            "HOUR": sizes // 3_600_000 % 24,
            "MINUTE": sizes // 60_000 % 60,
            "SECOND": sizes // 1000 % 60,
            "MILLISECOND": sizes % 1000,
            "EPOCH": sizes // 1000,
            "MICROSECOND": sizes % 1000 * 1000,
            "NANOSECOND": sizes % 1000 * 1_000_000,
        }
    if unit not in fields:
        raise ValueError(f"unit {unit} can not be applied to {kind.text()}")
    return signs * fields[unit]


#: what cannot be taken of these types
_WITHOUT: Final = {
    t.DateType: {"MICROSECOND", "NANOSECOND"},
    t.TimeType: {"NANOSECOND"},
    t.YearMonthIntervalType: {"EPOCH", "DAY", "WEEK", "DOW", "DOY", "ISODOW", "ISOYEAR", *_CLOCK_FIELDS},
    t.DayTimeIntervalType: {*_DATE_FIELDS, "NANOSECOND"} - {"DAY"},
}


def _extract_rule(call: CallTypes) -> Typing | None:
    if len(call.types) != 2 or not isinstance(call.types[1], (*r.DATETIME, *r.INTERVAL)):
        return None
    unit, kind = call.literal(0), call.types[1]
    known = unit == "EPOCH" or unit in _DATE_FIELDS or unit in _CLOCK_FIELDS
    if not known or (isinstance(kind, t.TimeType) and unit in _DATE_FIELDS):
        return None
    if unit in _WITHOUT.get(type(kind), ()):
        return None
    return Typing(BIGINT.with_nullability(kind.nullable), tuple(call.types))


scalar(
    "EXTRACT",
    _extract_rule,
    total=True,
    columns=lambda site, unit, x: extract(site, unit.as_py(), x, site.types[1]),
    signatures=("EXTRACT(<UNIT> FROM <DATETIME>)", "EXTRACT(<UNIT> FROM <INTERVAL>)"),
    doc="A part of a point of time or interval.",
    example="EXTRACT(MONTH FROM DATE '2024-02-29')",
)


def _part_function(unit: str) -> Callable[..., Any]:
    return lambda site, x: extract(site, unit, x, site.types[0])


def _part_rule(unit: str) -> Callable[[CallTypes], Typing | None]:
    def rule(call: CallTypes) -> Typing | None:
        if len(call.types) != 1 or not isinstance(call.types[0], (*r.DATETIME, *r.INTERVAL)):
            return None
        if isinstance(call.types[0], t.TimeType) and unit in _DATE_FIELDS:
            return None
        return Typing(BIGINT.with_nullability(call.types[0].nullable), tuple(call.types))

    return rule


for _name, _unit, _what in (
    ("YEAR", "YEAR", "The year"),
    ("QUARTER", "QUARTER", "The quarter, 1 to 4,"),
    ("MONTH", "MONTH", "The month, 1 to 12,"),
    ("WEEK", "WEEK", "The week of ISO 8601, 1 to 53,"),
    ("DAYOFYEAR", "DOY", "The day of the year, 1 to 366,"),
    ("DAYOFMONTH", "DAY", "The day of the month, 1 to 31,"),
    ("DAYOFWEEK", "DOW", "The day of the week, 1 (Sunday) to 7,"),
):
    scalar(
        _name,
        _part_rule(_unit),
        columns=_part_function(_unit),
        total=True,
        signatures=(f"{_name}(<DATETIME>)",),
        doc=f"{_what} of a point of time.",
        example=f"{_name}(DATE '2024-02-29')",
    )
for _name, _most in (("HOUR", 23), ("MINUTE", 59), ("SECOND", 59)):
    scalar(
        _name,
        _part_rule(_name),
        columns=_part_function(_name),
        total=True,
        signatures=(f"{_name}(<DATETIME>)",),
        doc=f"The {_name.lower()}, 0 to {_most}, of a point of time.",
        example=f"{_name}(TIMESTAMP '2024-02-29 12:34:56')",
    )


# ---- FLOOR and CEIL to a unit

_MONTH_UNITS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_YEAR_UNITS: Final = {"DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}


def rounding_rule(call: CallTypes) -> Typing | None:
    """``FLOOR(x TO DAY)``; what comes of it is no time attribute."""
    if (
        len(call.types) != 2
        or not isinstance(call.types[0], r.DATETIME)
        or not isinstance(call.types[1], t.SymbolType)
    ):
        return None
    kind = call.types[0]
    unit = call.literal(1)
    if unit not in _CLOCK and unit not in ("DAY", "WEEK", *_MONTH_UNITS, *_YEAR_UNITS):
        return None
    if isinstance(kind, r.TIMESTAMPS):
        kind = type(kind)(precision=kind.precision, nullable=kind.nullable)
    return Typing(kind, tuple(call.types))


def _day_floor(days: Any, unit: str) -> Any:
    if unit == "DAY":
        return days
    if unit == "WEEK":
        return days - (days + 4) % 7  # weeks begin on Sunday
    year, month, _ = c.civil(days)
    if unit in _MONTH_UNITS:
        size = _MONTH_UNITS[unit]
        return c.days_from(year, (month - 1) // size * size + 1, 1)
    size = _YEAR_UNITS[unit]
    # the first century began with the year 1, a decade begins with a year that ends with 0
    start = year // size * size if unit == "DECADE" else (year - 1) // size * size + 1
    return c.days_from(start, 1, 1)


def _next_day(start: Any, unit: str) -> Any:
    if unit == "WEEK":
        return start + 7
    if unit == "DAY":
        return start + 1
    months = _MONTH_UNITS.get(unit) or _YEAR_UNITS[unit] * 12
    return c.add_months(start, months)


def floor(site: CallSite, column: Any, unit: str) -> pa.Array:
    return _rounded(site, column, unit, up=False)


def ceil(site: CallSite, column: Any, unit: str) -> pa.Array:
    return _rounded(site, column, unit, up=True)


def _rounded(site: CallSite, column: Any, unit: str, up: bool) -> pa.Array:
    kind = site.types[0]
    numbers = c.integers(column)
    if isinstance(kind, t.DateType):
        found = _rounded_days(numbers, unit, up)
    elif isinstance(kind, t.TimeType):
        found = _stepped(numbers, _CLOCK.get(unit, _DAY), 1000, up)
    else:
        found = _rounded_timestamps(site, numbers, kind, unit, up)
    return c.temporal(found, site.result, column, length=site.length)


def _rounded_days(days: Any, unit: str, up: bool) -> Any:
    if unit in _CLOCK:
        return days
    start = _day_floor(days, unit)
    if not up:
        return start
    if unit == "DAY":
        return days + 1  # as Flink's CEIL(date TO DAY) is the day after
    return np.where(start == days, days, _next_day(start, unit))


def _stepped(numbers: Any, nanos: int, unit: int, up: bool) -> Any:
    step = nanos * unit // 1_000_000_000
    if step <= 1:
        return numbers
    return -(np.floor_divide(-numbers, step)) * step if up else np.floor_divide(numbers, step) * step


def _rounded_timestamps(site: CallSite, numbers: Any, kind: t.DataType, unit: str, up: bool) -> Any:
    count = unit_of(kind)
    zoned = isinstance(kind, t.LocalZonedTimestampType)
    local = c.to_local(numbers, count, site.zone) if zoned else numbers
    if unit in _CLOCK:
        found = _stepped(local, _CLOCK[unit], count, up)
    else:
        day = 86_400 * count
        days = np.floor_divide(local, day)
        start = _day_floor(days, unit)
        found = start * day
        if up:
            # Flink rounds up by days: a point within the first day of a unit longer than that stays there
            inside = local != found if unit == "DAY" else days != start
            found = np.where(inside, _next_day(start, unit) * day, found)
    return c.to_instant(found, count, site.zone) if zoned else found
