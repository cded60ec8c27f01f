"""GROUP BY in two phases: rows are aggregated before the exchange, and the parts merged behind it.

The local phase keeps no state: what it has goes on when a mini-batch ends, at a mark, and when the task hands
on what is ready. (Flink: ``MiniBatchLocalGroupAggFunction``, ``MiniBatchGlobalGroupAggFunction``.)
"""

from __future__ import annotations

from firesteel.common.columns import Columns
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.aggregates import Aggregates, signs_of
from firesteel.sql.operators.bundles import BundlingOperator
from firesteel.sql.operators.group_aggregate import GroupAggregateOperator
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.partials import Partials
from firesteel.sql.operators.specs import GlobalGroupAggregate, LocalGroupAggregate
from firesteel.state.column_keys import group_rows

__all__ = ["GlobalGroupAggregateOperator", "LocalGroupAggregateOperator"]


class LocalGroupAggregateOperator(BundlingOperator):
    spec: LocalGroupAggregate

    def __init__(self, program: OperatorProgram, spec: LocalGroupAggregate) -> None:
        super().__init__(program, spec)
        aggregates = Aggregates(spec.calls, spec.input, spec.retracts, spec.functions)
        self._partials = Partials(aggregates, spec.input, spec.keys)

    def process_rows(self, columns: Columns) -> None:
        groups = group_rows([columns.arrays[k] for k in self.spec.keys], len(columns))
        order, starts = groups.order()
        rows = columns if groups.count == 1 else columns.take(order)
        signs = signs_of(rows) if self.spec.retracts else None
        self.emit(self._partials.of_rows(rows, signs, Segments(starts, len(rows))))


class GlobalGroupAggregateOperator(GroupAggregateOperator):
    """Its state is that of a ``GroupAggregate``."""

    spec: GlobalGroupAggregate

    def __init__(self, program: OperatorProgram, spec: GlobalGroupAggregate) -> None:
        super().__init__(program, spec)
        self._partials = Partials(self.aggregates, spec.rows, spec.row_keys)

    def process_rows(self, columns: Columns) -> None:
        found = self.find_keys(columns)
        segments = Segments(found.starts, len(columns), found.names, found.canonical)
        base = [field[found.slots] for field in self._rows.fields]
        self.finish_bundle(
            found.rows, segments, self._partials.merged(found.rows, segments, base), found.slots
        )
