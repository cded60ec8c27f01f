"""Scans of tables and streams."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from firesteel.common.options import table as options
from firesteel.sql import logical as l, physical as p
from firesteel.sql.expression_text import column_names, expression_text
from firesteel.sql.expressions import Call, identity, substitute, walk
from firesteel.sql.planner.calcs import calc, select
from firesteel.sql.planner.errors import wrong
from firesteel.sql.schema import ColumnKind
from firesteel.sql.types import RowType

if TYPE_CHECKING:
    from firesteel.sql.planner.builder import Planner

__all__ = ["pushed_texts", "scan", "watermark_assigner"]


def scan(planner: Planner, node: l.Scan) -> p.Physical:
    table = node.table
    source = table.schema.source_row
    columns = tuple(range(len(source.fields))) if node.columns is None else node.columns
    if table.stream is not None:
        mode = frozenset(table.stream.changelog_mode)
        reader = None
    else:
        assert planner.context.scan is not None, "a plan that reads tables needs their connectors"
        reader = planner.context.scan(table)
        mode = frozenset(reader.changelog_mode)
    if planner.context.batch and mode != {"+I"}:
        raise wrong(
            "Querying a table in batch mode is currently only possible for INSERT-only table sources. "
            f"But the source for table '{table.name}' produces other changelog messages than just INSERT."
        )
    wanted = _with_key(columns, table, mode)
    row = (
        node.row
        if wanted == columns
        else RowType.of([source.names[c] for c in wanted], [source.types[c] for c in wanted])
    )
    if reader is None:
        read: p.Physical = p.DataStreamScan(row=row, table=table, columns=wanted, hints=node.hints)
    else:
        predicates = node.predicates if mode == {"+I"} else ()
        read = p.TableSourceScan(
            row=row,
            table=table,
            source=reader,
            columns=wanted,
            predicates=predicates,
            pushed=pushed_texts(wanted, table, reader, predicates, row),
            hints=node.hints,
        )
    made = _normalized(planner, read, table, mode)
    return made if wanted == columns else select(planner.context, made, range(len(columns)), node.row)


def _with_key(columns: tuple[int, ...], table: Any, mode: frozenset[str]) -> tuple[int, ...]:
    """Changes are told apart by the primary key, so it is read with them."""
    key = table.schema.primary_key
    if key is None or mode == {"+I"}:
        return columns
    names = table.schema.source_row.names
    return (*columns, *(i for c in key.columns if (i := names.index(c)) not in columns))


def pushed_texts(
    columns: tuple[int, ...], table: Any, reader: Any, predicates: Any, row: RowType
) -> tuple[str, ...]:
    """What plans say was given to the source."""
    parts = []
    if predicates:
        name = column_names(row.names)
        parts.append(f"filter=[{', '.join(expression_text(e, name) for e in predicates)}]")
    every = table.schema.source_columns
    if len(columns) < len(every):
        read = [every[c] for c in columns]
        metadata = [column.key for column in read if column.kind is ColumnKind.METADATA]
        others = [column.name for column in read if column.kind is not ColumnKind.METADATA]
        parts.append(f"project=[{', '.join(others)}]")
        if getattr(reader, "reads_metadata", False):
            parts.append(f"metadata=[{', '.join(metadata)}]")
    return tuple(parts)


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
        why = (
            "produces a changelog stream contains UPDATE_AFTER, no UPDATE_BEFORE"
            if upserts
            else (f"is set {options.CDC_DUPLICATES.key}")
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
        of_upserts=upserts and not twice,
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
    pushed = _watermark_in_source(planner, node, child)
    if pushed is not None:
        return pushed
    before = _watermark_of_upserts(planner, node, child)
    if before is not None:
        return before
    return p.WatermarkAssigner(row=node.row, inputs=(child,), column=node.column, expression=node.expression)


def _watermark_of_upserts(
    planner: Planner, node: l.WatermarkAssigner, child: p.Physical
) -> p.Physical | None:
    """Return ``ChangelogNormalize`` above the watermarks; None: *child* is none.

    It gives the changes of each key in their order, but those of a key together: watermarks made of its
    output would make rows of the other keys late.
    (Flink: ``WatermarkAssignerChangelogNormalizeTransposeRule``.)
    """
    computed = child if isinstance(child, p.Calc) and child.condition is None else None
    normalize = child if computed is None else computed.input
    if not isinstance(normalize, p.ChangelogNormalize):
        return None
    exchange, context = normalize.input, planner.context
    below, row, column, expression = exchange.input, node.row, node.column, node.expression
    if computed is not None:
        # The time is computed for the watermark, and once more of what the changes hold.
        expression = substitute(expression, computed.expressions)
        field = node.row.fields[node.column]
        column, row = len(below.row.fields), RowType(fields=(*below.row.fields, field))
        below = calc(context, below, (*identity(below.row), computed.expressions[node.column]), row)
    made: p.Physical = p.WatermarkAssigner(row=row, inputs=(below,), column=column, expression=expression)
    if computed is not None:
        row = exchange.row
        made = calc(context, made, identity(row), row)
    made = replace(normalize, row=row, inputs=(replace(exchange, row=row, inputs=(made,)),))
    return made if computed is None else replace(computed, row=node.row, inputs=(made,))


def _watermark_in_source(planner: Planner, node: l.WatermarkAssigner, child: p.Physical) -> p.Physical | None:
    """Return the scan that makes the watermarks itself; None: it does not.

    (Flink: ``PushWatermarkIntoTableSourceScanRule``, ``PushWatermarkIntoTableSourceScanAcrossCalcRule``,
    ``WatermarkAssignerChangelogNormalizeTransposeRule``.)
    """
    below, expression = child, node.expression
    computed = isinstance(child, p.Calc) and child.condition is None
    if isinstance(child, p.Calc) and computed:
        below, expression = child.input, substitute(expression, child.expressions)
    # Upserts have the times of their rows before it is known what they change.
    scan_ = below.input.input if isinstance(below, p.ChangelogNormalize) else below
    if not isinstance(scan_, p.TableSourceScan) or not getattr(scan_.source, "makes_watermarks", False):
        return None
    if any(isinstance(e, Call) and planner.context.is_once_only(e.function) for e in walk(expression)):
        given = sorted(key for key in scan_.table.options if key.startswith("scan.watermark."))
        if given:
            raise wrong(
                f"The options {', '.join(given)} of table '{scan_.table.name}' have no effect.",
                hint="the watermark calls a function of yours, so it is made behind the source",
            )
        return None
    text = expression_text(expression, column_names(scan_.row.names))
    pushed = (*scan_.pushed, f"watermark=[{text}]")
    row = scan_.row if computed else node.row
    made: p.Physical = replace(scan_, row=row, watermark=expression, pushed=pushed)
    if isinstance(below, p.ChangelogNormalize):
        made = replace(below, row=row, inputs=(replace(below.input, row=row, inputs=(made,)),))
    return replace(child, row=node.row, inputs=(made,)) if computed else made
