"""INTERSECT and EXCEPT become joins."""

from __future__ import annotations

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql.expressions import AggregateCall, Expression, InputRef, Literal, identity
from firesteel.sql.logical import Aggregate, Correlate, Filter, Join, Node, Project, SetOperation, TableCall
from firesteel.sql.rules.conditions import conjunction, predicate
from firesteel.sql.rules.trees import transform
from firesteel.sql.types import BigIntType, BooleanType, RowType

__all__ = ["set_operations_to_joins"]

_BIGINT = BigIntType(nullable=False)


def set_operations_to_joins(plan: Node) -> Node:
    """INTERSECT: a semi join, EXCEPT: an anti join, on equal rows (NULL equals NULL), without duplicates.
    With ALL: rows are counted, and repeated as often as they are to be there."""
    return transform(plan, _node)


def _node(node: Node) -> Node:
    if not isinstance(node, SetOperation) or node.kind == "UNION":
        return node
    made = node.operands[0]
    for operand in node.operands[1:]:
        made = _counted(node, made, operand) if node.all else _join(node, made, operand)
    if not node.all:
        every = tuple(range(len(node.row.fields)))
        made = Aggregate(row=_typed(made, node.row), input=made, group=every, calls=(), sets=(every,))
    return made


def _typed(node: Node, row: RowType) -> RowType:
    return RowType.of(row.names, node.row.types)


def _join(node: SetOperation, left: Node, right: Node) -> Node:
    width = len(left.row.fields)
    same = [
        predicate(
            "IS_NOT_DISTINCT_FROM", InputRef(i, left.row.types[i]), InputRef(width + i, right.row.types[i])
        )
        if left.row.types[i].nullable or right.row.types[i].nullable
        else predicate("EQUALS", InputRef(i, left.row.types[i]), InputRef(width + i, right.row.types[i]))
        for i in range(width)
    ]
    kind = "SEMI" if node.kind == "INTERSECT" else "ANTI"
    return Join(row=_typed(left, node.row), left=left, right=right, kind=kind, condition=conjunction(same))


def _counted(node: SetOperation, left: Node, right: Node) -> Node:
    """Each row with how often it is on each side; then as often as the operation says."""
    width = len(node.row.fields)
    if width == 0:
        raise UnsupportedFeatureError(f"{node.kind} ALL of rows without columns is not supported.")
    union = SetOperation(
        row=RowType.of([*node.row.names, "$left", "$right"], [*node.row.types, _BIGINT, _BIGINT]),
        operands=(_marked(node, left, 1, 0), _marked(node, right, 0, 1)),
        kind="UNION",
        all=True,
    )
    group = tuple(range(width))
    totals = Aggregate(
        row=union.row,
        input=union,
        group=group,
        calls=(AggregateCall("SUM", (width,), _BIGINT), AggregateCall("SUM", (width + 1,), _BIGINT)),
        sets=(group,),
    )
    a, b = InputRef(width, _BIGINT), InputRef(width + 1, _BIGINT)
    times = _least(a, b) if node.kind == "INTERSECT" else _call("MINUS", a, b)
    zero = Literal(0, _BIGINT)
    positive = predicate("GREATER_THAN", times, zero)
    kept = Filter(row=totals.row, input=totals, condition=positive)
    refs = identity(node.row)
    counted = Project(
        row=RowType.of([*node.row.names, "$times"], [*node.row.types, _BIGINT]),
        input=kept,
        expressions=(*refs, times),
    )
    repeated = TableCall(
        row=RowType.of(node.row.names, node.row.types),
        function="REPLICATE_ROWS",
        arguments=(InputRef(width, _BIGINT), *refs),
    )
    names = [*counted.row.names, *(f"{n}$" for n in node.row.names)]
    both = RowType.of(names, [*counted.row.types, *node.row.types])
    made = Correlate(row=both, left=counted, right=repeated)
    back = tuple(InputRef(width + 1 + i, d) for i, d in enumerate(node.row.types))
    return Project(row=RowType.of(node.row.names, node.row.types), input=made, expressions=back)


def _marked(node: SetOperation, side: Node, left: int, right: int) -> Node:
    row = RowType.of([*node.row.names, "$left", "$right"], [*side.row.types, _BIGINT, _BIGINT])
    marks = (Literal(left, _BIGINT), Literal(right, _BIGINT))
    return Project(row=row, input=side, expressions=(*identity(side.row), *marks))


def _call(name: str, a: Expression, b: Expression) -> Expression:
    from firesteel.sql.expressions import Call

    return Call(name, (a, b), _BIGINT)


def _least(a: Expression, b: Expression) -> Expression:
    from firesteel.sql.expressions import Call

    less = Call("LESS_THAN", (a, b), BooleanType(nullable=False))
    return Call("CASE", (less, a, b), _BIGINT)
