"""Aggregates of TUMBLE, HOP and CUMULATE windows, in slices.

A row goes to one slice; a window that fires puts its slices together. Calls that cannot be put together
(DISTINCT, retracted extremes) go to all of their windows instead. (Flink: ``WindowAggOperator`` with
``SliceSharedWindowAggProcessor``, and for the old windows of GROUP BY ``WindowOperator``.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.aggregates import Aggregates, row_text, signs_of
from firesteel.sql.operators.base import arrow_types
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.slice_state import Contents, SliceState
from firesteel.sql.operators.slices import UTC, Slices, instants_of, local_milliseconds
from firesteel.sql.operators.specs import TimeWindow, WindowAggregate
from firesteel.sql.operators.timed_windows import FAR, TimedWindows
from firesteel.sql.operators.watermarks import milliseconds
from firesteel.sql.operators.window_times import WindowTimes
from firesteel.state.column_keys import CanonicalKeys, canonical_column_keys, group_rows, hash_codes

__all__ = ["SlicedWindows", "WindowAggregateOperator", "window_aggregate"]

Array = np.ndarray[Any, Any]


class SlicedWindows(TimedWindows):
    """What fires when. Subclasses tell of slices when their first row comes."""

    def __init__(self, program: OperatorProgram, spec: Any, window: TimeWindow) -> None:
        super().__init__(program, spec, window)
        self.slices = Slices(window)
        self._open: set[int] = set()  # the ends of windows that will fire
        self._next = FAR  # when the first of them does

    def end_epoch(self) -> None:
        matters = self.window.event_time or self.window.kind != "TUMBLE"
        if matters and not self.context.batch_mode:
            self._progress.end()

    def heeded(self, columns: Columns, input_index: int) -> Array | None:
        window = self.window
        if window.zone not in UTC:
            return None
        if window.time is not None:
            return milliseconds(columns.arrays[window.time])
        assert window.end is not None
        return milliseconds(columns.arrays[window.end]) - 1

    def next_timer_ms(self) -> int | None:
        return None if self.window.event_time or self.ended or self._next == FAR else self._next

    def expect(self, slices: Sequence[int]) -> None:
        """There are rows of these slices now, so the windows that they are in will fire."""
        if not slices:  # as with most batches
            return
        for of in slices:
            ends = np.array(self.windows_of(of), np.int64)
            self._open.update(ends[self._fires_at(ends) > self._progress.value].tolist())
        self._see_next()

    def expect_nothing(self) -> None:
        self._open.clear()
        self._next = FAR

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._take_due(self._progress.value)  # they have fired in another process

    def _take_due(self, instant: int) -> list[int]:
        """The windows that are open and end until then, in order; they are open no more."""
        if self._next > instant:
            return []
        ends = np.array(sorted(self._open), np.int64)
        due: list[int] = ends[self._fires_at(ends) <= instant].tolist()
        self._open.difference_update(due)
        self._see_next()
        return due

    def _see_next(self) -> None:
        self._next = int(self._fires_at(np.array([min(self._open)]))[0]) if self._open else FAR

    def _fires_at(self, ends: Array) -> Array:
        """The instants at which windows fire."""
        return instants_of(ends, self.window.zone) - 1

    def _fire_until(self, instant: int) -> None:
        self._progress.value = max(self._progress.value, instant)
        due = self._take_due(instant)
        if due:
            self.fire(due)

    def is_passed(self, ends: Array) -> Array:
        """Which windows have fired already."""
        if not self.window.event_time:
            return np.zeros(len(ends), bool)
        passed: Array = self._fires_at(ends) <= self._progress.value
        return passed

    def windows_of(self, slice_end: int) -> Sequence[int]:
        """The ends of the windows that a slice is in."""
        raise NotImplementedError

    def fire(self, ends: Sequence[int]) -> None:
        """Windows have ended: emit what they hold, in this order."""
        raise NotImplementedError


class WindowAggregateOperator(SlicedWindows):
    spec: WindowAggregate

    def __init__(self, program: OperatorProgram, spec: Any, window: TimeWindow | None = None) -> None:
        super().__init__(program, spec, window or spec.window)
        self.aggregates = Aggregates(spec.calls, spec.input, spec.retracts, spec.functions)
        #: Whether windows share slices; else a row goes to each of its windows.
        self.shares = self.window.time is not None and (
            self.slices.kind == "TUMBLE" or self.aggregates.merges
        )
        self._times = WindowTimes(spec.output, spec.properties, self.window.zone)

    def on_open(self) -> None:
        spec = self.spec
        types = arrow_types(spec.input)
        windows = f"{self.window.kind} {self.slices.step}"
        shape = f"{row_text(spec.input, spec.keys)} -> {self.aggregates.shape} in {windows}"
        self._state = SliceState(self.state, self.aggregates, [types[i] for i in spec.keys], shape)
        self.aggregates.open(self.state, "windows", 0)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        if self._state.begin_epoch():
            self.expect_nothing()
            self.expect(self._state.take_begun())

    # ---- rows

    def run(self, columns: Columns, input_index: int) -> None:
        columns, ends = self._assigned(columns)
        if len(columns):
            self.accumulate(columns, ends)

    def _assigned(self, columns: Columns) -> tuple[Columns, Array]:
        """The rows that are not late, with their slices."""
        window, slices = self.window, self.slices
        if window.time is None:
            assert window.end is not None
            ends = local_milliseconds(columns.arrays[window.end], "UTC")
        elif window.event_time:
            ends = slices.ends(local_milliseconds(columns.arrays[window.time], window.zone))
        else:
            now = self._local(self.context.clock.now_ms)
            ends = np.full(len(columns), slices.ends(np.array([now]))[0], np.int64)
        if not self.shares and window.time is not None:
            columns, ends = self._to_windows(columns, ends)
            late = self.is_passed(ends)
        else:
            late = self.is_passed(ends)
            if late.any() and self.slices.kind != "TUMBLE":
                late = self._late_for_all(ends, late)
        if late.any():
            kept = np.flatnonzero(~late)
            columns, ends = columns.take(kept), ends[kept]
        return columns, ends

    def _late_for_all(self, ends: Array, passed: Array) -> Array:
        """Rows whose slice has fired may still be in windows that have not."""
        late = self.is_passed(self.slices.last_windows(ends))
        if self.slices.kind == "CUMULATE":  # what has fired is kept in the first slice
            some = passed & ~late
            ends[some] = [self.slices.start(end) + self.slices.step for end in ends[some].tolist()]
        return late

    def _to_windows(self, columns: Columns, ends: Array) -> tuple[Columns, Array]:
        every = [self.slices.windows(end) for end in ends.tolist()]
        rows = np.repeat(np.arange(len(ends)), [len(w) for w in every])
        return columns.take(rows), np.array([end for w in every for end in w], np.int64)

    def accumulate(self, columns: Columns, ends: Array) -> None:
        keys = self.key_columns(columns, self.spec.keys)
        groups = group_rows([pa.array(ends), *keys], len(columns))
        order, starts = groups.order()
        rows = columns if groups.count in (1, len(columns)) else columns.take(order)
        if groups.count == len(columns):
            starts = np.arange(len(columns))
        first = pa.array(groups.first)
        of_groups = [key.take(first) for key in keys]
        codes = hash_codes(of_groups, groups.count)
        names, slots = self._state.find(ends[groups.first], of_groups, codes)
        segments = Segments(starts, len(rows), names, CanonicalKeys(names, codes))
        signs = signs_of(rows) if self.spec.retracts else None
        state = self._state.rows
        base = [field[slots] for field in state.fields]
        state.put(slots, self.aggregates.fold(rows, signs, segments, base))
        self.expect(self._state.take_begun())

    # ---- windows

    def windows_of(self, slice_end: int) -> Sequence[int]:
        return self.slices.windows(slice_end) if self.shares else (slice_end,)

    def fire(self, ends: Sequence[int]) -> None:
        if self.shares and self.slices.kind == "CUMULATE":
            for end in ends:
                self._fire_cumulative(end)
            self.expect(self._state.take_begun())
            return
        for together in self._state.in_parts(ends, self._slices_of):  # each costs about the same as one
            self._emit(*self._state.windows(together, self._slices_of))
            for end in together:
                self._drop(end)

    def _slices_of(self, end: int) -> Iterable[int]:
        """The slices that the window of an end is put together of."""
        if not self.shares:
            return (end,)
        slices = self.slices.of_window(end)
        return slices[::-1] if self.spec.newest_first and not self.context.batch_mode else slices

    def _fire_cumulative(self, end: int) -> None:
        state, slices = self._state, self.slices
        first = slices.start(end) + slices.step
        if end != first:
            state.add(first, state.read(end))
            state.drop(end)
        self._emit(*state.windows([end], lambda _: (first,)))
        if end == slices.start(end) + slices.size:
            state.drop(first)

    def _drop(self, end: int) -> None:
        """Remove what no later window needs."""
        for over in self.slices.over_with(end) if self.shares else (end,):
            if self.aggregates.keeps_more:
                contents = self._state.read(over)
                codes = hash_codes(contents.keys, len(contents))
                names, _ = self._state.find(np.full(len(contents), over, np.int64), contents.keys, codes)
                for name, key in zip(names, canonical_column_keys(names, codes), strict=True):
                    self.aggregates.clear(name, key)
            self._state.drop(over)

    def _emit(self, ends: Array, contents: Contents) -> None:
        """Emit the results of windows, of which *ends* has one for each key."""
        if self.spec.retracts and len(contents):
            there = np.flatnonzero(contents.fields[0] > 0)
            ends = ends[there]
            contents = Contents(
                [k.take(pa.array(there)) for k in contents.keys],
                [f[there] for f in contents.fields],
                contents.slots[there],
            )
        count = len(contents)
        if not count:
            return
        results = self.aggregates.results(contents.fields)
        times = self._times.arrays(self.slices.starts(ends), ends)
        self.emit(Columns([*contents.keys, *results, *times], count))

    def finish(self) -> None:
        if self.context.batch_mode:
            self._state.rows.drop()


def window_aggregate(program: OperatorProgram, spec: WindowAggregate) -> TimedWindows:
    """The operator of an aggregate over a windowing TVF."""
    if spec.window.kind == "SESSION":
        from firesteel.sql.operators.session_aggregate import SessionAggregateOperator

        return SessionAggregateOperator(program, spec, spec.window)
    return WindowAggregateOperator(program, spec)
