"""What can have no rows is an empty Values, and so is what stands above it; aggregates of nothing are a row.

A stream of nothing never has a row that would give a global aggregate its first result, so that COUNT(*) of
it would be nothing. Where the plan says that there are no rows the result is known, and is the row that a
database gives. (Flink: Calcite's ``PruneEmptyRules`` and ``AggregateValuesRule``, with the same calls.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final

from firesteel.sql.expressions import Call, Expression, InputRef, Literal
from firesteel.sql.logical import (
    Aggregate,
    Filter,
    Join,
    Node,
    Project,
    SetOperation,
    Sort,
    Values,
    WatermarkAssigner,
)
from firesteel.sql.rules.conditions import conjuncts, is_false
from firesteel.sql.rules.trees import transform

__all__ = ["prune_empty_inputs"]

#: What an aggregate gives for no rows. Those of other aggregates are made where they run.
_OF_NOTHING: Final[dict[str, int | None]] = {
    "COUNT": 0,
    "SUM0": 0,
    "$SUM0": 0,
    "SUM": None,
    "AVG": None,
    "MIN": None,
    "MAX": None,
}


def prune_empty_inputs(plan: Node) -> Node:
    return transform(plan, lambda node: _CHANGES.get(type(node), _same)(node))


def _same(node: Any) -> Node:
    kept: Node = node
    return kept


def _nothing(node: Node) -> Node:
    return Values(row=node.row, rows=())


def _is_empty(node: Node) -> bool:
    return isinstance(node, Values) and not node.rows


def _over_one(node: Project | WatermarkAssigner) -> Node:
    return _nothing(node) if _is_empty(node.input) else node


def _filter(node: Filter) -> Node:
    return _nothing(node) if _is_empty(node.input) or _contradicts(node.condition) else node


def _sort(node: Sort) -> Node:
    return _nothing(node) if _is_empty(node.input) or node.fetch == 0 else node


def _set_operation(node: SetOperation) -> Node:
    return _nothing(node) if node.kind == "UNION" and all(map(_is_empty, node.operands)) else node


def _join(node: Join) -> Node:
    left, right = _is_empty(node.left), _is_empty(node.right)
    never = _contradicts(node.condition)
    empty = {
        "INNER": left or right or never,
        "SEMI": left or right or never,
        "LEFT": left,
        "ANTI": left,
        "RIGHT": right,
        "FULL": left and right,
    }
    return _nothing(node) if empty[node.kind] else node


def _aggregate(node: Aggregate) -> Node:
    if not _is_empty(node.input):
        return node
    if node.group:
        return _nothing(node)
    names = [call.function.upper() for call in node.calls]
    if not names or not all(name in _OF_NOTHING for name in names):
        return node
    values = [_OF_NOTHING[name] for name in names]
    row = tuple(Literal(v, call.type) for v, call in zip(values, node.calls, strict=True))
    return Values(row=node.row, rows=(row,))


_CHANGES: Final[dict[type[Node], Callable[[Any], Node]]] = {
    Project: _over_one,
    WatermarkAssigner: _over_one,
    Filter: _filter,
    Sort: _sort,
    SetOperation: _set_operation,
    Join: _join,
    Aggregate: _aggregate,
}


# ---- conditions that are never TRUE

_TURNED: Final = {
    "LESS_THAN": "GREATER_THAN",
    "LESS_THAN_OR_EQUAL": "GREATER_THAN_OR_EQUAL",
    "GREATER_THAN": "LESS_THAN",
    "GREATER_THAN_OR_EQUAL": "LESS_THAN_OR_EQUAL",
    "EQUALS": "EQUALS",
}
_STRICT: Final = ("NOT_EQUALS", "LESS_THAN", "GREATER_THAN")


def _contradicts(condition: Expression) -> bool:
    parts = conjuncts(condition)
    return any(map(is_false, parts)) or any(map(_is_never, parts)) or _leaves_no_number(parts)


def _is_never(part: Expression) -> bool:
    """Whether it asks a column to differ from itself."""
    if not isinstance(part, Call) or part.function not in _STRICT:
        return False
    left, right = part.operands
    return isinstance(left, InputRef) and left == right


def _leaves_no_number(parts: Sequence[Expression]) -> bool:
    """Whether no number is within all bounds that literals set to one column."""
    bounds: dict[Expression, list[tuple[str, Any]]] = {}
    for column, sign, value in _comparisons(parts):
        bounds.setdefault(column, []).append((sign, value))
    return any(map(_is_void, bounds.values()))


def _comparisons(parts: Iterable[Expression]) -> Iterable[tuple[Expression, str, Any]]:
    for part in parts:
        if not isinstance(part, Call) or part.function not in _TURNED:
            continue
        left, right = part.operands
        sign = part.function
        if isinstance(left, Literal):
            left, right, sign = right, left, _TURNED[sign]
        value = right.value if isinstance(left, InputRef) and isinstance(right, Literal) else None
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            yield left, sign, value


def _is_void(bounds: Sequence[tuple[str, Any]]) -> bool:
    lows = [(value, sign == "GREATER_THAN") for sign, value in bounds if sign[0] in "GE"]
    highs = [(value, sign == "LESS_THAN") for sign, value in bounds if sign[0] in "LE"]
    if not lows or not highs:
        return False
    low, excluded = max(lows)
    high = min(value for value, _ in highs)
    excluded = excluded or (high, True) in highs
    return bool(low > high or (low == high and excluded))
