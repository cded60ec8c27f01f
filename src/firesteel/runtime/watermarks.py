"""Watermark generation: from records to marks.

Periodic watermarks come after fixed record counts and at the end of the epoch, never by a clock: the same
input gives the same marks (design, section 4). Punctuated generators emit wherever they like.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, Final

import cloudpickle

from firesteel.common.watermark_strategy import WatermarkOutput, WatermarkStrategy
from firesteel.runtime.batch import ACTIVE, IDLE, MIN_WATERMARK, NO_TIMESTAMP, Mark

PERIOD_RECORDS: Final = 1000  # records between two periodic emissions


class _GeneratorOutput(WatermarkOutput):
    """Where a custom generator puts its watermarks."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []

    def emit_watermark(self, watermark_ms: int) -> None:
        self.marks += (ACTIVE, watermark_ms)

    def mark_idle(self) -> None:
        self.marks.append(IDLE)

    def mark_active(self) -> None:
        self.marks.append(ACTIVE)


class BoundedGenerator:
    """W = max timestamp - bound - 1 (T02); a bound of 0 serves monotonous timestamps."""

    __slots__ = ("_bound", "max_timestamp")

    def __init__(self, bound_ms: int) -> None:
        self._bound = bound_ms
        self.max_timestamp = MIN_WATERMARK + bound_ms + 1

    def observe(self, values: Sequence[Any], stamps: Sequence[int]) -> list[tuple[int, Mark]]:
        self.max_timestamp = max(self.max_timestamp, max(stamps))
        return []

    def periodic(self) -> list[Mark]:
        return [self.max_timestamp - self._bound - 1]

    def snapshot(self) -> Any:
        return self.max_timestamp

    def restore(self, snapshot: Any) -> None:
        self.max_timestamp = snapshot


class CustomGenerator:
    """A user's WatermarkGenerator: ``on_event`` for each record, ``on_periodic_emit`` now and then."""

    __slots__ = ("_generator", "_output")

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self._output = _GeneratorOutput()

    def observe(self, values: Sequence[Any], stamps: Sequence[int]) -> list[tuple[int, Mark]]:
        marks: list[tuple[int, Mark]] = []
        output, on_event = self._output, self._generator.on_event
        for i, (value, stamp) in enumerate(zip(values, stamps, strict=True)):
            on_event(value, stamp, output)
            if output.marks:
                marks.extend((i + 1, m) for m in output.marks)
                output.marks = []
        return marks

    def periodic(self) -> list[Mark]:
        self._generator.on_periodic_emit(self._output)
        marks, self._output.marks = self._output.marks, []
        return marks

    def snapshot(self) -> Any:
        try:
            return pickle.dumps(self._generator, 5)
        except Exception:  # a class of the user's script: by value
            return cloudpickle.dumps(self._generator, 5)

    def restore(self, snapshot: Any) -> None:
        self._generator = pickle.loads(snapshot)


class NoGenerator:
    """no_watermarks(), and every source in BATCH mode."""

    __slots__ = ()

    def observe(self, values: Sequence[Any], stamps: Sequence[int]) -> list[tuple[int, Mark]]:
        return []

    def periodic(self) -> list[Mark]:
        return []

    def snapshot(self) -> Any:
        return None

    def restore(self, snapshot: Any) -> None: ...


Generator = BoundedGenerator | CustomGenerator | NoGenerator


def make_generator(strategy: WatermarkStrategy | None, batch_mode: bool) -> Generator:
    if strategy is None or batch_mode:
        return NoGenerator()
    match strategy.generator_factory:
        case "bounded" | "monotonous":  # monotonous: a bound of 0
            return BoundedGenerator(strategy.max_out_of_orderness_ms)
        case "none":
            return NoGenerator()
        case factory:
            assert callable(factory)
            return CustomGenerator(factory())


class WatermarkTracker:
    """The watermarks of one stream of records (a split, or the input of an assigner in mid-stream)."""

    __slots__ = ("_generator", "_idle", "_idle_timeout_ms", "_last_activity_ms", "_seen", "watermark")

    def __init__(self, strategy: WatermarkStrategy | None, batch_mode: bool, now_ms: int) -> None:
        self._generator = make_generator(strategy, batch_mode)
        self._idle_timeout_ms = None if strategy is None or batch_mode else strategy.idle_timeout_ms
        self._last_activity_ms = now_ms
        self._idle = False
        self._seen = 0
        self.watermark = MIN_WATERMARK

    def observe(self, values: list[Any], stamps: Sequence[int] | None, now_ms: int) -> list[tuple[int, Mark]]:
        """The marks that belong between (and after) these records."""
        if not values:
            return []
        marks: list[tuple[int, Mark]] = []
        self._last_activity_ms = now_ms
        if self._idle:
            self._idle = False
            marks.append((0, ACTIVE))
        if isinstance(self._generator, NoGenerator):
            return marks
        if stamps is None:
            stamps = [NO_TIMESTAMP] * len(values)
        start = 0
        while start < len(values):
            stop = min(len(values), start + PERIOD_RECORDS - self._seen % PERIOD_RECORDS)
            whole = start == 0 and stop == len(values)
            found = self._generator.observe(
                values if whole else values[start:stop], stamps if whole else stamps[start:stop]
            )
            for at, mark in found:
                self._keep(marks, start + at, mark)
            self._seen += stop - start
            if self._seen % PERIOD_RECORDS == 0:
                for mark in self._generator.periodic():
                    self._keep(marks, stop, mark)
            start = stop
        return marks

    def end_epoch(self, now_ms: int) -> list[Mark]:
        """The periodic emission at the end of the epoch, and idleness."""
        marks: list[tuple[int, Mark]] = []
        for mark in self._generator.periodic():
            self._keep(marks, 0, mark)
        timeout = self._idle_timeout_ms
        if timeout is not None and not self._idle and now_ms - self._last_activity_ms >= timeout:
            self._idle = True
            marks.append((0, IDLE))
        return [m for _, m in marks]

    def _keep(self, marks: list[tuple[int, Mark]], position: int, mark: Mark) -> None:
        if type(mark) is int:
            if mark <= self.watermark:  # a watermark never goes back
                return
            self.watermark = mark
        elif mark == IDLE:
            if self._idle:
                return
            self._idle = True
        elif mark == ACTIVE:
            if not self._idle:
                return
            self._idle = False
        marks.append((position, mark))

    def idle_at_ms(self) -> int | None:
        """When the stream becomes idle if nothing comes."""
        if self._idle_timeout_ms is None or self._idle:
            return None
        return self._last_activity_ms + self._idle_timeout_ms

    def snapshot(self) -> Any:
        return self._generator.snapshot(), self._idle, self._last_activity_ms, self._seen, self.watermark

    def restore(self, snapshot: Any) -> None:
        generator, self._idle, self._last_activity_ms, self._seen, self.watermark = snapshot
        self._generator.restore(generator)


def assign_timestamps(
    strategy: WatermarkStrategy | None, values: list[Any], stamps: Sequence[int] | None
) -> Sequence[int] | None:
    """The timestamps of the strategy's assigner; without one those the records have."""
    assigner = None if strategy is None else strategy.timestamp_assigner
    if assigner is None:
        return stamps
    extract = assigner.extract_timestamp
    if stamps is None:
        return [extract(v, NO_TIMESTAMP) for v in values]
    return [extract(v, t) for v, t in zip(values, stamps, strict=True)]
