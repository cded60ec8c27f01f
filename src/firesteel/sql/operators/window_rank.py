"""Top-N of each window, when it ends. (Flink: ``WindowRankOperator``.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.batch import MIN_WATERMARK
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.buffers import WindowRows
from firesteel.sql.operators.kernels.numbers import from_numbers
from firesteel.sql.operators.progress import Progress
from firesteel.sql.operators.slices import instant_of, local_milliseconds
from firesteel.sql.operators.sort_keys import sorted_rows
from firesteel.sql.operators.specs import WindowRank
from firesteel.state.backend import OperatorState

__all__ = ["WindowRankOperator"]

Array = np.ndarray[Any, Any]


class WindowRankOperator(KeyedColumnsOperator):
    spec: WindowRank

    def __init__(self, program: OperatorProgram, spec: WindowRank) -> None:
        super().__init__(program, spec)

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        assert state is not None
        self._progress = Progress(state)
        super().open(context, state)

    def on_open(self) -> None:
        self._rows = WindowRows(self.state, "rows", self.spec.input, self.spec.keys)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._progress.begin_epoch(self.watermark)
        self._rows.begin_epoch()

    def end_epoch(self) -> None:
        if not self.context.batch_mode:
            self._progress.end_epoch()

    def run(self, columns: Columns, input_index: int) -> None:
        ends = local_milliseconds(columns.arrays[self.spec.end_column], "UTC")
        if self._progress.at > MIN_WATERMARK:
            passed = {end: self._fires_at(end) <= self._progress.at for end in np.unique(ends).tolist()}
            kept = np.flatnonzero([not passed[end] for end in ends.tolist()])
            if len(kept) < len(columns):
                columns, ends = columns.take(kept), ends[kept]
        if len(columns):
            self._rows.add(columns, ends)

    def _fires_at(self, end: int) -> int:
        return instant_of(end, self.spec.zone) - 1

    def advance(self, watermark: int) -> None:
        self._progress.at = max(self._progress.at, watermark)
        for end in sorted(self._rows.ends):
            if self._fires_at(end) <= watermark:
                self._fire(end)

    def _fire(self, end: int) -> None:
        spec = self.spec
        bodies: list[bytes] = []
        owners: list[int] = []
        for i, (name, key) in enumerate(list(self._rows.names(end).items())):
            found = self._rows.take(end, name, key)
            bodies += found
            owners += [i] * len(found)
        arrays = self._rows.codec.decode(bodies)
        count = len(bodies)
        of = np.array(owners, np.int64)
        order = sorted_rows(arrays, spec.order, count)
        order = order[np.argsort(of[order], kind="stable")]
        sorted_owners = of[order]
        begins = np.flatnonzero(np.append(True, sorted_owners[1:] != sorted_owners[:-1]))
        lengths = np.diff(np.append(begins, count))
        ranks = np.arange(count) - np.repeat(begins, lengths) + 1
        chosen = (ranks >= spec.start) & (ranks <= spec.end)
        rows = pa.array(order[chosen])
        out = [a.take(rows) for a in arrays]
        if spec.output_number:
            out.append(from_numbers(ranks[chosen], None, spec.output.types[-1]))
        self.emit(Columns(out, len(rows)))
