"""Where the batches of mini-batch mode begin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firesteel.common.errors import ConfigurationError
from firesteel.common.options import table as options
from firesteel.sql import physical as p
from firesteel.sql.planner.context import PlannerContext

__all__ = ["with_mini_batches"]


def with_mini_batches(root: p.Physical, context: PlannerContext) -> p.Physical:
    """Marks of batches after each source (Flink: ``MiniBatchIntervalInferRule``).

    :raises ConfigurationError: mini-batches are asked for without their size or latency.
    """
    if not context.mini_batch:
        return root
    latency = _checked_latency_ms(context)
    rowtime = any(_by_event_time(node) for node in p.walk(root))
    done: dict[int, p.Physical] = {}

    def visit(node: p.Physical) -> p.Physical:
        if id(node) in done:
            return done[id(node)]
        if isinstance(node, p.WatermarkAssigner) or not node.inputs:
            made: p.Physical = node
            if not isinstance(node, p.Values):
                made = p.MiniBatchAssigner(
                    row=node.row,
                    inputs=(node,),
                    interval_ms=latency,
                    rowtime=rowtime,
                    kinds=node.kinds,
                    update=node.update,
                )
        else:
            inputs = tuple(visit(i) for i in node.inputs)
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            made = node if same else replace(node, inputs=inputs)
        done[id(node)] = made
        return made

    return visit(root)


def _checked_latency_ms(context: PlannerContext) -> int:
    size, latency = context.get(options.MINI_BATCH_SIZE), context.get(options.MINI_BATCH_LATENCY)
    for option, value in ((options.MINI_BATCH_SIZE, size), (options.MINI_BATCH_LATENCY, latency)):
        if not value or int(value) <= 0:
            raise ConfigurationError(
                f"{option.key} must be > 0 where {options.MINI_BATCH.key} is true",
                detail=f"it is {value}",
                hint="such as 5000 rows and 200 ms",
            )
    return int(latency)


def _by_event_time(node: Any) -> bool:
    if isinstance(node, p.WindowAggregate | p.WindowTableFunction):
        return bool(node.window.rowtime)
    if isinstance(node, p.GroupWindowAggregate | p.IntervalJoin | p.Deduplicate | p.TemporalSort):
        return bool(node.rowtime)
    if isinstance(node, p.OverAggregate):
        return node.time == "rowtime"
    return isinstance(node, p.WindowRank | p.WindowJoin | p.WindowDeduplicate | p.TemporalJoin | p.Match)
