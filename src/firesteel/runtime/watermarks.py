"""Watermark generation: from records to marks.

Periodic watermarks come after fixed record counts and at the end of the epoch. In epochs they never come by a
clock: the same input gives the same marks, and an interval longer than the usual one thins them out by the
time of the epochs, which is fixed too. In real time they also come by the clock of the task. Punctuated
generators emit wherever they like.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import cloudpickle

from firesteel.common.errors import ProgramError
from firesteel.common.watermark_strategy import IngestionTimeAssigner, WatermarkOutput, WatermarkStrategy
from firesteel.runtime.batch import ACTIVE, IDLE, MIN_WATERMARK, NO_TIMESTAMP, Mark
from firesteel.state.instants import instant_of

if TYPE_CHECKING:
    from firesteel.runtime.operators.base import SubtaskContext

PERIOD_RECORDS: Final = 1000  # records between two periodic emissions
USUAL_INTERVAL_MS: Final = 200  # pipeline.auto-watermark-interval when it is not set


class _GeneratorOutput(WatermarkOutput):
    """Where a custom generator puts its watermarks."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []

    def emit_watermark(self, watermark_ms: int) -> None:
        self.marks += (ACTIVE, *_instants([watermark_ms], "emit_watermark takes"))

    def mark_idle(self) -> None:
        self.marks.append(IDLE)

    def mark_active(self) -> None:
        self.marks.append(ACTIVE)


class BoundedGenerator:
    """W = max timestamp - bound - 1; a bound of 0 serves monotonous timestamps."""

    __slots__ = ("_bound", "max_timestamp")

    moves_alone = False  # whether ``periodic`` may say something new without new records

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

    __slots__ = ("_generator", "_output", "moves_alone")

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self._output = _GeneratorOutput()
        self.moves_alone = not _is_empty(getattr(type(generator), "on_periodic_emit", None))

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
        except (pickle.PicklingError, AttributeError, TypeError):  # a class of the user's script: by value
            return cloudpickle.dumps(self._generator, 5)

    def restore(self, snapshot: Any) -> None:
        self._generator = pickle.loads(snapshot)


class NoGenerator:
    """no_watermarks(), and every source in BATCH mode."""

    __slots__ = ()

    moves_alone = False

    def observe(self, values: Sequence[Any], stamps: Sequence[int]) -> list[tuple[int, Mark]]:
        return []

    def periodic(self) -> list[Mark]:
        return []

    def snapshot(self) -> Any:
        return None

    def restore(self, snapshot: Any) -> None: ...


def _nothing(generator: Any, output: Any) -> None: ...


def _nothing_said(generator: Any, output: Any) -> None:
    """Words."""


def _is_empty(method: Any) -> bool:
    """Whether the body of a method is ``pass``: punctuated generators have such an ``on_periodic_emit``."""
    code = getattr(method, "__code__", None)
    return code is not None and code.co_code in (_nothing.__code__.co_code, _nothing_said.__code__.co_code)


@runtime_checkable
class BatchGenerator(Protocol):
    """A generator that sees whole batches. What makes one is the ``generator_factory`` of a strategy."""

    moves_alone: bool

    def observe(self, values: Any, stamps: Sequence[int]) -> list[tuple[int, Mark]]:
        """Take records; return what is said between them."""

    def periodic(self) -> list[Mark]: ...

    def snapshot(self) -> Any: ...

    def restore(self, snapshot: Any) -> None: ...


Generator = BatchGenerator | BoundedGenerator | CustomGenerator | NoGenerator


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
            made = factory()
            if isinstance(made, BatchGenerator):
                return made
            return CustomGenerator(_checked_generator(made))


def _checked_generator(generator: Any) -> Any:
    if all(callable(getattr(generator, name, None)) for name in ("on_event", "on_periodic_emit")):
        return generator
    raise ProgramError(
        "for_generator was given something that does not make a WatermarkGenerator",
        detail=f"it gave {generator!r}",
        hint="pass a subclass of WatermarkGenerator, or a function that returns an object of one",
    )


