"""Sub-queries in expressions become joins: EXISTS and IN semi or anti joins, others columns of left joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql.expressions import (
    AggregateCall,
    Call,
    Expression,
    InputRef,
    Literal,
    Outer,
    SubQuery,
    identity,
    rewrite,
    shift,
    substitute,
)
from firesteel.sql.logical import Aggregate, Filter, Join, Node, Project, Sort, Values
from firesteel.sql.rules.conditions import (
    FALSE,
    TRUE,
    conjunction,
    conjuncts,
    disjunction,
    equals,
    has_subquery,
    predicate,
)
from firesteel.sql.rules.decorrelate import Decorrelated, _keyed, _with_columns, decorrelate, outwards
from firesteel.sql.rules.expressions_of import expressions_of
from firesteel.sql.rules.fold_constants import simplified
from firesteel.sql.rules.trees import transform
from firesteel.sql.types import BigIntType, BooleanType, RowType, unique

__all__ = ["subqueries_to_joins"]

_BIGINT = BigIntType(nullable=False)


def subqueries_to_joins(plan: Node) -> Node:
    """The plan without ``SubQuery``.

    :raises UnsupportedFeatureError: one stands where no join says the same.
    """
    return transform(plan, _node)


def _node(node: Node) -> Node:
    if not any(has_subquery(e) for e in expressions_of(node)):
        return node
    match node:
        case Filter():
            return _filter(node)
        case Project():
            return _project(node)
        case Join() if node.kind == "INNER":
            parts = conjuncts(node.condition)
            own = [p for p in parts if not has_subquery(p)]
            join = replace(node, condition=conjunction(own))
            rest = conjunction(p for p in parts if has_subquery(p))
            return _filter(Filter(row=join.row, input=join, condition=rest))
        case _:
            raise UnsupportedFeatureError(
                f"A sub-query in {_place(node)} is not supported.", hint="put its condition into WHERE"
            )


def _place(node: Node) -> str:
    return "the ON clause of an outer join" if isinstance(node, Join) else type(node).__name__


# ---- conditions


def _filter(node: Filter) -> Node:
    made = node.input
    width = len(made.row.fields)
    kept: list[Expression] = []
    for part in conjuncts(node.condition):
        joined = _as_join(made, part)
        if joined is not None:
            made = joined
        else:
            made, part = _valued(made, part)
            kept.append(part)
    if kept:
        made = Filter(row=made.row, input=made, condition=conjunction(kept))
    if len(made.row.fields) == width and made.row == node.row:
        return made
    return Project(row=node.row, input=made, expressions=identity(node.row))


def _as_join(left: Node, part: Expression) -> Node | None:
    """The semi or anti join that a condition means by itself."""
    negated = False
    while isinstance(part, Call) and part.function in ("NOT", "IS_TRUE", "IS_NOT_TRUE", "IS_FALSE"):
        if part.function in ("IS_NOT_TRUE", "IS_FALSE") and not _is_two_valued(part.operands[0]):
            return None
        negated ^= part.function != "IS_TRUE"
        part = part.operands[0]
    if not isinstance(part, SubQuery) or part.kind == "SCALAR":
        return None
    if any(has_subquery(o) for o in part.operands):
        left_valued, operands = _all_valued(left, part.operands)
        made = _semi(left_valued, replace(part, operands=operands), negated)
        return Project(row=left.row, input=made, expressions=identity(left.row))
    return _semi(left, part, negated)


def _is_two_valued(expression: Expression) -> bool:
    return not expression.type.nullable


def _semi(left: Node, query: SubQuery, negated: bool) -> Node:
    inner = decorrelate(subqueries_to_joins(query.plan))
    width = len(left.row.fields)
    own: list[Expression] = []
    anti = negated
    if query.kind.startswith("ALL_"):
        anti = not negated  # all: there is none for which it is not so
    for i, operand in enumerate(query.operands):
        column = InputRef(width + i, inner.node.row.types[i])
        own.append(_compared(query.kind, operand, column, negated))
    condition = conjunction([*own, *_over_both(inner.conditions, width)])
    return Join(
        row=left.row,
        left=left,
        right=outwards(inner.node),
        kind="ANTI" if anti else "SEMI",
        condition=condition,
    )


def _compared(kind: str, operand: Expression, column: Expression, negated: bool) -> Expression:
    if kind == "IN":
        equal = equals(operand, column)
        if not negated:
            return equal
        nulls = [predicate("IS_NULL", e) for e in (operand, column) if e.type.nullable]
        return disjunction([*nulls, equal])
    quantifier, _, function = kind.partition("_")
    compared = Call(
        function, (operand, column), BooleanType(nullable=operand.type.nullable or column.type.nullable)
    )
    if quantifier == "SOME":
        return compared if not negated else predicate("IS_NOT_FALSE", compared)
    return predicate("IS_FALSE" if negated else "IS_NOT_TRUE", compared)


def _over_both(conditions: Sequence[Expression], width: int) -> list[Expression]:
    """Conditions of a sub-query over the columns of the left input and, behind them, its own."""

    def change(e: Expression) -> Expression:
        if isinstance(e, Outer):
            return InputRef(e.index, e.type) if e.level == 1 else replace(e, level=e.level - 1)
        return e

    return [rewrite(shift(c, lambda i: i + width), change) for c in conditions]


# ---- values


def _project(node: Project) -> Node:
    made, expressions = _all_valued(node.input, node.expressions)
    return replace(node, input=made, expressions=expressions)


def _all_valued(node: Node, expressions: Sequence[Expression]) -> tuple[Node, tuple[Expression, ...]]:
    made = []
    for expression in expressions:
        node, value = _valued(node, expression)
        made.append(value)
    return node, tuple(made)


def _valued(node: Node, expression: Expression) -> tuple[Node, Expression]:
    """*node* with columns behind its own, and the expression over them without sub-queries."""
    if isinstance(expression, SubQuery):
        node, operands = _all_valued(node, expression.operands)
        return _column(node, replace(expression, operands=operands))
    if isinstance(expression, Call) and has_subquery(expression):
        node, operands = _all_valued(node, expression.operands)
        return node, replace(expression, operands=operands)
    return node, expression


def _column(left: Node, query: SubQuery) -> tuple[Node, Expression]:
    if query.kind.startswith("ALL_"):
        return _all_of(left, query)
    inner = decorrelate(subqueries_to_joins(query.plan))
    if query.kind == "SCALAR":
        return _scalar(left, query, inner)
    if query.kind == "EXISTS":
        return _exists(left, inner, query)
    if query.kind == "IN":
        return _in(left, inner, query)
    return _refuse(query)


def _refuse(query: SubQuery) -> NoReturn:
    quantifier, _, function = query.kind.partition("_")
    raise UnsupportedFeatureError(
        f"A comparison with {quantifier} of a sub-query is not supported here.",
        hint="compare with the MIN or the MAX of the sub-query",
        detail=function,
    )


def _all_of(left: Node, query: SubQuery) -> tuple[Node, Expression]:
    """``a > ALL (q)``: not ``a <= SOME (q)``."""
    inverse = {
        "EQUALS": "NOT_EQUALS",
        "LESS_THAN": "GREATER_THAN_OR_EQUAL",
        "LESS_THAN_OR_EQUAL": "GREATER_THAN",
        "GREATER_THAN": "LESS_THAN_OR_EQUAL",
        "GREATER_THAN_OR_EQUAL": "LESS_THAN",
    }[query.kind.removeprefix("ALL_")]
    return _column(left, replace(query, kind=f"SOME_{inverse}"))


def _left_join(left: Node, right: Node, condition: Expression) -> Node:
    types = [*left.row.types, *(d.with_nullability(True) for d in right.row.types)]
    row = RowType.of(unique([*left.row.names, *right.row.names]), types)
    return Join(row=row, left=left, right=outwards(right), kind="LEFT", condition=condition)


def _grouped(
    inner: Decorrelated,
    calls: Sequence[tuple[str, tuple[int, ...], BigIntType]],
    plan: Node,
    extra: Sequence[int] = (),
) -> tuple[Node, tuple[Expression, ...], int]:
    """An aggregate for each value of the correlated columns (and of *extra*): node, conditions, number of
    keys."""
    node, keys, conditions = _keyed(inner, plan)
    group = tuple(dict.fromkeys((*keys, *extra)))
    made_calls = tuple(AggregateCall(f, a, d, name=f"$c{i}") for i, (f, a, d) in enumerate(calls))
    names = unique([*(node.row.names[g] for g in group), *(c.name for c in made_calls)])
    types = [*(node.row.types[g] for g in group), *(c.type for c in made_calls)]
    row = RowType.of(names, types)
    made = Aggregate(row=row, input=node, group=group, calls=made_calls, sets=(tuple(range(len(group))),))
    positions = [group.index(k) for k in keys]
    moved = _with_columns(conditions, plan, positions, [row.types[p] for p in positions])
    return made, moved, len(group)


def _exists(left: Node, inner: Decorrelated, query: SubQuery) -> tuple[Node, Expression]:
    width = len(left.row.fields)
    right, conditions, keys = _grouped(inner, [("COUNT", (), _BIGINT)], query.plan)
    made = _left_join(left, right, conjunction(_over_both(conditions, width)))
    count = InputRef(width + keys, made.row.types[width + keys])
    if keys:
        return made, predicate("IS_NOT_NULL", count)
    positive = Call("GREATER_THAN", (count, Literal(0, _BIGINT)), BooleanType())
    return made, predicate("IS_TRUE", positive)


def _in(left: Node, inner: Decorrelated, query: SubQuery) -> tuple[Node, Expression]:
    columns = list(range(len(query.operands)))
    types = inner.node.row.types
    nullable = [types[i].nullable for i in columns]
    conditions_nullable = any(nullable) or any(o.type.nullable for o in query.operands)
    branches: list[Expression] = []
    width = len(left.row.fields)
    if conditions_nullable:
        calls = [("COUNT", (), _BIGINT), ("COUNT", tuple(columns), _BIGINT)]
        counts, conditions, keys = _grouped(inner, calls, query.plan)
        left = _left_join(left, counts, conjunction(_over_both(conditions, width)))
        total = InputRef(width + keys, left.row.types[width + keys])
        known = InputRef(width + keys + 1, left.row.types[width + keys + 1])
        empty = Call("EQUALS", (total, Literal(0, _BIGINT)), BooleanType())
        unknown = Literal(None, BooleanType())
        branches += [disjunction([predicate("IS_NULL", total), empty]), FALSE]
    new_width = len(left.row.fields)
    matches, conditions, keys = _grouped(inner, [("COUNT", (), _BIGINT)], query.plan, columns)
    group = matches.group if isinstance(matches, Aggregate) else ()
    equal = [
        equals(o, InputRef(new_width + group.index(i), matches.row.types[group.index(i)]))
        for i, o in zip(columns, query.operands, strict=True)
    ]
    made = _left_join(left, matches, conjunction([*equal, *_over_both(conditions, new_width)]))
    found = predicate("IS_NOT_NULL", InputRef(new_width + keys, made.row.types[new_width + keys]))
    if not conditions_nullable:
        return made, found
    branches += [found, TRUE]
    nulls = [predicate("IS_NULL", o) for o in query.operands if o.type.nullable]
    if nulls:
        branches += [disjunction(nulls), unknown]
    fewer = Call("LESS_THAN", (known, total), BooleanType())
    branches += [fewer, unknown, FALSE]
    return made, Call("CASE", tuple(branches), BooleanType())


# ---- scalars


def _scalar(left: Node, query: SubQuery, inner: Decorrelated) -> tuple[Node, Expression]:
    width = len(left.row.fields)
    if _is_single(query.plan):
        right, conditions = inner.node, inner.conditions
        if conditions:
            _keyed(inner, query.plan)  # which refuses what is no equation
        column = width
    else:
        node, keys, moved = _keyed(inner, query.plan)
        value_type = node.row.types[0].with_nullability(True)
        group = tuple(dict.fromkeys(keys))
        call = AggregateCall("SINGLE_VALUE", (0,), value_type, name="$value")
        names = unique([*(node.row.names[g] for g in group), "$value"])
        row = RowType.of(names, [*(node.row.types[g] for g in group), value_type])
        right = Aggregate(row=row, input=node, group=group, calls=(call,), sets=(tuple(range(len(group))),))
        positions = [group.index(k) for k in keys]
        conditions = _with_columns(moved, query.plan, positions, [row.types[p] for p in positions])
        column = width + len(group)
    made = _left_join(left, right, conjunction(_over_both(conditions, width)))
    value: Expression = InputRef(column, made.row.types[column])
    default = _value_of_nothing(query.plan) if conditions else None
    if default is not None:
        key = next(
            e
            for c in conditions
            for e in (c.operands if isinstance(c, Call) else ())
            if isinstance(e, InputRef)
        )
        missing = predicate("IS_NULL", InputRef(width + key.index, made.row.types[width + key.index]))
        value = Call("CASE", (missing, default, value), query.type)
    return made, value


def _is_single(plan: Node) -> bool:
    """Whether a plan gives at most one row (for each row outside)."""
    if isinstance(plan, Project | Filter):
        return _is_single(plan.input)
    if isinstance(plan, Aggregate):
        return not plan.group
    if isinstance(plan, Sort):
        return plan.fetch == 1 or _is_single(plan.input)
    return isinstance(plan, Values) and len(plan.rows) <= 1


def _value_of_nothing(plan: Node) -> Expression | None:
    """What an aggregate without rows gives; None: NULL."""
    if isinstance(plan, Project):
        below = _values_of_nothing(plan.input)
        if below is None:
            return None
        value = simplified(substitute(plan.expressions[0], below))
    else:
        values = _values_of_nothing(plan)
        if values is None:
            return None
        value = values[0]
    return None if isinstance(value, Literal) and value.value is None else value


def _values_of_nothing(plan: Node) -> list[Expression] | None:
    if isinstance(plan, Project):
        below = _values_of_nothing(plan.input)
        return None if below is None else [simplified(substitute(e, below)) for e in plan.expressions]
    if not isinstance(plan, Aggregate) or plan.group:
        return None
    return [
        Literal(0, c.type) if c.function == "COUNT" else Literal(None, c.type.with_nullability(True))
        for c in plan.calls
    ]
