"""Sessions that fire as they end: what aggregates over them and SESSION on its own have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from firesteel.common.columns import Columns
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.kernels.segments import Array
from firesteel.sql.operators.slices import UTC, instant_of, local_milliseconds
from firesteel.sql.operators.specs import TimeWindow
from firesteel.sql.operators.timed_windows import FAR, TimedWindows

__all__ = ["SessionWindows"]


class SessionWindows(TimedWindows):
    """Subclasses keep ``_next``: no session ends before; FAR: there is none."""

    def __init__(self, program: OperatorProgram, spec: Any, window: TimeWindow) -> None:
        super().__init__(program, spec, window)
        self._next = FAR

    def end_epoch(self) -> None:
        if self.window.event_time and not self.context.batch_mode:
            self._progress.end()

    def heeded(self, columns: Columns, input_index: int) -> Array | None:
        # A row that comes where a session ends is in it, if it comes before the session is over.
        return self.times_of(columns) - 1 if self.window.zone in UTC else None

    def times_of(self, columns: Columns) -> Array:
        """The time of each row, as the clocks of the session show it."""
        window = self.window
        if window.event_time:
            assert window.time is not None
            return local_milliseconds(columns.arrays[window.time], window.zone)
        return np.full(len(columns), self._local(self.context.clock.now_ms), np.int64)

    def next_timer_ms(self) -> int | None:
        if self.window.event_time or self.ended or self._next == FAR:
            return None
        return instant_of(self._next, self.window.zone) - 1

    def _fire_until(self, instant: int) -> None:
        self._progress.value = max(self._progress.value, instant)
        local = self._local(instant)
        if self._next - 1 <= local:
            self.fire(local)

    def fire(self, local: int) -> None:
        """Let the sessions go that are over at this time."""
        raise NotImplementedError
