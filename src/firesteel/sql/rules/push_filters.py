"""Conditions go down to where their columns come from; into joins, under projections, to the Scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from firesteel.sql.expressions import Call, Expression, InputRef, references, shift, substitute
from firesteel.sql.logical import (
    Aggregate,
    Correlate,
    Filter,
    Join,
    Node,
    Over,
    Project,
    Scan,
    SetOperation,
    Snapshot,
    Sort,
    WindowTable,
)
from firesteel.sql.rules.conditions import conjunction, conjuncts, is_deterministic
from firesteel.sql.rules.trees import transform

__all__ = ["push_filters"]


def push_filters(plan: Node) -> Node:
    """Every Filter and every ON as far down as it means the same there."""
    return transform(plan, _node)


def _node(node: Node) -> Node:
    if isinstance(node, Filter):
        return _push(node.input, conjuncts(node.condition))
    if isinstance(node, Join):
        return _on(node)
    return node


def _filter(node: Node, parts: Sequence[Expression]) -> Node:
    if not parts:
        return node
    return Filter(row=node.row, input=node, condition=conjunction(parts))


def _push(node: Node, parts: list[Expression]) -> Node:
    """*node* with the conditions *parts* applied, inside of it where that may be."""
    if not parts:
        return node
    handler = _HANDLERS.get(type(node))
    return _filter(node, parts) if handler is None else handler(node, parts)


def _through_filter(node: Filter, parts: list[Expression]) -> Node:
    own = conjuncts(node.condition)
    return _push(node.input, [*own, *(p for p in parts if p not in own)])


def _through_project(node: Project, parts: list[Expression]) -> Node:
    passing, staying = [], []
    for part in parts:
        used = references(part)
        if all(is_deterministic(node.expressions[i]) for i in used) and is_deterministic(part):
            passing.append(substitute(part, node.expressions))
        else:
            staying.append(part)
    if not passing:
        return _filter(node, staying)
    return _filter(replace(node, input=_push(node.input, passing)), staying)


def _split(
    parts: list[Expression], inside: Callable[[Expression], bool]
) -> tuple[list[Expression], list[Expression]]:
    passing = [p for p in parts if inside(p)]
    return passing, [p for p in parts if p not in passing]


def _through_aggregate(node: Aggregate, parts: list[Expression]) -> Node:
    keys = len(node.group)
    one_set = len(node.sets) <= 1
    passing, staying = _split(
        parts, lambda p: one_set and keys > 0 and is_deterministic(p) and all(i < keys for i in references(p))
    )
    if not passing:
        return _filter(node, staying)
    below = [shift(p, lambda i: node.group[i]) for p in passing]
    return _filter(replace(node, input=_push(node.input, below)), staying)


def _through_over(node: Over, parts: list[Expression]) -> Node:
    shared = set(node.calls[0].partition).intersection(*(c.partition for c in node.calls[1:]))
    passing, staying = _split(
        parts, lambda p: is_deterministic(p) and bool(references(p)) and references(p) <= shared
    )
    if not passing:
        return _filter(node, staying)
    return _filter(replace(node, input=_push(node.input, passing)), staying)


def _through_window(node: WindowTable, parts: list[Expression]) -> Node:
    width = len(node.input.row.fields)
    allowed = set(node.partition) if node.kind == "SESSION" else set(range(width))
    passing, staying = _split(parts, lambda p: is_deterministic(p) and references(p) <= allowed)
    if not passing:
        return _filter(node, staying)
    return _filter(replace(node, input=_push(node.input, passing)), staying)


def _through_set(node: SetOperation, parts: list[Expression]) -> Node:
    passing, staying = _split(parts, is_deterministic)
    if not passing:
        return _filter(node, staying)
    operands = tuple(_push(o, list(passing)) for o in node.operands)
    return _filter(replace(node, operands=operands), staying)


def _through_sort(node: Sort, parts: list[Expression]) -> Node:
    if node.fetch is not None or node.offset:
        return _filter(node, parts)
    return replace(node, input=_push(node.input, parts))


def _through_correlate(node: Correlate, parts: list[Expression]) -> Node:
    width = len(node.left.row.fields)
    passing, staying = _split(
        parts, lambda p: is_deterministic(p) and bool(references(p)) and max(references(p)) < width
    )
    if not passing:
        return _filter(node, staying)
    return _filter(replace(node, left=_push(node.left, passing)), staying)


def _into_scan(node: Scan, parts: list[Expression]) -> Node:
    fit = tuple(p for p in parts if is_deterministic(p) and references(p))
    known = (*node.predicates, *(p for p in fit if p not in node.predicates))
    return _filter(replace(node, predicates=known), parts)


# ---- joins


def _through_join(node: Join, parts: list[Expression]) -> Node:
    node = _without_outer(node, parts)
    width = len(node.left.row.fields)
    left, right, both, above = [], [], [], []
    keeps_left = node.kind in ("INNER", "LEFT", "SEMI", "ANTI")
    keeps_right = node.kind in ("INNER", "RIGHT") and not isinstance(node.right, Snapshot)
    for part in parts:
        used = references(part)
        if not is_deterministic(part) or not used:
            above.append(part)
        elif max(used) < width and keeps_left:
            left.append(part)
        elif min(used) >= width and keeps_right:
            right.append(shift(part, lambda i: i - width))
        elif node.kind == "INNER":
            both.append(part)
        else:
            above.append(part)
    if both:
        own = conjuncts(node.condition)
        node = replace(node, condition=conjunction([*own, *(b for b in both if b not in own)]))
    if left or right:
        node = replace(node, left=_push(node.left, left), right=_push(node.right, right))
    return _filter(node, above)


def _without_outer(node: Join, parts: Sequence[Expression]) -> Join:
    """An outer join whose made-up rows a condition drops is none."""
    width = len(node.left.row.fields)
    rejects_left = any(_rejects_nulls(p, lambda i: i < width) for p in parts)
    rejects_right = any(_rejects_nulls(p, lambda i: i >= width) for p in parts)
    kind = node.kind
    if (kind == "LEFT" and rejects_right) or (kind == "RIGHT" and rejects_left):
        kind = "INNER"
    elif kind == "FULL" and (rejects_left or rejects_right):
        kind = "INNER" if rejects_left and rejects_right else "LEFT" if rejects_left else "RIGHT"
    return node if kind == node.kind else replace(node, kind=kind)


#: Functions that give NULL where an argument is NULL.
_STRICT: Final = frozenset(
    {
        *("EQUALS", "NOT_EQUALS", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL"),
        *("PLUS", "MINUS", "TIMES", "DIVIDE", "MOD", "LIKE", "NOT", "CAST", "MINUS_PREFIX", "SIMILAR"),
    }
)


def _rejects_nulls(part: Expression, of_side: Callable[[int], bool]) -> bool:
    """Whether the condition is not TRUE where all columns of a side are NULL."""
    if not isinstance(part, Call):
        return isinstance(part, InputRef) and of_side(part.index)
    if part.function in ("IS_NOT_NULL", "IS_TRUE"):
        return _null_with(part.operands[0], of_side)
    if part.function == "OR":
        return all(_rejects_nulls(o, of_side) for o in part.operands)
    if part.function == "AND":
        return any(_rejects_nulls(o, of_side) for o in part.operands)
    return _null_with(part, of_side)


def _null_with(expression: Expression, of_side: Callable[[int], bool]) -> bool:
    if isinstance(expression, InputRef):
        return of_side(expression.index)
    if isinstance(expression, Call) and expression.function in _STRICT:
        return any(_null_with(o, of_side) for o in expression.operands)
    return False


def _on(node: Join) -> Node:
    """Parts of ON that are about one side only."""
    width = len(node.left.row.fields)
    left, right, kept = [], [], []
    for part in conjuncts(node.condition):
        used = references(part)
        if not used or not is_deterministic(part):
            kept.append(part)
        elif (
            max(used) < width
            and node.kind in ("INNER", "RIGHT", "SEMI")
            and not isinstance(node.right, Snapshot)
        ):
            left.append(part)
        elif (
            min(used) >= width
            and node.kind in ("INNER", "LEFT", "SEMI", "ANTI")
            and not isinstance(node.right, Snapshot)
        ):
            right.append(shift(part, lambda i: i - width))
        else:
            kept.append(part)
    if not left and not right:
        return node
    return replace(
        node, left=_push(node.left, left), right=_push(node.right, right), condition=conjunction(kept)
    )


_HANDLERS: Final[dict[type[Node], Callable[[Any, list[Expression]], Node]]] = {
    Filter: _through_filter,
    Project: _through_project,
    Aggregate: _through_aggregate,
    Over: _through_over,
    WindowTable: _through_window,
    SetOperation: _through_set,
    Sort: _through_sort,
    Correlate: _through_correlate,
    Join: _through_join,
    Scan: _into_scan,
}
