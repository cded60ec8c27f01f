"""The table of builders, and what they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql import logical as l, physical as p
from firesteel.sql.changelog import with_changes
from firesteel.sql.planner import aggregates, joins, process_tables, ranks, simple, sinks, sources, windows
from firesteel.sql.planner.conflicts import check_conflict
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.planner.deletes import without_needless_normalization
from firesteel.sql.planner.mini_batches import with_mini_batches
from firesteel.sql.planner.shared import with_shared_parts
from firesteel.sql.planner.time_attributes import TimeAttributes
from firesteel.sql.planner.two_phases import with_two_phases

__all__ = ["Planner", "plan"]


def plan(root: l.Node, context: PlannerContext) -> p.Physical:
    """The physical plan of a query or an INSERT, with all traits.

    :raises FiresteelError: the query cannot run.
    """
    built = with_shared_parts(Planner(context).plan(root), context)
    if isinstance(built, p.Sink):
        built = sinks.in_chosen_mode(built, context.batch)
        if not context.batch:
            check_conflict(built)
    changed = without_needless_normalization(with_changes(built, context.batch))
    decided = with_two_phases(ranks.deduplications(changed, context), context)
    return with_mini_batches(decided, context)


class Planner:
    """Builds physical nodes; a logical node that is met twice becomes one."""

    def __init__(self, context: PlannerContext) -> None:
        self.context = context
        self._done: dict[int, tuple[l.Node, p.Physical]] = {}
        self._times = TimeAttributes()

    def plan(self, node: l.Node) -> p.Physical:
        found = self._done.get(id(node))
        if found is None:
            build = _BUILDERS.get(type(node))
            if build is None:
                raise UnsupportedFeatureError(f"There is no operator for {type(node).__name__}.")
            built = build(self, node)
            # In batch mode all rows are there at the end, so no time has to order them.
            found = (node, built if self.context.batch else self._times.typed(built))
            self._done[id(node)] = found
        return found[1]


Builder = Callable[[Planner, Any], p.Physical]

_BUILDERS: Final[dict[type[l.Node], Builder]] = {
    l.Scan: sources.scan,
    l.Values: simple.values,
    l.Project: simple.project,
    l.Filter: simple.filter_,
    l.WatermarkAssigner: sources.watermark_assigner,
    l.Aggregate: aggregates.aggregate,
    l.GroupWindowAggregate: aggregates.group_window,
    l.WindowTable: windows.window_table,
    l.Join: joins.join,
    l.Correlate: simple.correlate,
    l.TableCall: simple.table_call,
    l.ProcessTable: process_tables.process_table,
    l.Over: ranks.over,
    l.SetOperation: simple.set_operation,
    l.Sort: ranks.sort,
    l.Match: simple.match,
    l.Sink: sinks.sink,
}
