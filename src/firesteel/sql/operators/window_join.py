"""Joins of rows of the same window and key. (Flink: ``WindowJoinOperator``.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.aggregates import row_text
from firesteel.sql.operators.base import TwoInputColumnsOperator
from firesteel.sql.operators.pairs import NO_ROW, PADS_LEFT, PADS_RIGHT, Pairs, null_keys, paired
from firesteel.sql.operators.slices import UTC, local_milliseconds
from firesteel.sql.operators.specs import WindowJoin
from firesteel.sql.operators.timed_rows import KeptProgress, TimedRows
from firesteel.sql.operators.watermarks import milliseconds
from firesteel.sql.operators.window_rank import open_windows
from firesteel.sql.operators.window_rows import WindowRows
from firesteel.state.backend import OperatorState
from firesteel.state.column_keys import group_rows

__all__ = ["WindowJoinOperator"]

Array = np.ndarray[Any, Any]


class WindowJoinOperator(TwoInputColumnsOperator):
    spec: WindowJoin

    def __init__(self, program: OperatorProgram, spec: WindowJoin) -> None:
        super().__init__(program, spec)
        self._pairs = Pairs(spec.left, spec.right, spec.condition, spec.functions)

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        assert state is not None
        self._progress = KeptProgress(state)
        super().open(context, state)
        self._pairs.open(context)

    def on_open(self) -> None:
        def rows_of(name: str, row: Any, keys: tuple[int, ...]) -> WindowRows:
            return WindowRows(TimedRows(self.state, name, row, row_text(row, range(len(row.fields)))), keys)

        spec = self.spec
        self._sides = (
            rows_of("left", spec.left, spec.left_keys),
            rows_of("right", spec.right, spec.right_keys),
        )

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._progress.begin(self.watermark)
        for side in self._sides:
            side.begin_epoch()

    def end_epoch(self) -> None:
        for side in self._sides:
            side.end_epoch()
        self._progress.end()

    def heeded(self, columns: Columns, input_index: int) -> Array | None:
        column = (self.spec.left_end, self.spec.right_end)[input_index]
        return milliseconds(columns.arrays[column]) - 1 if self.spec.zone in UTC else None

    def run(self, columns: Columns, input_index: int) -> None:
        spec = self.spec
        column = (spec.left_end, spec.right_end)[input_index]
        ends = local_milliseconds(columns.arrays[column], spec.zone)
        kept = np.flatnonzero(open_windows(ends, spec.zone, self._progress.value))
        if len(kept) < len(columns):
            columns, ends = columns.take(kept), ends[kept]
        if len(columns):
            self._sides[input_index].add(columns, ends)

    def advance(self, watermark: int) -> None:
        self._progress.move(watermark)
        ends = sorted({end for side in self._sides for end in side.due(watermark, self.spec.zone)})
        if ends:
            self._fire(ends)

    def _fire(self, ends: list[int]) -> None:
        (left, left_ends), (right, right_ends) = (side.pop(ends) for side in self._sides)
        lefts, rights = (side.keys_of(rows) for side, rows in zip(self._sides, (left, right), strict=True))
        keys = [pa.concat_arrays(both) for both in zip(lefts, rights, strict=True)]
        groups = group_rows(
            [pa.array(np.concatenate([left_ends, right_ends])), *keys], len(left) + len(right)
        )
        of_left, of_right = groups.codes[: len(left)], groups.codes[len(left) :]
        columns = _in_order(left, of_left), _in_order(right, of_right)
        at, of = _products(of_left, of_right, groups.count)
        spec = self.spec
        if len(at) and (spec.left_keys or spec.right_keys):
            null = null_keys(columns[0], spec.left_keys, spec.null_safe)
            at, of = at[~null[at]], of[~null[at]]
        matching = self._pairs.matching(*columns, at, of)
        at, of = at[matching], of[matching]
        self.emit(join_result(spec.kind, *columns, at, of))


def join_result(kind: str, left: Columns, right: Columns, at: Array, of: Array) -> Columns:
    """The rows of a join of which *at* and *of* are the pairs: left row by left row, then what is left of the
    right."""
    if kind == "SEMI":
        return left.take(np.unique(at))
    alone = np.arange(0)
    if kind == "ANTI" or kind in PADS_LEFT:
        alone = np.setdiff1d(np.arange(len(left)), at)
    if kind == "ANTI":
        return left.take(alone)
    if len(alone):
        at = np.concatenate([at, alone])
        of = np.concatenate([of, np.full(len(alone), NO_ROW)])
    order = np.argsort(at, kind="stable")
    at, of = at[order], of[order]
    if kind in PADS_RIGHT:
        rest = np.setdiff1d(np.arange(len(right)), of)
        at = np.concatenate([at, np.full(len(rest), NO_ROW)])
        of = np.concatenate([of, rest])
    return Columns(paired(left, right, at, of), len(at))


def _in_order(rows: Columns, groups: Array) -> Columns:
    """Rows group by group, each as they came."""
    if (groups[1:] >= groups[:-1]).all():
        return rows
    return rows.take(np.argsort(groups, kind="stable"))


def _products(left: Array, right: Array, groups: int) -> tuple[Array, Array]:
    """All pairs of rows of the same group. :param left: the group of each row of left; the rows are paired in
    the order of their groups."""
    lefts, rights = np.bincount(left, minlength=groups), np.bincount(right, minlength=groups)
    right_starts = np.cumsum(rights) - rights
    at = np.repeat(np.arange(len(left)), np.repeat(rights, lefts))
    if not len(at):
        return at, at
    owner = np.repeat(np.arange(groups), lefts * rights)
    pair_starts = np.cumsum(lefts * rights) - lefts * rights
    within = np.arange(len(at)) - pair_starts[owner]
    return at, right_starts[owner] + within % rights[owner]
