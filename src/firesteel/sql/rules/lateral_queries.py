"""LATERAL queries become joins."""

from __future__ import annotations

from firesteel.sql.expressions import InputRef
from firesteel.sql.logical import Correlate, Join, Node, Project, TableCall
from firesteel.sql.rules.conditions import conjunction
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
    if isinstance(inner, Project) and isinstance(inner.input, TableCall):
        return _over_function(node, inner)
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


def _over_function(node: Correlate, inner: Project) -> Node:
    """Projections of a function's columns go above the Correlate."""
    from firesteel.sql.expressions import shift

    call = inner.input
    width = len(node.left.row.fields)
    types = [*node.left.row.types, *call.row.types]
    if node.kind == "LEFT":
        types[width:] = [d.with_nullability(True) for d in types[width:]]
    row = RowType.of(unique([*node.left.row.names, *call.row.names]), types)
    lower = Correlate(row=row, left=node.left, right=call, kind=node.kind, hints=node.hints)
    refs = tuple(InputRef(i, row.types[i]) for i in range(width))
    moved = tuple(shift(e, lambda i: i + width) for e in inner.expressions)
    made: Node = Project(row=node.row, input=lower, expressions=(*refs, *moved))
    if node.condition is not None:
        from firesteel.sql.logical import Filter

        made = Filter(row=node.row, input=made, condition=node.condition)
    return made
