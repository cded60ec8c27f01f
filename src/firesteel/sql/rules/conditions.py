"""Conditions: taken apart, put together, simplified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from firesteel.sql.expressions import Call, Expression, Literal, SubQuery, walk
from firesteel.sql.functions.registry import FUNCTIONS
from firesteel.sql.types import BooleanType

__all__ = [
    "FALSE",
    "TRUE",
    "conjunction",
    "conjuncts",
    "disjunction",
    "equals",
    "has_subquery",
    "is_deterministic",
    "is_false",
    "is_true",
]

TRUE: Final = Literal(True, BooleanType(nullable=False))
FALSE: Final = Literal(False, BooleanType(nullable=False))


def is_true(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is True


def is_false(expression: Expression) -> bool:
    """As a condition: NULL is FALSE."""
    return isinstance(expression, Literal) and (expression.value is False or expression.value is None)


def conjuncts(condition: Expression) -> list[Expression]:
    """The parts of a conjunction, in order, each once."""
    found: list[Expression] = []
    stack = [condition]
    while stack:
        part = stack.pop()
        if isinstance(part, Call) and part.function == "AND":
            stack += reversed(part.operands)
        elif not is_true(part) and part not in found:
            found.append(part)
    return found


def conjunction(parts: Iterable[Expression]) -> Expression:
    items = [p for p in parts if not is_true(p)]
    if not items:
        return TRUE
    if len(items) == 1:
        return items[0]
    return Call("AND", tuple(items), BooleanType(nullable=any(p.type.nullable for p in items)))


def disjunction(parts: Sequence[Expression]) -> Expression:
    if len(parts) == 1:
        return parts[0]
    return Call("OR", tuple(parts), BooleanType(nullable=any(p.type.nullable for p in parts)))


def equals(left: Expression, right: Expression) -> Expression:
    nullable = left.type.nullable or right.type.nullable
    return Call("EQUALS", (left, right), BooleanType(nullable=nullable))


def predicate(function: str, *operands: Expression) -> Expression:
    """A call that is never NULL, such as IS_NULL."""
    return Call(function, operands, BooleanType(nullable=False))


def has_subquery(expression: Expression) -> bool:
    return any(isinstance(e, SubQuery) for e in walk(expression))


def is_deterministic(expression: Expression) -> bool:
    """Whether it may be computed elsewhere, or twice: no RAND, no function of the user that says so, no
    PROCTIME."""
    for part in walk(expression):
        if isinstance(part, SubQuery):
            return False
        if isinstance(part, Call):
            definition = FUNCTIONS.find(part.function)
            if definition is None or not definition.deterministic:
                return False
    return True
