"""GROUP BY in two phases, where mini-batches are on: rows are aggregated before the exchange, too.

    GroupAggregate(a: COUNT(b))            GlobalGroupAggregate(a: COUNT(count$0))
      Exchange(a)                    ->      Exchange(a)
        ...                                    LocalGroupAggregate(a: COUNT(b) AS count$0)
                                                 ...

(Flink: ``TwoStageOptimizedAggregateRule``.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from firesteel.common.options import table as options
from firesteel.sql import physical as p
from firesteel.sql.operators.aggregates import Aggregates
from firesteel.sql.operators.partials import Partials
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.types import RowType

__all__ = ["with_two_phases"]

_ONE: Final = "ONE_PHASE"


def with_two_phases(root: p.Physical, context: PlannerContext) -> p.Physical:
    """The same plan, in which aggregates whose parts can be merged are two nodes."""
    if not context.mini_batch or context.get(options.AGG_PHASES) == _ONE:
        return root
    done: dict[int, p.Physical] = {}

    def visit(node: p.Physical) -> p.Physical:
        if id(node) not in done:
            inputs = tuple(visit(i) for i in node.inputs)
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            made = node if same else replace(node, inputs=inputs)
            done[id(node)] = _in_two(made, context) if isinstance(made, p.GroupAggregate) else made
        return done[id(node)]

    return visit(root)


def _in_two(node: p.GroupAggregate, context: PlannerContext) -> p.Physical:
    exchange = node.input
    if node.table_function or not isinstance(exchange, p.Exchange):
        return node
    rows = exchange.input
    row = _parts(node, rows, context)
    if row is None:
        return node
    local = p.LocalGroupAggregate(
        row=row,
        inputs=(rows,),
        hints=node.hints,
        kinds=p.INSERT_ONLY,
        group=node.group,
        calls=node.calls,
    )
    keys = tuple(range(len(node.group)))
    return p.GlobalGroupAggregate(
        row=node.row,
        inputs=(p.Exchange(row=row, inputs=(local,), keys=keys, kinds=p.INSERT_ONLY),),
        hints=node.hints,
        kinds=node.kinds,
        update=node.update,
        local=local,
        ttl_ms=node.ttl_ms,
    )


def _parts(node: p.GroupAggregate, rows: p.Physical, context: PlannerContext) -> RowType | None:
    """The type of what travels between the phases; None: the calls cannot be merged."""
    aggregates = Aggregates(node.calls, rows.row, not rows.is_insert_only, context.functions)
    partials = Partials(aggregates, rows.row, node.group)
    return partials.row if partials.possible else None
