"""Bounds between two times in a join condition (Flink: ``IntervalJoinUtil``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.sql.expressions import Call, Expression, InputRef, Literal, references
from firesteel.sql.planner import conditions as c
from firesteel.sql.types import DataType, DayTimeIntervalType

__all__ = ["Interval", "interval_of"]


@dataclass(frozen=True, slots=True)
class Interval:
    """``lower <= left - right <= upper`` in milliseconds. Columns are those of the joined row."""

    left: int
    right: int
    lower: int
    upper: int
    rest: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class _Bound:
    left: int
    right: int
    value: int
    is_upper: bool


def interval_of(
    parts: Sequence[Expression],
    width: int,
    times: set[int],
    equal: Sequence[tuple[int, int]],
    types: Sequence[DataType],
) -> Interval | None:
    """:param equal: pairs of time columns that the keys say are equal. None: there is no bound on both
    sides."""
    bounds: list[tuple[_Bound, Expression]] = []
    for part in parts:
        found = _bound(part, width, times)
        if found is not None:
            bounds.append((found, part))
    if equal:
        left, right = equal[0]
        return Interval(left, right + width, 0, 0, tuple(parts))
    lowers = [(b, e) for b, e in bounds if not b.is_upper]
    for lower, lower_part in lowers:
        uppers = [(b, e) for b, e in bounds if b.is_upper and (b.left, b.right) == (lower.left, lower.right)]
        if uppers:
            upper, upper_part = uppers[0]
            rest = tuple(e for e in parts if e is not lower_part and e is not upper_part)
            return Interval(lower.left, lower.right, lower.value, upper.value, rest)
    return None


def _bound(part: Expression, width: int, times: set[int]) -> _Bound | None:
    """``time OP time +- interval``, any way round."""
    if not isinstance(part, Call) or part.function not in c.MIRRORED or part.function == c.EQUALS:
        return None
    first = _time(part.operands[0], times)
    second = _time(part.operands[1], times)
    if first is None or second is None:
        return None
    function = part.function
    (a, a_offset), (b, b_offset) = first, second
    if a >= width:
        (a, a_offset), (b, b_offset) = (b, b_offset), (a, a_offset)
        function = c.MIRRORED[function]
    if not a < width <= b:
        return None
    # a + a_offset OP b + b_offset  <=>  a - b OP b_offset - a_offset
    value = b_offset - a_offset
    is_upper = function in (c.LESS, c.LESS_EQUAL)
    if function == c.LESS:
        value -= 1
    elif function == c.GREATER:
        value += 1
    return _Bound(a, b, value, is_upper)


def _time(expression: Expression, times: set[int]) -> tuple[int, int] | None:
    """A time column and what is added to it."""
    if isinstance(expression, InputRef):
        return (expression.index, 0) if expression.index in times else None
    if not isinstance(expression, Call):
        return None
    if expression.function in (c.CAST, "REINTERPRET") and len(expression.operands) == 1:
        return _time(expression.operands[0], times)
    if (
        expression.function not in (c.PLUS, c.MINUS, "TIMESTAMP_PLUS", "TIMESTAMP_MINUS")
        or len(expression.operands) != 2
    ):
        return None
    first, second = expression.operands
    minus = expression.function in (c.MINUS, "TIMESTAMP_MINUS")
    amount = _milliseconds(second)
    time = _time(first, times)
    if (amount is None or time is None) and not minus:
        amount, time = _milliseconds(first), _time(second, times)
    if amount is None or time is None:
        return None
    return time[0], time[1] + (-amount if minus else amount)


def _milliseconds(expression: Expression) -> int | None:
    """The value of an interval of days and seconds that is constant."""
    if isinstance(expression, Literal) and isinstance(expression.type, DayTimeIntervalType):
        return int(expression.value)
    if (
        isinstance(expression, Call)
        and isinstance(expression.type, DayTimeIntervalType)
        and not references(expression)
    ):
        found = [o.value if isinstance(o, Literal) else _milliseconds(o) for o in expression.operands]
        values: list[Any] = [value for value in found if value is not None]
        if len(values) < len(found):
            return None
        if expression.function == "TIMES":
            return int(values[0] * values[1])
        if expression.function == c.PLUS:
            return int(values[0] + values[1])
        if expression.function == c.MINUS:
            return int(values[0] - values[1])
        if expression.function in ("UNARY_MINUS", "MINUS_PREFIX", "NEGATIVE"):
            return -int(values[0])
    return None
