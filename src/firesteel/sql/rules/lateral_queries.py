"""LATERAL queries become joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from firesteel.sql.expressions import Call, Expression, InputRef, Outer, identity, substitute
from firesteel.sql.logical import Correlate, Filter, Join, Node, Project, TableCall
from firesteel.sql.rules.conditions import conjunction, is_true
from firesteel.sql.rules.decorrelate import decorrelate, outwards
from firesteel.sql.rules.subqueries import _over_both
from firesteel.sql.rules.trees import transform
from firesteel.sql.types import RowType, unique

__all__ = ["lateral_queries_to_joins"]


def lateral_queries_to_joins(plan: Node) -> Node:
    """A Correlate is left where its right side is a table function only."""
    return transform(plan, _node)


def _node(node: Node) -> Node:
    if not isinstance(node, Correlate):
        return node
    if isinstance(node.right, TableCall):
        return node
    inner = node.right
    over_function = _chain(inner)
    if over_function is not None:
        return _over_function(node, *over_function)
    found = decorrelate(inner)
    width, wide = len(node.left.row.fields), len(inner.row.fields)
    own = [] if node.condition is None else [node.condition]
    right = outwards(found.node)
    nullable = node.kind == "LEFT"
    types = [*node.left.row.types, *(d.with_nullability(True) if nullable else d for d in right.row.types)]
    names = unique([*node.left.row.names, *right.row.names])
    made: Node = Join(
        row=RowType.of(names, types),
        left=node.left,
        right=right,
        kind=node.kind,
        condition=conjunction([*own, *_over_both(found.conditions, width)]),
        hints=node.hints,
    )
    refs = tuple(InputRef(i, made.row.types[i]) for i in range(width + wide))
    return Project(row=node.row, input=made, expressions=refs)


def _chain(node: Node) -> tuple[list[Project | Filter], TableCall] | None:
    """What stands over the call of a table function, outermost first; None: there is none, or more."""
    steps: list[Project | Filter] = []
    while isinstance(node, Project | Filter):
        steps.append(node)
        node = node.input
    return (steps, node) if isinstance(node, TableCall) else None


def _over_function(node: Correlate, steps: Sequence[Project | Filter], call: TableCall) -> Node:
    """What a query makes of a function's rows goes above the Correlate; what it keeps of them becomes the
    condition of an outer one."""
    left, width, outer = node.left.row, len(node.left.row.fields), node.kind == "LEFT"
    call = replace(call, arguments=tuple(_lifted(a, identity(left)) for a in call.arguments))
    rights = [d.with_nullability(True) if outer else d for d in call.row.types]
    row = RowType.of(unique([*left.names, *call.row.names]), [*left.types, *rights])
    made: list[Expression] = [InputRef(width + i, d) for i, d in enumerate(rights)]
    conditions: list[Expression] = []
    for step in reversed(steps):
        if isinstance(step, Filter):
            conditions.append(_lifted(step.condition, made))
        else:
            made = [_lifted(e, made) for e in step.expressions]
    every = (*(InputRef(i, d) for i, d in enumerate(left.types)), *made)
    if node.condition is not None and not is_true(node.condition):
        conditions.append(substitute(node.condition, every))
    joined = conjunction(conditions) if conditions else None
    lower: Node = Correlate(
        row=row,
        left=node.left,
        right=call,
        kind=node.kind,
        condition=joined if outer else None,
        hints=node.hints,
    )
    if joined is not None and not outer:
        lower = Filter(row=row, input=lower, condition=joined)
    return Project(row=node.row, input=lower, expressions=every)


def _lifted(expression: Expression, columns: Sequence[Expression]) -> Expression:
    """Of a query to the right of a Correlate, over the columns of both sides. :param columns: what its own
    references are there."""
    match expression:
        case Outer(level=1):
            return InputRef(expression.index, expression.type)
        case Outer():
            return replace(expression, level=expression.level - 1)
        case InputRef():
            return columns[expression.index]
        case Call():
            return replace(expression, operands=tuple(_lifted(o, columns) for o in expression.operands))
    return expression
