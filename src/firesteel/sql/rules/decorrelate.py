"""A sub-query that reads the row outside becomes one that does not, and conditions that say which of its
rows are meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql.expressions import (
    AggregateCall,
    Call,
    Expression,
    InputRef,
    Literal,
    Ordering,
    Outer,
    SubQuery,
    identity,
    references,
    rewrite,
    shift,
    walk,
)
from firesteel.sql.logical import (
    Aggregate,
    Correlate,
    Filter,
    Join,
    Node,
    Over,
    OverCall,
    Project,
    Sort,
    WatermarkAssigner,
)
from firesteel.sql.rules.conditions import conjunction, conjuncts
from firesteel.sql.rules.expressions_of import expressions_of, map_expressions
from firesteel.sql.rules.trees import with_inputs
from firesteel.sql.types import BigIntType, RowType, unique

__all__ = ["Decorrelated", "decorrelate", "is_correlated", "outwards"]


@dataclass(frozen=True, slots=True)
class Decorrelated:
    """:param node: without ``Outer``; its first columns are those of the sub-query.
    :param conditions: over its columns, with ``Outer`` of level 1 for the row outside.
    """

    node: Node
    conditions: tuple[Expression, ...]


def is_correlated(plan: Node) -> bool:
    """Whether a plan reads a row outside."""
    for expression in expressions_of(plan):
        for part in walk(expression):
            if isinstance(part, Outer) or (isinstance(part, SubQuery) and _reaches(part.plan, 2)):
                return True
    inputs = [*plan.inputs, plan.right] if isinstance(plan, Correlate) else plan.inputs
    return any(is_correlated(i) for i in inputs)


def _reaches(plan: Node, level: int) -> bool:
    for expression in expressions_of(plan):
        for part in walk(expression):
            if isinstance(part, Outer) and part.level >= level:
                return True
            if isinstance(part, SubQuery) and _reaches(part.plan, level + 1):
                return True
    return any(_reaches(i, level) for i in plan.inputs)


def outwards(plan: Node) -> Node:
    """The plan one scope further outwards: its references to rows outside are to rows one step nearer."""

    def change(e: Expression) -> Expression:
        return replace(e, level=e.level - 1) if isinstance(e, Outer) and e.level > 1 else e

    made = with_inputs(plan, [outwards(i) for i in plan.inputs])
    return map_expressions(made, lambda e: rewrite(e, change))


def decorrelate(plan: Node) -> Decorrelated:
    """:raises UnsupportedFeatureError: a row outside is read where no join can say the same."""
    if not is_correlated(plan):
        return Decorrelated(plan, ())
    handler = _HANDLERS.get(type(plan))
    if handler is None:
        _refuse(plan)
    return handler(plan)


def _refuse(plan: Node) -> NoReturn:
    raise UnsupportedFeatureError(
        f"A sub-query reads the row outside inside of {type(plan).__name__}, and no join says the same.",
        hint="write it as a join",
    )


def _reads_outer(expression: Expression) -> bool:
    return any(isinstance(e, Outer) and e.level == 1 for e in walk(expression))


def _filter(plan: Filter) -> Decorrelated:
    below = decorrelate(plan.input)
    parts = conjuncts(plan.condition)
    outer = [p for p in parts if _reads_outer(p)]
    own = [p for p in parts if not _reads_outer(p)]
    node = below.node
    if own:
        node = Filter(row=node.row, input=node, condition=conjunction(own))
    return Decorrelated(node, (*below.conditions, *outer))


def _extended(
    node: Node, expressions: Sequence[Expression], names: Sequence[str], conditions: Sequence[Expression]
) -> tuple[Node, tuple[Expression, ...]]:
    """A Project with *expressions* first and, behind them, the columns of *node* that *conditions* read."""
    made = list(expressions)
    place: dict[int, int] = {}
    for index in sorted({i for c in conditions for i in references(c)}):
        ref = InputRef(index, node.row.types[index])
        if ref in made:
            place[index] = made.index(ref)
        else:
            place[index] = len(made)
            made.append(ref)
    extra = [node.row.names[e.index] for e in made[len(expressions) :] if isinstance(e, InputRef)]
    row = RowType.of(unique([*names, *extra]), [e.type for e in made])
    project = Project(row=row, input=node, expressions=tuple(made))
    return project, tuple(shift(c, lambda i: place[i]) for c in conditions)


def _project(plan: Project) -> Decorrelated:
    if any(_reads_outer(e) for e in plan.expressions):
        _refuse(plan)
    below = decorrelate(plan.input)
    node, conditions = _extended(below.node, plan.expressions, plan.row.names, below.conditions)
    return Decorrelated(node, conditions)


def equalities(conditions: Sequence[Expression], plan: Node) -> list[tuple[Expression, Expression]]:
    """Pairs (of the row outside, of the sub-query), where all conditions are equations of the two."""
    pairs = []
    for condition in conditions:
        if not isinstance(condition, Call) or condition.function not in ("EQUALS", "IS_NOT_DISTINCT_FROM"):
            _refuse(plan)
        a, b = condition.operands
        if _reads_outer(b) and not references(b) and not _reads_outer(a):
            a, b = b, a
        if not _reads_outer(a) or references(a) or _reads_outer(b):
            _refuse(plan)
        pairs.append((a, b))
    return pairs


def _keyed(below: Decorrelated, plan: Node) -> tuple[Node, list[int], tuple[Expression, ...]]:
    """What stands on the inner side of the equations as columns: node, those columns, the conditions over
    them."""
    pairs = equalities(below.conditions, plan)
    node = below.node
    expressions: list[Expression] = list(identity(node.row))
    keys = []
    for _, inner in pairs:
        if inner not in expressions:
            expressions.append(inner)
        keys.append(expressions.index(inner))
    if len(expressions) > len(node.row.fields):
        names = unique([*node.row.names, *(f"$k{i}" for i in range(len(expressions) - len(node.row.fields)))])
        row = RowType.of(names, [e.type for e in expressions])
        node = Project(row=row, input=node, expressions=tuple(expressions))
    return node, keys, below.conditions


def _with_columns(
    conditions: Sequence[Expression], plan: Node, columns: Sequence[int], types: Sequence[Any]
) -> tuple[Expression, ...]:
    """The equations with the inner sides as the columns of a finished node."""
    made = []
    for condition, (outer, _), column, data_type in zip(
        conditions, equalities(conditions, plan), columns, types, strict=True
    ):
        assert isinstance(condition, Call)
        made.append(replace(condition, operands=(outer, InputRef(column, data_type))))
    return tuple(made)


def _aggregate(plan: Aggregate) -> Decorrelated:
    below = decorrelate(plan.input)
    if not below.conditions:
        return Decorrelated(replace(plan, input=below.node), ())
    if len(plan.sets) > 1:
        _refuse(plan)
    node, keys, conditions = _keyed(below, plan)
    added = [k for k in dict.fromkeys(keys) if k not in plan.group]
    group = (*plan.group, *added)
    width, calls = len(plan.group), len(plan.calls)
    names = [*plan.row.names[:width], *(node.row.names[k] for k in added), *plan.row.names[width:]]
    types = [*plan.row.types[:width], *(node.row.types[k] for k in added), *plan.row.types[width:]]
    made: Node = Aggregate(
        row=RowType.of(unique(names), types),
        input=node,
        group=group,
        calls=plan.calls,
        sets=(tuple(range(len(group))),),
        hints=plan.hints,
    )
    order = [*range(width), *range(len(group), len(group) + calls), *range(width, len(group))]
    refs = tuple(InputRef(i, made.row.types[i]) for i in order)
    row = RowType.of([made.row.names[i] for i in order], [made.row.types[i] for i in order])
    made = Project(row=row, input=made, expressions=refs)
    position = {k: (plan.group.index(k) if k in plan.group else width + calls + added.index(k)) for k in keys}
    columns = [position[k] for k in keys]
    return Decorrelated(made, _with_columns(conditions, plan, columns, [made.row.types[c] for c in columns]))


def _sort(plan: Sort) -> Decorrelated:
    below = decorrelate(plan.input)
    if plan.fetch is None and not plan.offset:
        return below
    if not below.conditions:
        return Decorrelated(replace(plan, input=below.node), ())
    node, keys, conditions = _keyed(below, plan)
    bigint = BigIntType(nullable=False)
    order = plan.order or tuple(Ordering(k) for k in keys[:1])
    call = OverCall(AggregateCall("ROW_NUMBER", (), bigint), tuple(keys), order, True, None, 0)
    row = RowType.of(unique([*node.row.names, "$rank"]), [*node.row.types, bigint])
    over = Over(row=row, input=node, calls=(call,))
    rank = InputRef(len(node.row.fields), bigint)
    limits = []
    if plan.fetch is not None:
        limits.append(_compare("LESS_THAN_OR_EQUAL", rank, plan.offset + plan.fetch))
    if plan.offset:
        limits.append(_compare("GREATER_THAN", rank, plan.offset))
    kept: Node = Filter(row=row, input=over, condition=conjunction(limits))
    kept = Project(row=node.row, input=kept, expressions=identity(node.row))
    return Decorrelated(kept, _with_columns(conditions, plan, keys, [node.row.types[k] for k in keys]))


def _compare(function: str, rank: Expression, limit: int) -> Expression:
    from firesteel.sql.types import BooleanType

    return Call(function, (rank, Literal(limit, BigIntType(nullable=False))), BooleanType(nullable=False))


def _join(plan: Join) -> Decorrelated:
    left = decorrelate(plan.left)
    right = decorrelate(plan.right)
    if left.conditions and plan.kind not in ("INNER", "LEFT", "SEMI", "ANTI"):
        _refuse(plan)
    if right.conditions and plan.kind == "SEMI":
        return _join(_without_repeats(plan))
    if right.conditions and plan.kind not in ("INNER", "RIGHT"):
        _refuse(plan)
    on = conjuncts(plan.condition)
    outer = [p for p in on if _reads_outer(p)]
    if outer and plan.kind != "INNER":
        _refuse(plan)
    old_left, new_left = len(plan.left.row.fields), len(left.node.row.fields)
    old_right = len(plan.right.row.fields)

    def moved(index: int) -> int:
        return index if index < old_left else index - old_left + new_left

    condition = conjunction(shift(p, moved) for p in on if p not in outer)
    semi = plan.kind in ("SEMI", "ANTI")
    names = [*left.node.row.names, *(() if semi else right.node.row.names)]
    types = [*left.node.row.types, *(() if semi else right.node.row.types)]
    for i, field in enumerate(plan.row.fields):
        types[moved(i)] = field.data_type
    joined = Join(
        row=RowType.of(unique(names), types),
        left=left.node,
        right=right.node,
        kind=plan.kind,
        condition=condition,
        hints=plan.hints,
    )
    conditions = (
        *left.conditions,
        *(shift(c, lambda i: i + new_left) for c in right.conditions),
        *(shift(p, moved) for p in outer),
    )
    first = [*range(old_left), *(() if semi else (new_left + i for i in range(old_right)))]
    refs = [InputRef(i, joined.row.types[i]) for i in first]
    node, conditions = _extended(joined, refs, plan.row.names, conditions)
    return Decorrelated(node, conditions)


def _without_repeats(plan: Join) -> Join:
    """A semi join as an inner one, with a right side in which a left row finds at most one for each row
    outside."""
    width = len(plan.left.row.fields)
    right_columns: list[int] = []
    for part in conjuncts(plan.condition):
        sides = part.operands if isinstance(part, Call) and part.function == "EQUALS" else ()
        columns = [o.index - width for o in sides if isinstance(o, InputRef) and o.index >= width]
        others = [o for o in sides if references(o) and max(references(o)) < width]
        if len(columns) != 1 or len(others) != 1:
            _refuse(plan)
        right_columns += columns
    group = tuple(dict.fromkeys(right_columns))
    row = RowType.of([plan.right.row.names[i] for i in group], [plan.right.row.types[i] for i in group])
    distinct = Aggregate(row=row, input=plan.right, group=group, calls=(), sets=(tuple(range(len(group))),))
    condition = shift(plan.condition, lambda i: i if i < width else width + group.index(i - width))
    both = RowType.of(unique([*plan.row.names, *row.names]), [*plan.row.types, *row.types])
    return replace(plan, row=both, right=distinct, kind="INNER", condition=condition)


def _through(plan: Any) -> Decorrelated:
    """A node that passes its input's columns on, and more may come behind them."""
    below = decorrelate(plan.input)
    return Decorrelated(replace(plan, row=below.node.row, input=below.node), below.conditions)


def _over(plan: Over) -> Decorrelated:
    below = decorrelate(plan.input)
    if not below.conditions:
        return Decorrelated(replace(plan, input=below.node), ())
    node, keys, conditions = _keyed(below, plan)
    width, wide = len(plan.input.row.fields), len(node.row.fields)
    calls = tuple(replace(c, partition=tuple(dict.fromkeys((*c.partition, *keys)))) for c in plan.calls)
    names = unique([*node.row.names, *plan.row.names[width:]])
    over = Over(row=RowType.of(names, [*node.row.types, *plan.row.types[width:]]), input=node, calls=calls)
    order = [*range(width), *range(wide, wide + len(calls))]
    refs = [InputRef(i, over.row.types[i]) for i in order]
    inner = _with_columns(conditions, plan, keys, [node.row.types[k] for k in keys])
    made, moved = _extended(over, refs, plan.row.names, inner)
    return Decorrelated(made, moved)


_HANDLERS: Final[dict[type[Node], Callable[[Any], Decorrelated]]] = {
    Filter: _filter,
    Project: _project,
    Aggregate: _aggregate,
    Sort: _sort,
    Join: _join,
    Over: _over,
    WatermarkAssigner: _through,
}
