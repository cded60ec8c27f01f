"""Which columns of a stream still have a time attribute (Flink: ``RelTimeIndicatorConverter``)."""

from __future__ import annotations

from typing import Final

from firesteel.sql import physical as p
from firesteel.sql.expressions import InputRef
from firesteel.sql.types import is_proctime, is_rowtime

__all__ = ["LOST_TIME", "has_lost_time"]

LOST_TIME: Final = (
    "a regular join or a GROUP BY gives rows of any time: use an interval or temporal join or a window below "
    "it, or batch mode"
)

#: Their rows begin with the columns of their (left) input.
_BEGIN_WITH_INPUT: Final = (
    p.Exchange,
    p.Rank,
    p.SortLimit,
    p.Limit,
    p.TemporalSort,
    p.OverAggregate,
    p.WindowTableFunction,
    p.Correlate,
    p.IntervalJoin,
    p.TemporalJoin,
    p.LookupJoin,
)


def has_lost_time(node: p.Physical, column: int) -> bool:
    """Whether the column has a time attribute by its type, and a regular join or a GROUP BY lies between it
    and where it has it from. What these give comes at any time: watermarks say nothing of it.
    """
    data_type = node.row.types[column]
    if not is_rowtime(data_type) and not is_proctime(data_type):
        return False
    if isinstance(node, p.Join | p.GroupAggregate):
        return True
    if isinstance(node, p.Calc):
        expression = node.expressions[column]
        return isinstance(expression, InputRef) and has_lost_time(node.input, expression.index)
    if isinstance(node, p.Union):
        return any(has_lost_time(child, column) for child in node.inputs)
    if isinstance(node, _BEGIN_WITH_INPUT):
        width = len(node.input.row.fields)
        if column < width:
            return has_lost_time(node.input, column)
        return isinstance(node, p.IntervalJoin) and has_lost_time(node.right, column - width)
    return False
