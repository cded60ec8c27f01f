"""Columns whose values only grow or only shrink from one update of a row to the next
(Flink: ``FlinkRelMdModifiedMonotonicity``)."""

from __future__ import annotations

from firesteel.sql import physical as p
from firesteel.sql.expressions import Call, InputRef

__all__ = ["direction"]


def direction(node: p.Physical, column: int) -> str | None:
    """ "constant", "increasing", "decreasing" or, where nothing is known, None."""
    if node.is_insert_only:
        return "constant"
    if isinstance(node, p.Exchange | p.WatermarkAssigner | p.MiniBatchAssigner | p.DropUpdateBefore):
        return direction(node.input, column)
    if isinstance(node, p.Calc):
        expression = node.expressions[column]
        if isinstance(expression, Call) and expression.function == "CAST":
            expression = expression.operands[0]
        return direction(node.input, expression.index) if isinstance(expression, InputRef) else None
    if isinstance(node, p.GroupAggregate):
        return _aggregate(node, column)
    return None


def _aggregate(node: p.GroupAggregate, column: int) -> str | None:
    if column < len(node.group):
        return "constant"
    if not node.input.is_insert_only:
        return None
    call = node.calls[column - len(node.group)]
    if call.function in ("COUNT", "MAX", "APPROX_COUNT_DISTINCT"):
        return "increasing"
    return "decreasing" if call.function == "MIN" else None
