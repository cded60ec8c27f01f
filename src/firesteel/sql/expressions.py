"""Bound expressions: typed, resolved, without names. What the binder makes and the evaluator runs.

They are plain, immutable, picklable data. Everything that computes is a ``Call`` of a function of the
registry (``functions/registry.py``): operators, CAST, CASE, comparisons and AND/OR too, so there is one place
where something is implemented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from firesteel.sql.types import DataType, RowType

__all__ = [
    "AggregateCall",
    "Call",
    "Expression",
    "InputRef",
    "Literal",
    "Ordering",
    "Outer",
    "SubQuery",
    "children",
    "identity",
    "reads_watermark",
    "references",
    "rewrite",
    "shift",
    "substitute",
    "walk",
]


@dataclass(frozen=True, slots=True)
class InputRef:
    """The column *index* of the input. A join's condition sees left columns, then right columns."""

    index: int
    type: DataType


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant as a Python value: Decimal, str, bytes, date, time, datetime, int (intervals too), None
    ..."""

    value: Any
    type: DataType


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the registry on operands whose types it accepts without a further cast.

    :param function: its name in the registry, such as ``"PLUS"``, ``"CAST"``, ``"CASE"``, ``"UPPER"``; for a
        function of the user the name under which the plan has it (``Plan.functions``).
    """

    function: str
    operands: tuple[Expression, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class Outer:
    """A column of the row outside of a correlated sub-query; gone when rules have decorrelated the plan.

    :param level: 1: the next scope outwards.
    """

    level: int
    index: int
    type: DataType


@dataclass(frozen=True, slots=True)
class SubQuery:
    """A sub-query inside an expression until a rule has made a join of it; never in an optimised plan.

    :param kind: EXISTS, IN, SCALAR, SOME_<comparison> or ALL_<comparison>, such as ``SOME_LESS_THAN``.
    :param plan: a ``logical.Node``; it sees the row outside as ``Outer`` of level 1.
    :param operands: the left side of IN, over the outer row.
    """

    kind: str
    plan: Any
    operands: tuple[Expression, ...]
    type: DataType


Expression = InputRef | Literal | Call | Outer | SubQuery


@dataclass(frozen=True, slots=True)
class Ordering:
    """One term of ORDER BY."""

    index: int
    ascending: bool = True
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate of an Aggregate, Window or Over node; its arguments are columns of the input.

    :param arguments: indices of input columns. :param filter: index of a BOOLEAN column, or None.
    :param literals: constant arguments, such as the separator of LISTAGG or the offset of LAG.
    """

    function: str
    arguments: tuple[int, ...]
    type: DataType
    distinct: bool = False
    filter: int | None = None
    literals: tuple[Literal, ...] = ()
    order: tuple[Ordering, ...] = ()
    name: str = ""


def children(expression: Expression) -> tuple[Expression, ...]:
    return expression.operands if isinstance(expression, Call | SubQuery) else ()


def walk(expression: Expression) -> Iterator[Expression]:
    yield expression
    for child in children(expression):
        yield from walk(child)


def reads_watermark(expressions: Iterable[Expression]) -> bool:
    """Whether one of them calls CURRENT_WATERMARK, which is another one behind each mark."""
    return any(
        isinstance(e, Call) and e.function == "CURRENT_WATERMARK" for x in expressions for e in walk(x)
    )


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Apply *change* from the leaves to the root."""
    if isinstance(expression, Call | SubQuery):
        operands = tuple(rewrite(o, change) for o in expression.operands)
        if operands != expression.operands:
            expression = replace(expression, operands=operands)
    return change(expression)


def shift(expression: Expression, mapping: Callable[[int], int]) -> Expression:
    """The same expression over other column numbers."""
    return rewrite(expression, lambda e: replace(e, index=mapping(e.index)) if isinstance(e, InputRef) else e)


def substitute(expression: Expression, columns: Sequence[Expression]) -> Expression:
    """The expression with each column replaced by what computes it; columns of sub-queries too."""
    return rewrite(expression, lambda e: columns[e.index] if isinstance(e, InputRef) else e)


def identity(row: RowType) -> tuple[Expression, ...]:
    """Each column of a row, as it is."""
    return tuple(InputRef(i, t) for i, t in enumerate(row.types))


def references(expression: Expression) -> set[int]:
    """Which input columns an expression reads."""
    return {e.index for e in walk(expression) if isinstance(e, InputRef)}