class WatermarkTracker:
    """The watermarks of one stream of records (a split, or the input of an assigner in mid-stream)."""

    _CARRIED: Final = (  # from epoch to epoch, beside the generator
        "_emitted_ms",
        "_last_activity_ms",
        "_marked_idle",
        "_pending",
        "_seen",
        "_silent",
        "_waits",
        "watermark",
    )
    __slots__ = ("_generator", "_idle_timeout_ms", "_interval_ms", *_CARRIED)

    def __init__(self, strategy: WatermarkStrategy | None, context: SubtaskContext) -> None:
        batch = context.batch_mode
        self._generator = make_generator(strategy, batch)
        self._idle_timeout_ms = None if strategy is None or batch else strategy.idle_timeout_ms
        self._interval_ms = context.watermark_interval_ms
        now_ms = context.clock.now_ms
        self._emitted_ms = now_ms  # when the generator was last asked for its periodic watermark
        self._pending = False  # there were records since
        self._last_activity_ms = now_ms
        self._silent = False  # idle because nothing came for long enough ...
        self._marked_idle = False  # ... or because the generator says so
        self._waits = False  # for the others of its group (alignment)
        self._seen = 0
        self.watermark = MIN_WATERMARK

    @property
    def idle(self) -> bool:
        return self._silent or self._marked_idle

    def observe(self, values: list[Any], stamps: Sequence[int] | None, now_ms: int) -> list[tuple[int, Mark]]:
        """The marks that belong between (and after) these records."""
        if not values:
            return []
        marks: list[tuple[int, Mark]] = []
        self._last_activity_ms = now_ms
        self._set_idle(marks, 0, silent=False)
        if isinstance(self._generator, NoGenerator):
            return marks
        if stamps is None:
            stamps = [NO_TIMESTAMP] * len(values)
        self._pending = True
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
                self._emit(marks, stop, now_ms)
            start = stop
        return marks

    def take(self, marks: Sequence[tuple[int, Mark]]) -> list[tuple[int, Mark]]:
        """Marks that the source knows itself: those that say something new."""
        news: list[tuple[int, Mark]] = []
        for position, mark in marks:
            if type(mark) is not int and not isinstance(mark, str):
                mark = instant_of(mark, "A watermark of a source")
            self._keep(news, position, mark)
        return news

    def end_epoch(self, now_ms: int, limit: int | None = None) -> list[Mark]:
        """The periodic emission at the end of the epoch, and idleness. The time in which the stream is ahead
        of ``limit``, and so not read, does not count as silence."""
        marks: list[tuple[int, Mark]] = []
        if not self._silent:
            self._emit(marks, 0, now_ms)
        self._look_for_silence(marks, now_ms, limit)
        return [m for _, m in marks]

    def tick(self, now_ms: int, limit: int | None = None) -> list[Mark]:
        """In the middle of an epoch: the periodic emission when its interval is over, and idleness."""
        marks: list[tuple[int, Mark]] = []
        says_something = self._pending or self._generator.moves_alone
        if not self._silent and says_something and 0 < self._interval_ms <= now_ms - self._emitted_ms:
            self._ask(marks, 0, now_ms)
        self._look_for_silence(marks, now_ms, limit)
        return [m for _, m in marks]

    def _look_for_silence(self, marks: list[tuple[int, Mark]], now_ms: int, limit: int | None) -> None:
        self._waits = self.is_ahead(limit)
        timeout = self._idle_timeout_ms
        if self._waits:
            self._last_activity_ms = now_ms
        elif timeout is not None and now_ms - self._last_activity_ms >= timeout:
            self._set_idle(marks, 0, silent=True)

    def is_ahead(self, limit: int | None) -> bool:
        return limit is not None and self.watermark > limit

    def _emit(self, marks: list[tuple[int, Mark]], position: int, now_ms: int) -> None:
        """Ask the generator for its periodic watermark where the epoch allows it."""
        interval = self._interval_ms
        if interval != 0 and (interval <= USUAL_INTERVAL_MS or now_ms - self._emitted_ms >= interval):
            self._ask(marks, position, now_ms)

    def _ask(self, marks: list[tuple[int, Mark]], position: int, now_ms: int) -> None:
        self._emitted_ms = now_ms
        self._pending = False
        for mark in self._generator.periodic():
            self._keep(marks, position, mark)

    def _keep(self, marks: list[tuple[int, Mark]], position: int, mark: Mark) -> None:
        if type(mark) is not int:
            self._set_idle(marks, position, marked=mark == IDLE)
        elif mark > self.watermark:  # a watermark never goes back
            self.watermark = mark
            marks.append((position, mark))

    def _set_idle(
        self,
        marks: list[tuple[int, Mark]],
        position: int,
        *,
        silent: bool | None = None,
        marked: bool | None = None,
    ) -> None:
        before = self.idle
        if silent is not None:
            self._silent = silent
        if marked is not None:
            self._marked_idle = marked
        if self.idle != before:
            marks.append((position, ACTIVE if before else IDLE))

    def next_timer_ms(self) -> int | None:
        """When there is something to do though nothing comes: a periodic watermark, or idleness."""
        if self._silent or self._waits:
            return None
        due = []
        if self._idle_timeout_ms is not None:
            due.append(self._last_activity_ms + self._idle_timeout_ms)
        if self._interval_ms > 0 and (self._generator.moves_alone or self._pending):
            due.append(self._emitted_ms + self._interval_ms)
        return min(due, default=None)

    @property
    def present(self) -> list[Mark]:
        """What the stream has said so far, as far as it still counts."""
        marks: list[Mark] = [self.watermark] if self.watermark > MIN_WATERMARK else []
        return [*marks, IDLE] if self.idle else marks

    def snapshot(self) -> Any:
        return self._generator.snapshot(), [getattr(self, name) for name in self._CARRIED]

    def restore(self, snapshot: Any) -> None:
        generator, carried = snapshot
        self._generator.restore(generator)
        for name, value in zip(self._CARRIED, carried, strict=True):
            setattr(self, name, value)


