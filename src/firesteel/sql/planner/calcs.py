"""Projections and filters, merged where they follow each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from firesteel.sql import physical as p
from firesteel.sql.expressions import (
    Call,
    Expression,
    InputRef,
    Literal,
    identity,
    reads_watermark,
    references,
    substitute,
    walk,
)
from firesteel.sql.planner.conditions import and_, conjuncts
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.planner.time_attributes import typed_expression, typed_row
from firesteel.sql.types import RowType

__all__ = ["calc", "columns_of", "is_repeatable", "renamed", "select"]

# Nodes whose columns may be called as the query calls them.
_NAMED_FREELY = (
    p.GroupAggregate,
    p.WindowAggregate,
    p.GroupWindowAggregate,
    p.Join,
    p.Values,
    p.Rank,
    p.Limit,
)


def columns_of(expressions: Sequence[Expression]) -> tuple[int, ...] | None:
    """Which input columns they are; None: they are more than columns."""
    found = tuple(e.index for e in expressions if isinstance(e, InputRef))
    return found if len(found) == len(expressions) else None


def calc(
    context: PlannerContext,
    child: p.Physical,
    expressions: Sequence[Expression],
    row: RowType,
    condition: Expression | None = None,
    hints: Any = (),
) -> p.Physical:
    """The expressions of the rows of *child* for which *condition* holds."""
    condition = and_(conjuncts(condition))
    types = child.row.types
    row = typed_row(row, expressions, types)
    expressions = [typed_expression(e, types) for e in expressions]
    condition = None if condition is None else typed_expression(condition, types)
    if isinstance(child, p.ChangelogNormalize) and condition is not None:
        child, condition = into_normalize(context, child, condition)
    if isinstance(child, p.ChangelogNormalize) and reads_watermark(_given(expressions, condition)):
        child = replace(child, in_time=True)
    if isinstance(child, p.Calc) and _may_merge(context, child, expressions, condition):
        expressions = [substitute(e, child.expressions) for e in expressions]
        parts = [substitute(part, child.expressions) for part in conjuncts(condition)]
        condition = and_([*conjuncts(child.condition), *parts])
        child = child.input
    if condition is None and columns_of(expressions) == tuple(range(len(child.row.fields))):
        if row.names == child.row.names:
            return child
        if isinstance(child, _NAMED_FREELY):
            return renamed(child, row.names)
    return p.Calc(row=row, inputs=(child,), expressions=tuple(expressions), condition=condition, hints=hints)


def _given(expressions: Sequence[Expression], condition: Expression | None) -> list[Expression]:
    return [*expressions, *([] if condition is None else [condition])]


def into_normalize(
    context: PlannerContext, node: p.ChangelogNormalize, condition: Expression
) -> tuple[p.Physical, Expression | None]:
    """Filter where upserts become changes: by the key before it, by other columns in it
    (Flink: ``PushCalcPastChangelogNormalizeRule``). Returns the node and the condition that stays above."""
    key = set(node.key)
    below: list[Expression] = []
    inside: list[Expression] = conjuncts(node.condition)
    above: list[Expression] = []
    for part in conjuncts(condition):
        if not is_repeatable(context, part):
            above.append(part)
        elif references(part) <= key:
            below.append(part)
        else:
            inside.append(part)
    child = node.input
    if below and isinstance(child, p.Exchange):
        kept = calc(context, child.input, identity(child.row), child.row, and_(below))
        child = replace(child, inputs=(kept,))
    elif below:
        inside += below
    return replace(node, inputs=(child,), condition=and_(inside)), and_(above)


def is_repeatable(context: PlannerContext, expression: Expression) -> bool:
    """Whether it gives the same for the same row whenever it is asked."""
    for part in walk(expression):
        if isinstance(part, Call):
            definition = context.function(part.function)
            if definition is not None and (not definition.deterministic or definition.dynamic):
                return False
    return True


def select(context: PlannerContext, child: p.Physical, columns: Sequence[int], row: RowType) -> p.Physical:
    """Some columns, in an order."""
    types = child.row.types
    return calc(context, child, [InputRef(c, types[c]) for c in columns], row)


def renamed(node: p.Physical, names: Sequence[str]) -> p.Physical:
    fields = tuple(replace(f, name=n) for f, n in zip(node.row.fields, names, strict=True))
    return replace(node, row=replace(node.row, fields=fields))


def _may_merge(
    context: PlannerContext, child: p.Calc, expressions: Sequence[Expression], condition: Expression | None
) -> bool:
    """Whether nothing is computed twice that must not be, or that is dear."""
    above = [*expressions, *([] if condition is None else [condition])]
    uses = Counter(e.index for x in above for e in walk(x) if isinstance(e, InputRef))
    for index, expression in enumerate(child.expressions):
        if isinstance(expression, InputRef | Literal):
            continue
        calls = [e for e in walk(expression) if isinstance(e, Call)]
        once_only = any(context.is_once_only(c.function) for c in calls)
        if once_only and (uses[index] > 1 or (condition is not None and uses[index])):
            return False
    return True
