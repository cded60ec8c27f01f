"""ROW_NUMBER within windows: Top-N and deduplication of windowing TVFs. (Flink: ``WindowRankProcessor``.)

Only rows that may be among the first are kept; they leave when the watermark passes the end of their window.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.arrow import arrow_type
from firesteel.sql.operators.aggregates import row_text
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.ordering import sorted_rows
from firesteel.sql.operators.slices import UTC, instants_of, local_milliseconds
from firesteel.sql.operators.specs import WindowRank
from firesteel.sql.operators.timed_rows import KeptProgress, TimedRows, names_of
from firesteel.sql.operators.watermarks import milliseconds
from firesteel.state.backend import OperatorState
from firesteel.state.column_keys import group_rows, row_values

__all__ = ["WindowRankOperator", "open_windows"]

Array = np.ndarray[Any, Any]


def open_windows(ends: Array, zone: str, progress: int) -> Array:
    """Which rows are not late: their window, of local end *ends*, has not fired."""
    is_open: Array = instants_of(ends, zone) - 1 > progress
    return is_open


class WindowRankOperator(KeyedColumnsOperator):
    spec: WindowRank

    def __init__(self, program: OperatorProgram, spec: WindowRank) -> None:
        super().__init__(program, spec)
        self._number = arrow_type(spec.output.fields[-1].data_type) if spec.output_number else None

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        assert state is not None
        self._progress = KeptProgress(state)
        super().open(context, state)

    def on_open(self) -> None:
        spec = self.spec
        shape = row_text(spec.input, range(len(spec.input.fields)))
        self._rows = TimedRows(self.state, "rows", spec.input, shape)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._progress.begin(self.watermark)
        self._rows.refresh()

    def end_epoch(self) -> None:
        self._progress.end()

    def heeded(self, columns: Columns, input_index: int) -> Array | None:
        spec = self.spec
        return milliseconds(columns.arrays[spec.end_column]) - 1 if spec.zone in UTC else None

    def run(self, columns: Columns, input_index: int) -> None:
        spec = self.spec
        ends = local_milliseconds(columns.arrays[spec.end_column], spec.zone)
        kept = np.flatnonzero(open_windows(ends, spec.zone, self._progress.value))
        if len(kept) < len(columns):
            columns, ends = columns.take(kept), ends[kept]
        if not len(columns):
            return
        keys = self.key_columns(columns, spec.keys)
        groups = group_rows([*keys, pa.array(ends)], len(columns))
        first = pa.array(groups.first)
        names, canonical = names_of([k.take(first) for k in keys], groups.count)
        of_group = ends[groups.first].tolist()
        held = [self._rows.at(n, k, e) for n, k, e in zip(names, canonical, of_group, strict=True)]
        old = [row for rows in held for row in rows]
        owners = np.repeat(np.arange(groups.count), [len(rows) for rows in held])
        together = Columns.concat([self._rows.columns(old), columns]) if old else columns
        owner = np.concatenate([owners, groups.codes])
        order = self._sorted(together, owner)
        owner = owner[order]
        starts = np.searchsorted(owner, np.arange(groups.count))
        best = np.arange(len(owner)) - starts[owner] < spec.end
        order, owner = order[best], owner[best]
        rows = row_values(together.take(order).arrays, len(order))
        stops = np.searchsorted(owner, np.arange(groups.count), side="right").tolist()
        start = 0
        for name, key, end, stop in zip(names, canonical, of_group, stops, strict=True):
            self._rows.set(name, key, end, rows[start:stop])
            start = stop

    def _sorted(self, rows: Columns, owners: Array) -> Array:
        """The rows of each owner in their order. :param rows: as they came."""
        if not self.spec.latest_first:
            return sorted_rows(rows.arrays, self.spec.order, owners)
        back = np.arange(len(rows))[::-1]
        return back[sorted_rows(rows.take(back).arrays, self.spec.order, owners[back])]

    def advance(self, watermark: int) -> None:
        self._progress.move(watermark)
        for end in self._rows.due(watermark, self.spec.zone):
            self._fire(end)

    def _fire(self, end: int) -> None:
        spec = self.spec
        rows: list[Any] = []
        numbers: list[int] = []
        for _, _, held in self._rows.pop(end):
            part = held[spec.start - 1 : spec.end]
            rows += part
            numbers += range(spec.start, spec.start + len(part))
        if rows:
            columns = self._rows.columns(rows)
            if self._number is not None:
                columns = columns.with_arrays([*columns.arrays, pa.array(numbers, self._number)])
            self.emit(columns)
