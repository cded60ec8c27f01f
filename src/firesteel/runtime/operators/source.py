"""Sources in the task, and the assignment of timestamps and watermarks in mid-stream."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from firesteel.program.bad_records import SIDE_OUTPUT
from firesteel.program.operators import TimestampsAndWatermarks
from firesteel.program.sources import Chunk, Chunks, PollingReader, ReadRange, SourceReader, Split
from firesteel.runtime.batch import END, MAX_WATERMARK, NO_TIMESTAMP, Batch, Mark
from firesteel.runtime.flow_control import Pieces
from firesteel.runtime.moved import ANEW
from firesteel.runtime.operators.base import BaseOperator, Output, Outputs, SubtaskContext
from firesteel.runtime.operators.planned_ranges import PlannedRanges, ReadSoFar
from firesteel.runtime.program import OperatorProgram, SourceAssignment, SplitTime
from firesteel.runtime.time_limit import TimeLimit
from firesteel.runtime.valve import WatermarkValve
from firesteel.runtime.watermarks import WatermarkTracker, assign_timestamps, source_instants
from firesteel.state.backend import OperatorState

_SPLITS_AT_ONCE: Final = 16  # each may hold a file open
RECORDS_IN_ERRORS: Final = "numRecordsInErrors"  # as in Flink
_NO_SPLIT: Final = ""  # what a subtask without a split waits for: as a split without records it may be idle


class Polled(NamedTuple):
    """What a source has handed on.

    :param seconds: that it took.
    :param has_more: the rest of a chunk follows at once.
    """

    records: int
    seconds: float
    has_more: bool


_Started: TypeAlias = tuple[str, Chunks]  # a split and what is being read of it
_Reading: TypeAlias = deque[_Started]


class SourceOperator(BaseOperator):
    """Reads what the epoch's assignment names; one watermark generator for each split, the minimum over
    the splits goes out (Flink: FLIP-27 ``SourceOperator`` with per-split watermarks)."""

    def __init__(self, program: OperatorProgram, reader: SourceReader) -> None:
        super().__init__(program)
        self._reader = reader
        if reader.record_type is not None and reader.record_type == program.output_type:
            self.outputs = Outputs(Output(None))
        self._strategy = program.watermark_strategy
        self._makes_watermarks = self._strategy is not None and self._strategy.makes_watermarks
        self._valve = WatermarkValve(())
        self._trackers: dict[str, WatermarkTracker] = {}
        self._limit: int | None = None
        self.positions: dict[str, Any] = {}
        self.ended_splits: list[str] = []
        self.is_cut = False
        # How old the last record of the epoch was when it came, by its event time.
        self.lag_ms: int | None = None
        self._says_again = False
        self._polling: PollingReader | None = None
        self._planned: PlannedRanges | None = None  # the same, where the driver plans what is read

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._reader.open()

    def close(self) -> None:
        self.stop_polling()
        self._reader.close()

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self.positions = {}
        self.ended_splits = []
        self.is_cut = False
        self.lag_ms = None

    def run(self, assignment: SourceAssignment, limit: TimeLimit) -> Iterator[None]:
        """Read until the ranges end or the time is over; yields after each chunk so that the task can hand
        finished buffers on."""
        self._limit = assignment.limit
        self._add_splits(assignment.new_splits)
        one_by_one = self._one_by_one(assignment.ranges)
        ranges = assignment.ranges if one_by_one else self._rotated(assignment.ranges)
        started = map(partial(self._start, limit=limit), ranges)
        reading = deque(islice(started, 1 if one_by_one else _SPLITS_AT_ONCE))
        try:
            yield from self._read_in_turns(reading, started, limit, one_by_one)
        finally:  # left to the garbage collector, a file is lost before the generator that closes it
            for _, chunks in reading:
                chunks.close()
        if assignment.drain:
            self._trackers.clear()
        self._finish_epoch(assignment.last)

    def _one_by_one(self, ranges: Sequence[ReadRange]) -> bool:
        return not self._makes_watermarks and any(r.in_turn for r in ranges)

    def _read_in_turns(
        self, reading: _Reading, more: Iterator[_Started], limit: TimeLimit, one_by_one: bool
    ) -> Iterator[None]:
        """A chunk of each split in turn, so that their watermarks move together.

        :param one_by_one: a split is begun only when the one before it has come to its end.
        """
        now_s = limit.now_s()
        while reading:
            split, chunks = reading[0]
            chunk = next(chunks, None)
            if chunk is not None:
                self._chunk(split, chunk)
                yield
            if chunk is None or self._is_ahead(split):
                chunks.close()
                reading.popleft()
                if not one_by_one or self.ended_splits[-1:] == [split]:
                    reading.extend(islice(more, 1))
            else:
                reading.rotate(-1)
            begun_s, now_s = now_s, limit.now_s()
            limit.worked(0 if chunk is None else max(1, len(chunk.values)), now_s - begun_s)
            if limit.is_over:
                self.is_cut = bool(reading)
                break

    # ---- real-time mode

    def start_polling(self) -> None:
        """The task goes on from epoch to epoch: splits come by ``add_splits``, records by ``poll``."""
        self._planned = None if self._reader.polls else PlannedRanges(self._reader, self._makes_watermarks)
        self._polling = self._planned or self._reader.polling()

    def stop_polling(self) -> None:
        polling, self._polling = self._polling, None
        if polling is not None:
            polling.close()

    def add_splits(self, splits: Sequence[tuple[Split, Any]]) -> None:
        """Read these, too, each after a position."""
        assert self._polling is not None
        self._polling.add_splits(splits)
        self._add_splits(split.id for split, _ in splits if split.id not in self._trackers)

    def add_ranges(self, ranges: Sequence[ReadRange]) -> None:
        """Read these, which the driver has planned."""
        assert self._planned is not None
        self._planned.add_ranges(ranges)

    @property
    def ranges_over(self) -> int:
        """How many of those were read."""
        return 0 if self._planned is None else self._planned.over

    @property
    def read_so_far(self) -> dict[str, ReadSoFar]:
        """How far, by split."""
        return {} if self._planned is None else dict(self._planned.read_so_far)

    def hold_above(self, limit: int | None) -> None:
        """Let splits wait whose watermark is above *limit* (alignment)."""
        self._limit = limit

    def poll(self, max_records: int, wait_ms: Callable[[], float], pieces: Pieces) -> Iterator[Polled]:
        """Hand on what there is, and wait for a while when there is nothing.

        :param pieces: how many records of a chunk go on at once.
        """
        held = () if self._limit is None else frozenset(filter(self._is_ahead, self._trackers))
        assert self._polling is not None
        for split, chunk in self._polling.poll(max_records, wait_ms(), held):
            at, stop = 0, -1
            while stop < len(chunk.values):
                stop = min(len(chunk.values), at + pieces.records)
                part = chunk if at == 0 and stop == len(chunk.values) else chunk.part(at, stop)
                begun_s = time.perf_counter()
                with self.context.watch.on(self.context.vertex_id):
                    self._chunk(split, part)
                worked_s = time.perf_counter() - begun_s
                yield Polled(stop - at, worked_s, has_more=stop < len(chunk.values))
                at = stop

    def end_polling(self, last: bool, drain: bool) -> None:
        """The epoch ends here. *last*: no split will be added, so the input ends with those that there are;
        *drain*: whatever they still have."""
        if self._polling is not None:
            self.positions.update(self._polling.end_epoch())
        if drain:
            self._trackers.clear()
        self._finish_epoch(last or drain)

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        """A checkpoint is complete that holds these positions of splits."""
        if self._polling is not None:
            self._polling.checkpoint_completed(positions)

    def _rotated(self, ranges: Sequence[ReadRange]) -> Sequence[ReadRange]:
        """Each epoch begins with another split, so that a time limit never starves any of them."""
        first = (self.context.epoch - 1) % len(ranges) if ranges else 0
        return [*ranges[first:], *ranges[:first]]

    def _start(self, range_: ReadRange, limit: TimeLimit) -> _Started:
        return range_.split.id, self._read(range_, limit)

    def _read(self, range_: ReadRange, limit: TimeLimit) -> Chunks:
        """The chunks of a range, read in parts of the size that the time limit allows. The bytes of the range
        are shared among them, because the size of records is not known here."""
        position, left = range_.position, range_.max_records
        while left > 0:
            wanted = min(left, limit.piece)
            part = range_
            if wanted < range_.max_records:
                room = max(1, range_.max_bytes * wanted // range_.max_records)
                part = replace(range_, position=position, max_records=wanted, max_bytes=room)
            before, ended = position, False
            for chunk in self._reader.read(part):
                position, ended = chunk.position, chunk.end
                yield chunk
            if ended or position == before:
                return
            left -= wanted

    def _is_ahead(self, split: str) -> bool:
        """The split has come further than its group may (alignment): the rest of its range is for later."""
        tracker = self._trackers.get(split)
        return tracker is not None and tracker.is_ahead(self._limit)

    def tick(self) -> None:
        """Periodic watermarks, and splits that say nothing any more."""
        if not self.ended:
            self._add_no_split()
            now_ms = self.context.clock.now_ms
            self._say([(s, tracker.tick(now_ms, self._limit)) for s, tracker in self._trackers.items()])

    def _say(self, marks: Iterable[tuple[str, list[Mark]]]) -> None:
        """What splits say becomes what the source says."""
        self._emit([m for split, raw in marks for mark in raw for m in self._valve.feed(split, mark)])

    def _add_splits(self, splits: Iterable[str]) -> None:
        marks: list[Mark] = []
        for split in splits:
            self._trackers[split] = WatermarkTracker(self._strategy, self.context)
            marks += self._valve.add_channel(split)
        if len(self._trackers) > 1:
            marks += self._remove_split(_NO_SPLIT)
        self._emit(marks)

    def _add_no_split(self) -> None:
        """A subtask that has no split waits for one, and may be idle meanwhile."""
        if not self._trackers:
            self._add_splits([_NO_SPLIT])

    def _remove_split(self, split: str) -> list[Mark]:
        if self._trackers.pop(split, None) is None:
            return []
        return self._valve.remove_channel(split)

    def _emit(self, marks: list[Mark]) -> None:
        if marks:
            for output in self.outputs.all:
                output.emit(Batch([], None, [(0, m) for m in marks]))

    def _bad_records(self, chunk: Chunk) -> None:
        """Send bad records to their side output, before the watermarks of their chunk."""
        metrics = self.context.metric_group(self.program)
        metrics.counter(RECORDS_IN_ERRORS).inc(len(chunk.bad) + chunk.ignored)
        if not chunk.bad:
            return
        output = self.outputs.side.get(SIDE_OUTPUT)
        if output is None:
            raise chunk.bad[0].as_error(self.program.name)
        output.emit(Batch(list(chunk.bad)))

    def _chunk(self, split: str, chunk: Chunk) -> None:
        if chunk.bad or chunk.ignored:
            self._bad_records(chunk)
        self.records_in += len(chunk.values)
        self.positions[split] = chunk.position
        tracker = self._trackers[split]
        known = None if chunk.timestamps is None else source_instants(chunk.timestamps)
        stamps = assign_timestamps(self._strategy, chunk.values, known, self.context.clock.now_ms)
        if stamps and stamps[-1] != NO_TIMESTAMP:
            self.lag_ms = time.time_ns() // 1_000_000 - stamps[-1]
        raw = tracker.observe(chunk.values, stamps, self.context.clock.now_ms)
        if chunk.marks and not self.context.batch_mode:
            raw = sorted([*raw, *tracker.take(chunk.marks)], key=itemgetter(0))
        marks = [(at, m) for at, mark in raw for m in self._valve.feed(split, mark)]
        if chunk.end:
            self.ended_splits.append(split)
            marks += [(len(chunk.values), m) for m in self._remove_split(split)]
        if chunk.values or marks:
            self.outputs.main.emit(Batch(chunk.values, stamps, marks))
        if marks:
            for output in self.outputs.all[1:]:
                output.emit(Batch([], None, [(0, mark) for _, mark in marks]))

    def _finish_epoch(self, last: bool) -> None:
        if last and self._trackers.keys() <= {_NO_SPLIT}:
            self._trackers.clear()
            self.ended = True
            self._emit([END])
            return
        self._add_no_split()
        now_ms = self.context.clock.now_ms
        self._say([(s, tracker.end_epoch(now_ms, self._limit)) for s, tracker in self._trackers.items()])

    @property
    def watermark(self) -> int:
        return MAX_WATERMARK if self.ended else self._valve.output

    def next_timer_ms(self) -> int | None:
        due = (tracker.next_timer_ms() for tracker in self._trackers.values())
        return min((t for t in due if t is not None), default=None)

    def split_times(self) -> dict[str, SplitTime]:
        """How far each split is, where the driver asks for it."""
        if self._strategy is None or self._strategy.alignment is None:
            return {}
        return {s: SplitTime(t.watermark, t.idle) for s, t in self._trackers.items() if s != _NO_SPLIT}

    def snapshot(self) -> Any:
        trackers = {split: tracker.snapshot() for split, tracker in self._trackers.items()}
        return self._valve.snapshot(), trackers, self.ended

    def restore(self, carry: Any) -> None:
        self._valve = WatermarkValve(())
        self._trackers = {}
        self.ended = False
        self._says_again = False
        if carry is None:
            return
        valve, trackers, self.ended = carry
        for split, snapshot in trackers.items():
            self._trackers[split] = WatermarkTracker(self._strategy, self.context)
            self._trackers[split].restore(snapshot)
        if valve is ANEW:
            self._says_again = True
            self._valve = WatermarkValve(self._trackers)
        else:
            self._valve.restore(valve)

    def on_processing_time(self) -> None:
        """The subtasks behind are others than before: say how far the splits are, once."""
        if self._says_again:
            self._says_again = False
            self._say([(split, tracker.present) for split, tracker in self._trackers.items()])


class TimestampsAndWatermarksOperator(BaseOperator):
    """assign_timestamps_and_watermarks: watermarks of the input are replaced, only its end goes through."""

    def __init__(self, program: OperatorProgram, spec: TimestampsAndWatermarks) -> None:
        super().__init__(program)
        self._strategy = spec.strategy
        self._tracker: WatermarkTracker
        self._says_again = False

    def process(self, batch: Batch, input_index: int = 0) -> None:
        values = batch.values
        self.records_in += len(values)
        stamps = assign_timestamps(self._strategy, values, batch.timestamps, self.context.clock.now_ms)
        marks = self._tracker.observe(values, stamps, self.context.clock.now_ms)
        if any(mark == END for _, mark in batch.marks):
            self.ended = True
            marks.append((len(values), END))
        if values or marks:
            self.outputs.main.emit(Batch(values, stamps, marks))

    def tick(self) -> None:
        if not self.ended:
            self._say(self._tracker.tick(self.context.clock.now_ms))

    def end_epoch(self) -> None:
        if not self.ended:
            self._say(self._tracker.end_epoch(self.context.clock.now_ms))

    def _say(self, marks: list[Mark]) -> None:
        if marks:
            self.outputs.main.emit(Batch([], None, [(0, m) for m in marks]))

    @property
    def watermark(self) -> int:
        return MAX_WATERMARK if self.ended else self._tracker.watermark

    def next_timer_ms(self) -> int | None:
        return None if self.ended else self._tracker.next_timer_ms()

    def snapshot(self) -> Any:
        return self._tracker.snapshot(), self.ended

    def restore(self, carry: Any) -> None:
        self.ended = False
        self._tracker = WatermarkTracker(self._strategy, self.context)
        if carry is not None:
            tracker, self.ended = carry
            self._tracker.restore(tracker)

    def take_over(self, carries: Sequence[Any]) -> None:
        """Go on where the subtask was that was least far, and say so."""
        trackers = []
        for snapshot, _ in carries:
            trackers.append(WatermarkTracker(self._strategy, self.context))
            trackers[-1].restore(snapshot)
        if trackers:
            self._tracker = min(trackers, key=lambda tracker: tracker.watermark)
            self._says_again = True

    def on_processing_time(self) -> None:
        if self._says_again:
            self._says_again = False
            self._say(self._tracker.present)
