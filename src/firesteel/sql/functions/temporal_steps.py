"""TIMESTAMPADD, TIMESTAMPDIFF and OVERLAPS."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.sql import calendars as c, type_rules as r, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.functions.temporal_arithmetic import after_millis, after_months, months_between
from firesteel.sql.values import unit_of

_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12000}
_NANOS: Final = {
    "NANOSECOND": 1,
    "MICROSECOND": 1_000,
    "MILLISECOND": 1_000_000,
    "SECOND": 1_000_000_000,
    "MINUTE": 60_000_000_000,
    "HOUR": 3_600_000_000_000,
    "DAY": 86_400_000_000_000,
    "WEEK": 604_800_000_000_000,
}


def _add_rule(call: CallTypes) -> Typing | None:
    types = call.types
    if len(types) != 3 or not isinstance(types[1], (*r.INTEGER, t.NullType)):
        return None
    unit, point = call.literal(0), types[2]
    if isinstance(point, t.NullType):
        point = t.TimestampType()
    if not isinstance(point, r.DATETIME) or (unit not in _MONTHS and unit not in _NANOS):
        return None
    result: t.DataType = point
    if isinstance(point, t.DateType) and unit not in _MONTHS and unit not in ("DAY", "WEEK"):
        result = t.TimestampType(precision=6)
    elif isinstance(point, r.TIMESTAMPS):
        result = type(point)(precision=point.precision)
    null = point.nullable or types[1].nullable or r.is_null_type(types[1])
    return Typing(result.with_nullability(null), (types[0], t.BigIntType(nullable=types[1].nullable), point))


def _add(site: CallSite, symbol: Any, amount: Any, point: Any) -> pa.Array:
    unit, kind = symbol.as_py(), site.types[2]
    numbers, count = c.integers(point), c.integers(amount)
    if isinstance(kind, t.DateType) and isinstance(site.result, t.TimestampType):
        numbers, kind = numbers * 86_400_000_000, site.result
    if unit in _MONTHS:
        found = after_months(numbers, kind, count * _MONTHS[unit])
    elif isinstance(kind, (t.DateType, t.TimeType)):
        found = after_millis(numbers, kind, count * (_NANOS[unit] // 1_000_000))
    else:
        nanos, scale = count * _NANOS[unit], 1_000_000_000 // unit_of(kind)
        found = numbers + np.floor_divide(nanos, scale)
    return c.temporal(found, site.result, amount, point, length=site.length)


scalar(
    "TIMESTAMPADD",
    _add_rule,
    columns=_add,
    total=True,
    signatures=("TIMESTAMPADD(<UNIT>, <INTEGER_NUMERIC>, <DATETIME>)",),
    doc="A point of time moved by a number of units.",
    example="TIMESTAMPADD(MONTH, 1, DATE '2024-01-31')",
)


def _difference_rule(call: CallTypes) -> Typing | None:
    types = call.types
    if len(types) != 3 or (call.literal(0) not in _MONTHS and call.literal(0) not in _NANOS):
        return None
    points = tuple(t.TimestampType() if r.is_null_type(d) else d for d in types[1:])
    if not all(isinstance(d, r.DATETIME) for d in points):
        return None
    if len({isinstance(d, t.LocalZonedTimestampType) for d in points}) > 1:
        return None  # an instant has a distance to instants only
    return Typing(t.IntType(nullable=any(d.nullable for d in points)), (types[0], *points))


def _micros(site: CallSite, column: Any, kind: t.DataType) -> Any:
    numbers = c.integers(column)
    if isinstance(kind, t.DateType):
        return numbers * 86_400_000_000
    if isinstance(kind, t.TimeType):
        return numbers * 1000
    unit = unit_of(kind)
    if isinstance(kind, t.LocalZonedTimestampType):
        numbers = c.to_local(numbers, unit, site.zone)
    return c.converted(numbers, unit, 1_000_000)


def _difference(site: CallSite, symbol: Any, a: Any, b: Any) -> pa.Array:
    unit = symbol.as_py()
    start, end = _micros(site, a, site.types[1]), _micros(site, b, site.types[2])
    if unit in _MONTHS:
        months = months_between(np.floor_divide(end, 1000), np.floor_divide(start, 1000))
        found = np.sign(months) * (np.abs(months) // _MONTHS[unit])
    else:
        found = end - start
        size = _NANOS[unit] // 1000
        found = np.sign(found) * (np.abs(found) // size) if size else found * 1000
    return c.temporal(found, site.result, a, b, length=site.length)


scalar(
    "TIMESTAMPDIFF",
    _difference_rule,
    columns=_difference,
    total=True,
    signatures=("TIMESTAMPDIFF(<UNIT>, <DATETIME>, <DATETIME>)",),
    doc="How many whole units lie between two points of time.",
    example="TIMESTAMPDIFF(DAY, DATE '2024-02-01', DATE '2024-03-01')",
)


def _overlaps_rule(call: CallTypes) -> Typing | None:
    types = call.types
    if len(types) != 4 or not (isinstance(types[0], r.DATETIME) and isinstance(types[2], r.DATETIME)):
        return None
    if not all(isinstance(d, (*r.DATETIME, *r.INTERVAL)) for d in (types[1], types[3])):
        return None
    return Typing(t.BooleanType(nullable=any(d.nullable for d in types)), tuple(types))


def _period(site: CallSite, start: Any, end: Any, kinds: Any) -> tuple[Any, Any]:
    begin_kind, end_kind = kinds
    first = _micros(site, start, begin_kind)
    if isinstance(end_kind, t.YearMonthIntervalType):
        day = 86_400_000_000
        days = np.floor_divide(first, day)
        last = c.add_months(days, c.integers(end)) * day + (first - days * day)
    elif isinstance(end_kind, t.DayTimeIntervalType):
        last = first + c.integers(end) * 1000
    else:
        last = _micros(site, end, end_kind)
    return np.minimum(first, last), np.maximum(first, last)


def _overlaps(site: CallSite, a: Any, b: Any, x: Any, y: Any) -> pa.Array:
    first, last = _period(site, a, b, site.types[:2])
    begin, end = _period(site, x, y, site.types[2:])
    found = np.broadcast_to((first <= end) & (begin <= last), (site.length,))
    return c.with_nulls_of(pa.array(found), a, b, x, y)


scalar(
    "TEMPORAL_OVERLAPS",
    _overlaps_rule,
    sql=(),
    columns=_overlaps,
    total=True,
    signatures=("(<DATETIME>, <DATETIME or INTERVAL>) OVERLAPS (<DATETIME>, <DATETIME or INTERVAL>)",),
    doc="Whether two periods have a point in common.",
    example="(TIME '9:00:00', TIME '9:30:00') OVERLAPS (TIME '9:29:00', TIME '9:31:00')",
)
