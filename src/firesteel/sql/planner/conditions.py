"""Conditions taken apart: conjunctions, equal keys, ranges. Names of the registry's operators stand here
once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from firesteel.sql.expressions import Call, Expression, InputRef, Literal, references
from firesteel.sql.physical import JoinKeys
from firesteel.sql.types import BooleanType

__all__ = ["EquiJoin", "and_", "comparison", "conjuncts", "equi_join", "is_true"]

AND: Final = "AND"
OR: Final = "OR"
EQUALS: Final = "EQUALS"
NOT_DISTINCT: Final = "IS_NOT_DISTINCT_FROM"
IS_NULL: Final = "IS_NULL"
LESS: Final = "LESS_THAN"
LESS_EQUAL: Final = "LESS_THAN_OR_EQUAL"
GREATER: Final = "GREATER_THAN"
GREATER_EQUAL: Final = "GREATER_THAN_OR_EQUAL"
PLUS: Final = "PLUS"
MINUS: Final = "MINUS"
CAST: Final = "CAST"
PROCTIME: Final = "PROCTIME"

MIRRORED: Final = {
    EQUALS: EQUALS,
    LESS: GREATER,
    LESS_EQUAL: GREATER_EQUAL,
    GREATER: LESS,
    GREATER_EQUAL: LESS_EQUAL,
}


def conjuncts(condition: Expression | None) -> list[Expression]:
    """What has to hold, one by one."""
    if condition is None or is_true(condition):
        return []
    if isinstance(condition, Call) and condition.function == AND:
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [condition]


def and_(parts: Iterable[Expression]) -> Expression | None:
    """All of them; None: nothing has to hold."""
    found = list(dict.fromkeys(parts))
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    nullable = any(part.type.nullable for part in found)
    return Call(AND, tuple(found), BooleanType(nullable=nullable))


def is_true(condition: Expression) -> bool:
    return isinstance(condition, Literal) and condition.value is True


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column compared with something that is over no column."""

    column: int
    function: str
    other: Expression


def comparison(condition: Expression) -> Comparison | None:
    """``column OP constant``, whichever way round it is written."""
    if not isinstance(condition, Call) or condition.function not in MIRRORED:
        return None
    first, second = condition.operands
    if isinstance(first, InputRef) and not references(second):
        return Comparison(first.index, condition.function, second)
    if isinstance(second, InputRef) and not references(first):
        return Comparison(second.index, MIRRORED[condition.function], first)
    return None


@dataclass(frozen=True, slots=True)
class EquiJoin:
    """A join condition: the equal keys, and the rest over left and right columns."""

    keys: JoinKeys
    rest: tuple[Expression, ...]


def equi_join(condition: Expression | None, width: int) -> EquiJoin:
    """:param width: the number of left columns."""
    left: list[int] = []
    right: list[int] = []
    null_safe: list[bool] = []
    rest: list[Expression] = []
    for part in conjuncts(condition):
        pair = _pair(part, width)
        if pair is None:
            rest.append(part)
        else:
            left.append(pair[0])
            right.append(pair[1])
            null_safe.append(pair[2])
    return EquiJoin(JoinKeys(tuple(left), tuple(right), tuple(null_safe)), tuple(rest))


def _pair(part: Expression, width: int) -> tuple[int, int, bool] | None:
    if not isinstance(part, Call):
        return None
    null_safe = part.function == NOT_DISTINCT
    if part.function == OR:
        found = _null_safe_or(part)
        if found is None:
            return None
        part, null_safe = found, True
    elif part.function not in (EQUALS, NOT_DISTINCT):
        return None
    first, second = part.operands
    if not (isinstance(first, InputRef) and isinstance(second, InputRef)):
        return None
    if not first.type.equals_ignoring_nullability(second.type):
        return None
    a, b = sorted((first.index, second.index))
    return (a, b - width, null_safe) if a < width <= b else None


def _null_safe_or(part: Call) -> Call | None:
    """``a = b OR (a IS NULL AND b IS NULL)``."""
    if len(part.operands) != 2:
        return None
    equals = next((o for o in part.operands if isinstance(o, Call) and o.function == EQUALS), None)
    nulls = next((o for o in part.operands if isinstance(o, Call) and o.function == AND), None)
    if equals is None or nulls is None:
        return None
    asked = [o.operands[0] for o in nulls.operands if isinstance(o, Call) and o.function == IS_NULL]
    if len(asked) != len(nulls.operands) or set(asked) != set(equals.operands):
        return None
    return equals
