"""Sources in the task, and the assignment of timestamps and watermarks in mid-stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.connectors.base import Chunk, SourceReader
from firesteel.datastream._operators import TimestampsAndWatermarks
from firesteel.runtime.batch import END, MAX_WATERMARK, Batch, Mark
from firesteel.runtime.operators.base import BaseOperator, SubtaskContext
from firesteel.runtime.program import OperatorProgram, SourceAssignment
from firesteel.runtime.valve import WatermarkValve
from firesteel.runtime.watermarks import WatermarkTracker, assign_timestamps
from firesteel.state.backend import OperatorState


class SourceOperator(BaseOperator):
    """Reads what the epoch's assignment names; one watermark generator for each split, the minimum over
    the splits goes out (Flink: FLIP-27 ``SourceOperator`` with per-split watermarks)."""

    def __init__(self, program: OperatorProgram, reader: SourceReader) -> None:
        super().__init__(program)
        self._reader = reader
        self._strategy = program.watermark_strategy
        self._valve = WatermarkValve(())
        self._trackers: dict[str, WatermarkTracker] = {}
        self.positions: dict[str, Any] = {}
        self.ended_splits: list[str] = []

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._reader.open()

    def close(self) -> None:
        self._reader.close()

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self.positions = {}
        self.ended_splits = []

    def run(self, assignment: SourceAssignment) -> Iterator[None]:
        """Read; yields after each chunk so that the task can hand finished buffers on."""
        for split in assignment.new_splits:
            self._add_split(split)
        reading: list[tuple[str, Iterator[Chunk]]] = [
            (r.split.id, self._reader.read(r)) for r in assignment.ranges
        ]
        while reading:  # a chunk of each split in turn, so that their watermarks move together
            for split, chunks in tuple(reading):
                try:
                    chunk = next(chunks, None)
                except Exception as e:
                    raise self.failure(e) from e
                if chunk is None:
                    reading.remove((split, chunks))
                    continue
                self._chunk(split, chunk)
                yield
        self._finish_epoch(assignment.last)

    def _add_split(self, split: str) -> None:
        self._trackers[split] = WatermarkTracker(self._strategy, self.context.batch_mode, self.context.now_ms)
        self._valve.add_channel(split)

    def _chunk(self, split: str, chunk: Chunk) -> None:
        self.records_in += len(chunk.values)
        self.positions[split] = chunk.position
        try:
            stamps = assign_timestamps(self._strategy, chunk.values, chunk.timestamps)
            raw = self._trackers[split].observe(chunk.values, stamps, self.context.now_ms)
        except Exception as e:
            raise self.failure(e) from e
        marks = [(at, m) for at, mark in raw for m in self._valve.feed(split, mark)]
        if chunk.end:
            self.ended_splits.append(split)
            del self._trackers[split]
            marks += [(len(chunk.values), m) for m in self._valve.remove_channel(split)]
        if chunk.values or marks:
            self.outputs.main.emit(Batch(chunk.values, stamps, marks))

    def _finish_epoch(self, last: bool) -> None:
        marks: list[Mark] = []
        if last and not self._trackers:
            if not self.ended:
                self.ended = True
                marks.append(END)
        else:
            for split, tracker in self._trackers.items():
                for mark in tracker.end_epoch(self.context.now_ms):
                    marks += self._valve.feed(split, mark)
        if marks:
            self.outputs.main.emit(Batch([], None, [(0, m) for m in marks]))

    @property
    def watermark(self) -> int:
        return MAX_WATERMARK if self.ended else self._valve.output

    def next_timer_ms(self) -> int | None:
        due = [t for t in (tracker.idle_at_ms() for tracker in self._trackers.values()) if t is not None]
        return min(due, default=None)

    def snapshot(self) -> Any:
        return (
            self._valve.snapshot(),
            {split: tracker.snapshot() for split, tracker in self._trackers.items()},
            self.ended,
        )

    def restore(self, carry: Any) -> None:
        self._valve = WatermarkValve(())
        self._trackers = {}
        self.ended = False
        if carry is None:
            return
        valve, trackers, self.ended = carry
        self._valve.restore(valve)
        for split, snapshot in trackers.items():
            tracker = WatermarkTracker(self._strategy, self.context.batch_mode, self.context.now_ms)
            tracker.restore(snapshot)
            self._trackers[split] = tracker


class TimestampsAndWatermarksOperator(BaseOperator):
    """assign_timestamps_and_watermarks: watermarks of the input are replaced, only its end goes through."""

    def __init__(self, program: OperatorProgram, spec: TimestampsAndWatermarks) -> None:
        super().__init__(program)
        self._strategy = spec.strategy
        self._tracker: WatermarkTracker

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._tracker = WatermarkTracker(self._strategy, context.batch_mode, context.now_ms)

    def process(self, batch: Batch, input_index: int = 0) -> None:
        values = batch.values
        self.records_in += len(values)
        try:
            stamps = assign_timestamps(self._strategy, values, batch.timestamps)
            marks = self._tracker.observe(values, stamps, self.context.now_ms)
        except Exception as e:
            raise self.failure(e) from e
        if any(mark == END for _, mark in batch.marks):
            self.ended = True
            marks.append((len(values), END))
        if values or marks:
            self.outputs.main.emit(Batch(values, stamps, marks))

    def end_epoch(self) -> None:
        if self.ended:
            return
        marks = self._tracker.end_epoch(self.context.now_ms)
        if marks:
            self.outputs.main.emit(Batch([], None, [(0, m) for m in marks]))

    @property
    def watermark(self) -> int:
        return MAX_WATERMARK if self.ended else self._tracker.watermark

    def next_timer_ms(self) -> int | None:
        return None if self.ended else self._tracker.idle_at_ms()

    def snapshot(self) -> Any:
        return self._tracker.snapshot(), self.ended

    def restore(self, carry: Any) -> None:
        self.ended = False
        self._tracker = WatermarkTracker(self._strategy, self.context.batch_mode, self.context.now_ms)
        if carry is not None:
            tracker, self.ended = carry
            self._tracker.restore(tracker)
