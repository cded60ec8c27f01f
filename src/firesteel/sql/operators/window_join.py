"""Joins of rows of the same window, when it ends. (Flink: ``WindowJoinOperator``.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.batch import MIN_WATERMARK
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import TwoInputColumnsOperator
from firesteel.sql.operators.buffers import WindowRows
from firesteel.sql.operators.evaluation import Evaluation
from firesteel.sql.operators.join import joined_row, matching_pairs
from firesteel.sql.operators.progress import Progress
from firesteel.sql.operators.slices import instant_of, local_milliseconds
from firesteel.sql.operators.specs import WindowJoin
from firesteel.state.backend import OperatorState

__all__ = ["WindowJoinOperator"]

Array = np.ndarray[Any, Any]


class WindowJoinOperator(TwoInputColumnsOperator):
    spec: WindowJoin

    def __init__(self, program: OperatorProgram, spec: WindowJoin) -> None:
        super().__init__(program, spec)
        both = joined_row(spec.left, spec.right)
        self._condition = (
            None if spec.condition is None else Evaluation((spec.condition,), both, spec.functions)
        )
        self._ends = (spec.left_end, spec.right_end)

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        assert state is not None
        self._progress = Progress(state)
        super().open(context, state)
        if self._condition is not None:
            self._condition.open(context)

    def on_open(self) -> None:
        spec = self.spec
        self._sides = (
            WindowRows(self.state, "left", spec.left, spec.left_keys),
            WindowRows(self.state, "right", spec.right, spec.right_keys),
        )

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._progress.begin_epoch(self.watermark)
        for side in self._sides:
            side.begin_epoch()

    def end_epoch(self) -> None:
        if not self.context.batch_mode:
            self._progress.end_epoch()

    def run(self, columns: Columns, input_index: int) -> None:
        ends = local_milliseconds(columns.arrays[self._ends[input_index]], "UTC")
        if self._progress.at > MIN_WATERMARK:
            passed = {end: self._fires_at(end) <= self._progress.at for end in np.unique(ends).tolist()}
            kept = np.flatnonzero([not passed[end] for end in ends.tolist()])
            if len(kept) < len(columns):
                columns, ends = columns.take(kept), ends[kept]
        if len(columns):
            self._sides[input_index].add(columns, ends)

    def _fires_at(self, end: int) -> int:
        return instant_of(end, self.spec.zone) - 1

    def advance(self, watermark: int) -> None:
        self._progress.at = max(self._progress.at, watermark)
        left, right = self._sides
        for end in sorted({*left.ends, *right.ends}):
            if self._fires_at(end) <= watermark:
                self._fire(end)

    def _fire(self, end: int) -> None:
        left, right = self._sides
        names = {**left.names(end), **right.names(end)}
        lefts: list[bytes] = []
        rights: list[bytes] = []
        pairs: list[tuple[int, int]] = []
        nullable = not all(self.spec.null_safe) or not self.spec.null_safe
        for name, key in names.items():
            mine = left.take(end, name, key) if name in left.names(end) else []
            others = right.take(end, name, key) if name in right.names(end) else []
            if not (nullable and any(part is None for part in name[1:])):
                pairs += [
                    (len(lefts) + i, len(rights) + j) for i in range(len(mine)) for j in range(len(others))
                ]
            lefts += mine
            rights += others
        self._join(lefts, rights, np.array(pairs, np.int64).reshape(-1, 2))

    def _join(self, lefts: list[bytes], rights: list[bytes], pairs: Array) -> None:
        left, right = self._sides
        of_left, of_right = left.codec.decode(lefts), right.codec.decode(rights)
        at = [pa.array(pairs[:, 0]), pa.array(pairs[:, 1])]
        own, other = [a.take(at[0]) for a in of_left], [a.take(at[1]) for a in of_right]
        pairs = pairs[matching_pairs(self._condition, own, other, len(pairs))]
        kind = self.spec.kind
        if kind in ("SEMI", "ANTI"):
            has = np.zeros(len(lefts), bool)
            has[pairs[:, 0]] = True
            rows = np.flatnonzero(has == (kind == "SEMI"))
            self.emit(Columns([a.take(pa.array(rows)) for a in of_left], len(rows)))
            return
        mine, others = pairs[:, 0], pairs[:, 1]
        if kind in ("LEFT", "FULL"):
            lonely = np.setdiff1d(np.arange(len(lefts)), mine)
            mine, others = np.append(mine, lonely), np.append(others, np.full(len(lonely), -1))
        if kind in ("RIGHT", "FULL"):
            lonely = np.setdiff1d(np.arange(len(rights)), others)
            mine, others = np.append(mine, np.full(len(lonely), -1)), np.append(others, lonely)
        self.emit(Columns([*taken(of_left, mine), *taken(of_right, others)], len(mine)))


def taken(arrays: list[pa.Array], rows: Array) -> list[pa.Array]:
    """Rows of columns; -1 gives nulls."""
    missing = rows < 0
    at = pa.array(rows, pa.int64(), mask=missing if missing.any() else None)
    return [a.take(at) for a in arrays]
