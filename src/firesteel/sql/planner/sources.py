"""Scans of tables and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.common.options import table as options
from firesteel.sql import logical as l, physical as p
from firesteel.sql.expressions import Call
from firesteel.sql.planner.calcs import calc, identity
from firesteel.sql.planner.errors import wrong

if TYPE_CHECKING:
    from firesteel.sql.planner.builder import Planner

__all__ = ["scan", "watermark_assigner"]


def scan(planner: Planner, node: l.Scan) -> p.Physical:
    table = node.table
    every = tuple(range(len(node.row.fields)))
    if table.stream is not None:
        read: p.Physical = p.DataStreamScan(row=node.row, table=table, columns=every, hints=node.hints)
        mode = table.stream.changelog_mode
    else:
        assert planner.context.scan is not None, "a plan that reads tables needs their connectors"
        source = planner.context.scan(table)
        read = p.TableSourceScan(row=node.row, table=table, source=source, columns=every, hints=node.hints)
        mode = source.changelog_mode
    return _normalized(planner, read, table, frozenset(mode))


def _normalized(planner: Planner, read: p.Physical, table: Any, mode: frozenset[str]) -> p.Physical:
    """Upserts become a whole changelog by the primary key, and so do changes that may come twice."""
    upserts = "+U" in mode and "-U" not in mode
    deletes_alone = "-D" in mode and "+U" not in mode and "-U" not in mode
    twice = mode != {"+I"} and bool(planner.context.get(options.CDC_DUPLICATES))
    if planner.context.batch or not (upserts or twice or (deletes_alone and table.stream is not None)):
        return read
    key = table.schema.primary_key
    if key is None:
        if not upserts and not twice:
            return read
        why = "produces a changelog stream contains UPDATE_AFTER, no UPDATE_BEFORE" if upserts else (
            f"is set {options.CDC_DUPLICATES.key}"
        )
        raise wrong(
            f"Table '{table.name}' {why}. This requires to define primary key constraint on the table."
        )
    if deletes_alone and not twice:
        return read
    names = read.row.names
    columns = tuple(names.index(column) for column in key.columns)
    exchange = p.Exchange(row=read.row, inputs=(read,), keys=columns)
    return p.ChangelogNormalize(
        row=read.row,
        inputs=(exchange,),
        key=columns,
        mini_batch=planner.context.mini_batch,
        ttl_ms=planner.context.ttl_ms,
    )


def watermark_assigner(planner: Planner, node: l.WatermarkAssigner) -> p.Physical:
    child = planner.plan(node.input)
    if planner.context.batch:
        return calc(planner.context, child, identity(child.row), node.row)
    if isinstance(node.expression, Call) and node.expression.function == "SOURCE_WATERMARK":
        # The watermarks of the stream or the source stay as they are.
        return p.Calc(row=node.row, inputs=(child,), expressions=identity(child.row))
    return p.WatermarkAssigner(row=node.row, inputs=(child,), column=node.column, expression=node.expression)
