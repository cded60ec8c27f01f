"""Windows that fire as time goes on: what the aggregates over slices and over sessions have in common."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from firesteel.runtime.batch import END, MAX_WATERMARK, MIN_WATERMARK, Batch, Mark
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.slices import local_milliseconds
from firesteel.sql.operators.specs import TimeWindow
from firesteel.sql.operators.timed_rows import KeptProgress
from firesteel.state.backend import OperatorState

__all__ = ["FAR", "TimedWindows"]

FAR: Final = 2**62  # an instant that never comes


class TimedWindows(KeyedColumnsOperator):
    """The progress of time, of which the state keeps how far it has come. Subclasses say what fires."""

    def __init__(self, program: OperatorProgram, spec: Any, window: TimeWindow) -> None:
        super().__init__(program, spec)
        self.window = window
        self.minds_time = window.event_time
        self._progress: KeptProgress

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        assert state is not None
        self._progress = KeptProgress(state)
        super().open(context, state)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._progress.begin(self.watermark if self.window.event_time else MIN_WATERMARK)

    def process(self, batch: Batch, input_index: int = 0) -> None:
        super().process(batch, input_index)
        self.on_processing_time()

    def advance(self, watermark: int) -> None:
        if self.window.event_time:
            self._fire_until(watermark)

    def on_mark(self, mark: Mark, input_index: int) -> None:
        if mark == END and not self.window.event_time:
            self._fire_until(MAX_WATERMARK if self.context.batch_mode else self.context.clock.now_ms)
        super().on_mark(mark, input_index)

    def on_processing_time(self) -> None:
        if not self.window.event_time and not self.ended:
            self._fire_until(self.context.clock.now_ms)
            self.outputs.flush()

    def _fire_until(self, instant: int) -> None:
        """Fire the windows that end until then, and keep that time has come so far."""
        raise NotImplementedError

    def _local(self, instant: int) -> int:
        """As the clocks of the session show it, where windows are of instants."""
        if self.window.zone == "UTC" or instant in (MAX_WATERMARK, MIN_WATERMARK):
            return instant
        times = pa.array([instant], pa.timestamp("ms", "UTC"))
        return int(local_milliseconds(times, self.window.zone)[0])
