"""+ - * of dates, times, timestamps and intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.sql import calendars as c, type_rules as r, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.values import unit_of

_INTERVALS = (t.YearMonthIntervalType, t.DayTimeIntervalType)


def plus_rule(call: CallTypes) -> Typing | None:
    found = minus_rule(call)
    if found is None and len(call.types) == 2:
        a, b = call.types
        if isinstance(a, _INTERVALS) and isinstance(b, r.DATETIME):
            return Typing(_moved(b, a).with_nullability(a.nullable or b.nullable), (a, b))
    return found


def minus_rule(call: CallTypes) -> Typing | None:
    if len(call.types) != 2:
        return None
    a, b = call.types
    nullable = a.nullable or b.nullable
    if isinstance(a, _INTERVALS) and type(a) is type(b):
        return Typing(r.common_of((a, b)).with_nullability(nullable), (a, b))
    if isinstance(a, r.DATETIME) and isinstance(b, _INTERVALS):
        return Typing(_moved(a, b).with_nullability(nullable), (a, b))
    return None


def _moved(point: t.DataType, interval: t.DataType) -> t.DataType:
    """The type of a point of time after an interval: it is no time attribute any more."""
    if isinstance(point, (t.TimestampType, t.LocalZonedTimestampType)):
        return type(point)(precision=point.precision)
    return point


def times_rule(call: CallTypes) -> Typing | None:
    if len(call.types) != 2:
        return None
    a, b = call.types
    if isinstance(a, r.NUMERIC) and isinstance(b, _INTERVALS):
        return Typing(b.with_nullability(a.nullable or b.nullable), (a, b))
    if isinstance(a, _INTERVALS) and isinstance(b, r.NUMERIC):
        return Typing(a.with_nullability(a.nullable or b.nullable), (a, b))
    return None


def compute(site: CallSite, a: Any, b: Any, plain: Callable[[Any, Any], Any], sign: int) -> Any:
    """What ``+``, ``-`` and ``*`` do where an interval is among the operands.

    :param sign: of an interval by which a point of time is moved.
    """
    left, right = site.types
    if isinstance(left, _INTERVALS) and isinstance(right, _INTERVALS):
        return plain(a, b)
    if isinstance(left, r.NUMERIC):
        return _multiplied(site, b, a)
    if isinstance(right, r.NUMERIC):
        return _multiplied(site, a, b)
    if isinstance(left, _INTERVALS):
        return moved(site, b, right, a, left, 1)
    return moved(site, a, left, b, right, sign)


def _multiplied(site: CallSite, interval: Any, number: Any) -> Any:
    factor = number.cast(pa.float64()) if not pa.types.is_integer(number.type) else number.cast(pa.int64())
    found = np.asarray(c.integers(interval)) * _numbers(factor)
    return c.temporal(np.trunc(found) if found.dtype.kind == "f" else found, site.result, interval, number)


def _numbers(column: Any) -> Any:
    if isinstance(column, pa.Scalar):
        return column.as_py() or 0
    return column.fill_null(0).to_numpy(zero_copy_only=False)


def moved(
    site: CallSite, point: Any, kind: t.DataType, interval: Any, interval_kind: t.DataType, sign: int
) -> pa.Array:
    """A point of time moved by an interval, as the type of the call."""
    amount = c.integers(interval) * sign
    numbers = c.integers(point)
    if isinstance(interval_kind, t.YearMonthIntervalType):
        found = after_months(numbers, kind, amount)
    else:
        found = after_millis(numbers, kind, amount)
    return c.temporal(found, site.result, point, interval)


def after_months(numbers: Any, kind: t.DataType, months: Any) -> Any:
    if isinstance(kind, t.DateType):
        return c.add_months(numbers, months)
    if isinstance(kind, t.TimeType):
        return numbers  # a time of day has no month
    day = 86_400 * unit_of(kind)
    days = np.floor_divide(numbers, day)
    return c.add_months(days, months) * day + (numbers - days * day)


def after_millis(numbers: Any, kind: t.DataType, millis: Any) -> Any:
    if isinstance(kind, t.DateType):
        return numbers + np.fix(millis / c.DAY_MS).astype(np.int64)
    if isinstance(kind, t.TimeType):
        return np.mod(numbers + millis, c.DAY_MS)
    return numbers + millis * (unit_of(kind) // 1000)


def _difference_rule(call: CallTypes) -> Typing | None:
    """``(a - b) DAY TO SECOND``: the interval type is the third operand."""
    if len(call.types) != 3 or not all(isinstance(d, r.DATETIME) for d in call.types[:2]):
        return None
    kind = call.literal(2)
    nullable = any(d.nullable for d in call.types[:2])
    return Typing(kind.with_nullability(nullable), tuple(call.types))


def _difference(site: CallSite, a: Any, b: Any, _: Any) -> pa.Array:
    left, right = (_millis(c.integers(x), k) for x, k in zip((a, b), site.types, strict=False))
    if isinstance(site.result, t.YearMonthIntervalType):
        return c.temporal(months_between(left, right), site.result, a, b)
    return c.temporal(left - right, site.result, a, b)


def _millis(numbers: Any, kind: t.DataType) -> Any:
    if isinstance(kind, t.DateType):
        return numbers * c.DAY_MS
    if isinstance(kind, t.TimeType):
        return numbers
    return c.converted(numbers, unit_of(kind), 1000)


def months_between(later: Any, earlier: Any) -> Any:
    """Whole months from one count of milliseconds to another one. A month from the 31st ends on the last day
    of a shorter month; a time of day counts only where that day is met."""
    a_days, b_days = np.floor_divide(later, c.DAY_MS), np.floor_divide(earlier, c.DAY_MS)
    months = np.where(a_days >= b_days, _whole_months(a_days, b_days), -_whole_months(b_days, a_days))
    a_rest, b_rest = later - a_days * c.DAY_MS, earlier - b_days * c.DAY_MS
    return months - ((c.add_months(b_days, months) == a_days) & (a_rest < b_rest))


def _whole_months(later: Any, earlier: Any) -> Any:
    """The most months after which a day is not after a later one."""
    a_year, a_month, _ = c.civil(later)
    b_year, b_month, _ = c.civil(earlier)
    months = (a_year - b_year) * 12 + (a_month - b_month)
    return months - (c.add_months(earlier, months) > later)


scalar(
    "DATETIME_DIFFERENCE",
    _difference_rule,
    sql=(),
    columns=_difference,
    total=True,
    signatures=("(<DATETIME> - <DATETIME>) <INTERVAL QUALIFIER>",),
    doc="The interval from one point of time to another one; its qualifier follows the parentheses.",
    example="(TIMESTAMP '2020-01-02 00:00:00' - TIMESTAMP '2020-01-01 00:00:00') DAY",
)
