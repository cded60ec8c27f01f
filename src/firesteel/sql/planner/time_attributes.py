"""Which columns of a stream have a time attribute (Flink: ``RelTimeIndicatorConverter``).

The binder gives a column the attribute of where it comes from. Whether its rows still come by that time is
decided by the operator that emits them: the rows of a regular join or of a GROUP BY come at any time, and
watermarks say nothing of them. Each physical node is therefore typed as soon as it is built, and whatever is
planned above it asks the types of its row, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from firesteel.sql import physical as p
from firesteel.sql.expressions import Expression, InputRef, rewrite
from firesteel.sql.parser.errors import Place
from firesteel.sql.planner.errors import wrong
from firesteel.sql.schema import with_attribute
from firesteel.sql.types import DataType, RowType, TimeAttribute, attribute_of

__all__ = ["LOST_TIME", "TimeAttributes", "check_union", "typed_expression", "typed_row"]

LOST_TIME: Final = (
    "a regular join or a GROUP BY gives rows of any time: use an interval or temporal join or a window below "
    "it, or batch mode"
)


class TimeAttributes:
    """Of the nodes of one plan."""

    def __init__(self) -> None:
        self._typed: dict[int, tuple[p.Physical, p.Physical]] = {}

    def typed(self, node: p.Physical) -> p.Physical:
        """Return *node*, and the new nodes below it, without the attributes that their columns have lost."""
        found = self._typed.get(id(node))
        if found is None:
            inputs = tuple(self.typed(child) for child in node.inputs)
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            made = _RULES.get(type(node), _begins_with_inputs)(node if same else replace(node, inputs=inputs))
            found = (node, made)
            self._typed[id(node)] = self._typed[id(made)] = found
        return found[1]


def typed_expression(expression: Expression, types: Sequence[DataType]) -> Expression:
    """Return the expression over columns of *types*, some of which have lost their attribute."""

    def typed(part: Expression) -> Expression:
        if isinstance(part, InputRef) and _is_lost(part.type, types[part.index]):
            return replace(part, type=_plain(part.type))
        return part

    return rewrite(expression, typed)


def typed_row(row: RowType, expressions: Sequence[Expression], types: Sequence[DataType]) -> RowType:
    """Return the row of *expressions* over columns of *types*, some of which have lost their attribute."""
    return _without(row, [isinstance(e, InputRef) and _is_lost(e.type, types[e.index]) for e in expressions])


def _is_lost(data_type: DataType, below: DataType) -> bool:
    return attribute_of(data_type) != TimeAttribute.NONE == attribute_of(below)


def _plain(data_type: DataType) -> DataType:
    return with_attribute(data_type, TimeAttribute.NONE)


def _without(row: RowType, lost: Sequence[bool]) -> RowType:
    """The row without the attributes of its first columns where *lost* is true; the same object where they
    have none."""
    fields = list(row.fields)
    for i, is_lost in enumerate(lost):
        if is_lost:
            fields[i] = replace(fields[i], data_type=_plain(fields[i].data_type))
    made = replace(row, fields=tuple(fields))
    return row if made == row else made


def _of_row(node: p.Physical, row: RowType) -> p.Physical:
    return node if row is node.row else replace(node, row=row)


# ---- kinds of nodes


def _begins_with_inputs(node: p.Physical) -> p.Physical:
    """Its row begins with the columns of its input, or of its inputs side by side; they keep their time."""
    below = [d for child in node.inputs for d in child.row.types]
    lost = [_is_lost(d, b) for d, b in zip(node.row.types, below, strict=False)]
    return _of_row(node, _without(node.row, lost))


def _as_it_is(node: p.Physical) -> p.Physical:
    return node


def _begins_with_left(node: p.TemporalJoin | p.LookupJoin) -> p.Physical:
    """The versions of the right side are of any time before."""
    made = _begins_with_inputs(node)
    lost = [i >= len(node.left.row.fields) for i in range(len(made.row.fields))]
    return _of_row(made, _without(made.row, lost))


def _loses_all(node: p.Physical) -> p.Physical:
    return _of_row(node, _without(node.row, [True] * len(node.row.fields)))


def _loses_keys(node: p.WindowAggregate | p.GroupWindowAggregate) -> p.Physical:
    """The time of the window stays."""
    return _of_row(node, _without(node.row, [True] * (len(node.group) + len(node.calls))))


def _calc(node: p.Calc) -> p.Physical:
    types = node.input.row.types
    expressions = tuple(typed_expression(e, types) for e in node.expressions)
    condition = None if node.condition is None else typed_expression(node.condition, types)
    if expressions == node.expressions and condition == node.condition:
        return node
    row = typed_row(node.row, node.expressions, types)
    return replace(node, row=row, expressions=expressions, condition=condition)


def check_union(inputs: Sequence[p.Physical], place: Place | None) -> None:
    """Refuse inputs of a UNION of which a column has an attribute in some only.

    :raises PlanningError: at *place* of the query.
    """
    first = inputs[0]
    for other in inputs[1:]:
        for a, b in zip(first.row.types, other.row.types, strict=True):
            if attribute_of(a) != attribute_of(b):
                raise wrong(
                    "Union fields with time attributes requires same types, but the types are "
                    f"{b.text()} and {a.text()}.",
                    hint="cast the column to a TIMESTAMP or TIMESTAMP_LTZ where it still is a time attribute",
                    place=place,
                )


_RULES: Final[dict[type[p.Physical], Callable[[Any], p.Physical]]] = {
    p.Calc: _calc,
    p.GroupAggregate: _loses_all,
    p.GroupWindowAggregate: _loses_keys,
    p.Join: _loses_all,
    p.LookupJoin: _begins_with_left,
    p.Match: _as_it_is,
    p.ProcessTable: _as_it_is,
    p.Sink: _as_it_is,
    p.TemporalJoin: _begins_with_left,
    p.WatermarkAssigner: _as_it_is,
    p.WindowAggregate: _loses_keys,
}
