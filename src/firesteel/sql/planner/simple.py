"""Projections, filters, values, unions, correlates: nodes that look at one row at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.sql import logical as l, physical as p
from firesteel.sql.expressions import Expression, InputRef, Literal, identity, substitute
from firesteel.sql.planner import ranks
from firesteel.sql.planner.calcs import calc
from firesteel.sql.planner.conditions import is_true
from firesteel.sql.planner.errors import unsupported, wrong
from firesteel.sql.planner.exchanges import exchange
from firesteel.sql.planner.time_attributes import LOST_TIME, check_union
from firesteel.sql.types import RowType, TimeAttribute, attribute_of, unique

if TYPE_CHECKING:
    from firesteel.sql.planner.builder import Planner

__all__ = ["correlate", "filter_", "match", "project", "set_operation", "table_call", "values"]


def values(planner: Planner, node: l.Values) -> p.Physical:
    return p.Values(row=node.row, rows=node.rows)


def project(planner: Planner, node: l.Project) -> p.Physical:
    ranked = ranks.project_of_rank(planner, node)
    if ranked is not None:
        return ranked
    child = planner.plan(node.input)
    return calc(planner.context, child, node.expressions, node.row, hints=node.hints)


def filter_(planner: Planner, node: l.Filter) -> p.Physical:
    ranked = ranks.filter_of_rank(planner, node)
    if ranked is not None:
        return ranked
    child = planner.plan(node.input)
    if isinstance(node.condition, Literal) and node.condition.value in (False, None):
        return p.Values(row=node.row, rows=())
    return calc(planner.context, child, identity(child.row), node.row, node.condition)


def set_operation(planner: Planner, node: l.SetOperation) -> p.Physical:
    inputs = tuple(planner.plan(operand) for operand in node.operands)
    if node.kind == "UNION":
        if not planner.context.batch:
            check_union(inputs, node.place)
        union: p.Physical = p.Union(row=node.row, inputs=inputs)
        if node.all:
            return union
        every = tuple(range(len(node.row.fields)))
        return p.GroupAggregate(
            row=node.row,
            inputs=(exchange(union, every),),
            group=every,
            calls=(),
            ttl_ms=planner.context.ttl_ms,
        )
    raise unsupported(f"{node.kind}{' ALL' if node.all else ''} has not been made a join")


def correlate(planner: Planner, node: l.Correlate) -> p.Physical:
    child = planner.plan(node.left)
    width = len(child.row.fields)
    call, projection = _call_of(node.right)
    condition = None if node.condition is None or is_true(node.condition) else node.condition
    nullable = node.kind == "LEFT"
    rights = [t.with_nullability(True) if nullable else t for t in call.row.types]
    full = RowType.of(unique([*child.row.names, *call.row.names]), [*child.row.types, *rights])
    below = [InputRef(width + i, t) for i, t in enumerate(rights)]
    right = list(below) if projection is None else [substitute(e, below) for e in projection]
    every: list[Expression] = [*identity(child.row), *right]
    if condition is not None:
        condition = substitute(condition, every)
    made: p.Physical = p.Correlate(
        row=full,
        inputs=(child,),
        function=call.function,
        arguments=call.arguments,
        kind=node.kind,
        condition=condition,
        hints=node.hints,
    )
    return calc(planner.context, made, every, node.row)


def _call_of(node: l.Node) -> tuple[l.TableCall, list[Expression] | None]:
    """The call of a table function, and what Projects over it make of its columns."""
    projects: list[l.Project] = []
    while isinstance(node, l.Project):
        projects.append(node)
        node = node.input
    if not isinstance(node, l.TableCall):
        raise unsupported(f"A lateral join with {type(node).__name__} on its right has not been made a join.")
    if not projects:
        return node, None
    expressions: list[Expression] = list(identity(node.row))
    for step in reversed(projects):
        expressions = [substitute(e, expressions) for e in step.expressions]
    return node, expressions


def table_call(planner: Planner, node: l.TableCall) -> p.Physical:
    """A table function alone: for one row without columns."""
    one = p.Values(row=RowType(nullable=False), rows=((),))
    return p.Correlate(row=node.row, inputs=(one,), function=node.function, arguments=node.arguments)


def match(planner: Planner, node: l.Match) -> p.Physical:
    child = planner.plan(node.input)
    time = child.row.types[node.specification.order[0].index]
    if not planner.context.batch and attribute_of(time) == TimeAttribute.NONE:
        raise wrong(
            "You must specify either rowtime or proctime for order by as the first one.",
            hint=LOST_TIME,
            place=node.place,
        )
    partition = tuple(getattr(node.specification, "partition", ()))
    return p.Match(
        row=node.row,
        inputs=(exchange(child, partition),),
        specification=node.specification,
        partition=partition,
    )
