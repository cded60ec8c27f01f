"""ORDER BY, LIMIT, ranks, and the first or last row of each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firesteel.common.options import table as options
from firesteel.program.transformations import Transformation, make_single
from firesteel.sql import physical as p
from firesteel.sql.expressions import Ordering
from firesteel.sql.operators import specs
from firesteel.sql.translate.windows import end_of

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = [
    "deduplicate",
    "final_rows",
    "limit",
    "rank",
    "sort",
    "sort_limit",
    "temporal_sort",
    "window_deduplicate",
    "window_rank",
]

_STRATEGIES: Final = {"AppendFast": "append", "UpdateFast": "update_fast", "Retract": "retract"}
_NO_END: Final = 2**62


def rank(run: Translator, node: p.Rank) -> Transformation:
    spec = specs.Rank(
        input=node.input.row,
        output=node.row,
        keys=node.partition,
        order=node.order,
        start=node.start,
        end=node.end,
        end_column=node.end_column,
        function=node.function,
        output_number=node.show_number,
        strategy=_STRATEGIES[node.strategy],
        upsert_key=node.key,
        generate_update_before=node.sends_old_rows,
        ttl_ms=node.ttl_ms,
    )
    return run.one(node, spec, keys=node.partition)


def sort_limit(run: Translator, node: p.SortLimit) -> Transformation:
    spec = specs.Rank(
        input=node.input.row,
        output=node.row,
        keys=(),
        order=node.order,
        start=node.offset + 1,
        end=node.offset + node.fetch,
        strategy=_STRATEGIES[node.strategy],
        upsert_key=node.key,
        generate_update_before=node.sends_old_rows,
        ttl_ms=node.ttl_ms,
    )
    return run.one(node, spec, keys=())


def limit(run: Translator, node: p.Limit) -> Transformation:
    if run.context.batch:
        made = run.one(node, specs.Limit(input=node.input.row, offset=node.offset, fetch=node.fetch))
        make_single(made)
        return made
    spec = specs.Rank(
        input=node.input.row,
        output=node.row,
        keys=(),
        order=(),
        start=node.offset + 1,
        end=_NO_END if node.fetch is None else node.offset + node.fetch,
        strategy="append" if node.input.is_insert_only else "retract",
        generate_update_before=node.sends_old_rows,
    )
    return run.one(node, spec, keys=())


def sort(run: Translator, node: p.Sort) -> Transformation:
    return run.one(node, specs.Sort(input=node.input.row, order=node.order), keys=())


def final_rows(run: Translator, node: p.FinalRows) -> Transformation:
    return run.one(node, specs.FinalRows(input=node.input.row))


def temporal_sort(run: Translator, node: p.TemporalSort) -> Transformation:
    spec = specs.TemporalSort(
        input=node.input.row, time=node.order[0].index, order=node.order[1:], event_time=node.rowtime
    )
    return run.one(node, spec, keys=())


def deduplicate(run: Translator, node: p.Deduplicate) -> Transformation:
    spec = specs.Deduplicate(
        input=node.input.row,
        keys=node.key,
        last=node.keep_last,
        time=node.time if node.rowtime else None,
        insert_only=node.insert_only,
        generate_update_before=node.sends_old_rows,
        generate_insert=bool(run.context.get(options.DEDUPLICATE_SENSITIVE)),
        mini_batch=node.mini_batch,
        bundle=run.bundle,
        ttl_ms=node.ttl_ms,
    )
    return run.one(node, spec, keys=node.key)


def window_rank(run: Translator, node: p.WindowRank) -> Transformation:
    spec = specs.WindowRank(
        input=node.input.row,
        output=node.row,
        keys=node.partition,
        order=node.order,
        end_column=end_of(node.window),
        start=node.start,
        end=node.end,
        output_number=node.show_number,
        zone=run.zone,
    )
    return run.one(node, spec, keys=node.partition)


def window_deduplicate(run: Translator, node: p.WindowDeduplicate) -> Transformation:
    spec = specs.WindowRank(
        input=node.input.row,
        output=node.row,
        keys=node.partition,
        order=(Ordering(node.time, not node.keep_last),),
        end_column=end_of(node.window),
        start=1,
        end=1,
        latest_first=node.keep_last,
        zone=run.zone,
    )
    return run.one(node, spec, keys=node.partition)
