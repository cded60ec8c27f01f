"""Where rows come from, and their watermarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.common.options import table as options
from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p
from firesteel.sql.operators import specs

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["mini_batches", "scan", "stream", "values", "watermarks"]


def scan(run: Translator, node: p.TableSourceScan) -> Transformation:
    made: Transformation = node.source.build(run, node)
    return made


def stream(run: Translator, node: p.DataStreamScan) -> Transformation:
    made: Transformation = node.table.stream.build(run, node)
    return made


def values(run: Translator, node: p.Values) -> Transformation:
    from firesteel.sql.connectors.values import values_source

    return run.add(values_source(node.row, node.rows, node.name), node)


def watermarks(run: Translator, node: p.WatermarkAssigner) -> Transformation:
    spec = specs.WatermarkAssigner(
        input=node.input.row,
        column=node.column,
        expression=node.expression,
        idle_timeout_ms=int(run.context.get(options.SOURCE_IDLE) or 0),
        functions=run.functions([node.expression]),
    )
    return run.one(node, spec)


def mini_batches(run: Translator, node: p.MiniBatchAssigner) -> Transformation:
    return run.one(node, specs.MiniBatchAssigner(interval_ms=node.interval_ms, event_time=node.rowtime))
