"""Calls over windows of rows in the Table API."""

from __future__ import annotations

from typing import Any

from firesteel.sql import types as t
from firesteel.sql.binder.aggregates import Term
from firesteel.sql.binder.over import OVER, PendingOver
from firesteel.sql.expressions import Expression, InputRef, Literal
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.table import _tree as tree

__all__ = ["over_call"]


def over_call(resolver: Any, node: tree.OverRef) -> Expression:
    """A call over the window that a name means; noted in the resolver, numbered from ``OVER``."""
    window = node.window
    name = window.name if isinstance(window, tree.Column) else getattr(window, "value", None)
    parts = resolver.over_windows.get(name)
    if parts is None:
        raise SqlValidationError(
            f"There is no over-window {name!r}.", hint="name it with alias() and pass it to over_window()"
        )
    call = node.operand
    if not isinstance(call, tree.FunctionCall):
        raise SqlValidationError("over() is for the call of an aggregate.")
    definition = resolver.definition(call)
    if definition is None:
        raise SqlValidationError(f"There is no aggregate {call.function!r}.")
    pending = resolver.pending(call, definition, grouped=True)
    partition = tuple(resolver.resolve(p) for p in parts.partition)
    order = _order(resolver, parts.order)
    rows, preceding = _preceding(resolver, parts.preceding)
    following = 0
    if isinstance(parts.following, tree.Mark) and parts.following.value not in (
        "CURRENT_ROW",
        "CURRENT_RANGE",
    ):
        raise SqlValidationError(
            "An over-window ends with the row: following is CURRENT_ROW or CURRENT_RANGE."
        )
    made = PendingOver(pending, partition, order, rows, preceding, following)
    if made not in resolver.overs:
        resolver.overs.append(made)
    return InputRef(OVER + resolver.overs.index(made), pending.type)


def _order(resolver: Any, node: tree.Tree | None) -> tuple[Term, ...]:
    if node is None:
        return ()
    ascending = True
    if isinstance(node, tree.Ordered):
        ascending = node.ascending
        node = node.operand
    if isinstance(node, tree.WindowProperty):
        node = node.operand
    return (Term(resolver.resolve(node), ascending, ascending),)


def _preceding(resolver: Any, node: tree.Tree | None) -> tuple[bool, int | None]:
    """Whether rows are counted, and how many of them, or milliseconds, there are before; None: all."""
    if node is None:
        return False, None
    if isinstance(node, tree.Mark):
        if node.value == "UNBOUNDED_ROW":
            return True, None
        if node.value == "UNBOUNDED_RANGE":
            return False, None
        return node.value == "CURRENT_ROW", 0
    if isinstance(node, tree.RowInterval):
        return True, node.rows
    from firesteel.sql.rules.constants import folded

    bound = folded(resolver.resolve(node))
    if isinstance(bound, Literal):
        if isinstance(bound.type, t.DayTimeIntervalType):
            return False, int(bound.value)
        if isinstance(bound.type, t.IntType | t.BigIntType):
            return True, int(bound.value)
    raise SqlValidationError(
        "preceding() takes an interval, a number of rows, or UNBOUNDED_RANGE or UNBOUNDED_ROW."
    )