def assign_timestamps(
    strategy: WatermarkStrategy | None, values: list[Any], stamps: Sequence[int] | None, now_ms: int
) -> Sequence[int] | None:
    """The timestamps of the strategy's assigner; without one those the records have."""
    assigner = None if strategy is None else strategy.timestamp_assigner
    if assigner is None:
        return stamps
    if isinstance(assigner, IngestionTimeAssigner):
        return [now_ms] * len(values)
    extract = assigner.extract_timestamp
    if stamps is None:
        extracted = [extract(v, NO_TIMESTAMP) for v in values]
    else:
        extracted = [extract(v, t) for v, t in zip(values, stamps, strict=True)]
    return _instants(extracted, "extract_timestamp must return")


def source_instants(stamps: Sequence[Any]) -> list[int]:
    """The timestamps that a source gives its records, as ints."""
    try:
        return array("q", stamps).tolist()  # hot: looks at each of them, in C
    except (TypeError, OverflowError):
        return [instant_of(stamp, "A timestamp of a source") for stamp in stamps]


def _instants(numbers: list[Any], what: str) -> list[int]:
    """``numbers`` as integers of 64 bits; of other numbers the fraction is cut off, as PyFlink does it."""
    try:
        return array("q", numbers).tolist()  # hot: looks at each of them, in C
    except (TypeError, OverflowError):
        return [_instant(n, what) for n in numbers]


def _instant(number: Any, what: str) -> int:
    try:
        if hasattr(number, "__int__") or hasattr(number, "__index__"):  # text has neither
            return array("q", [int(number)])[0]
    except (ValueError, OverflowError):  # not a number, or too large
        pass
    raise ProgramError(f"{what} epoch milliseconds, a number of 64 bits", detail=f"got {number!r}")
