"""What the tests of the runtime share: programs on the in-process engine, sources with a script, probes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from firesteel.common.clock import ManualClock
from firesteel.common.configuration import Configuration
from firesteel.common.watermark_strategy import (
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from firesteel.connectors.base import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment
from firesteel.jobmanager.executor import Executor
from firesteel.program.execution import set_executor
from firesteel.runtime import worker
from firesteel.testing.local_platform import LocalEngine, LocalPlatform

NO_TIMESTAMP = -(2**63)
MAX = 2**63 - 1

#: A test runs once in each mode, which it is given as ``mode``: an option's value.
in_both_modes = pytest.mark.parametrize("mode", ["epochs", "real-time"])
MODE = "execution.mode"

notes: defaultdict[str, list[Any]] = defaultdict(list)  # what functions did, by topic


def note(topic: str, what: Any = None) -> Any:
    """Called from user functions; this module travels by reference, so the test sees the same list."""
    notes[topic].append(what)
    return what


@contextmanager
def local_platform(make_engine: Callable[[], LocalEngine] = LocalEngine) -> Iterator[LocalPlatform]:
    """Programs of this block run in this process."""
    platform = LocalPlatform(make_engine)
    executor = Executor(lambda: platform)
    before = set_executor(executor)
    notes.clear()
    try:
        yield platform
    finally:
        executor.cancel_all()
        set_executor(before)
        worker.close_everything()


def environment(
    parallelism: int = 1, *, clock: Any = None, epoch_records: int | None = None, **options: str
) -> StreamExecutionEnvironment:
    """``options``: configuration keys with ``_`` for ``.``."""
    configuration = Configuration()
    if epoch_records is not None:
        configuration.set_string("firesteel.epoch.max-records", str(epoch_records))
    for key, value in options.items():
        configuration.set_string(key.replace("_", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, clock=clock)
    env.set_parallelism(parallelism)
    return env


def collect(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


# ---- time


@dataclass(frozen=True)
class At:
    """A record that says its own event time, and optionally the watermark that follows it."""

    ts: int
    value: Any = None
    watermark: int | None = None


def take_ts(record: At, record_timestamp: int) -> int:
    return record.ts


class Punctuated(WatermarkGenerator):
    """The watermark that the record carries."""

    def on_event(self, event: At, event_timestamp: int, output: WatermarkOutput) -> None:
        if event.watermark is not None:
            output.emit_watermark(event.watermark)

    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...


class AfterEach(WatermarkGenerator):
    """W = ts - 1 after each record."""

    def on_event(self, event: At, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp - 1)

    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...


def punctuated(generator: Callable[[], WatermarkGenerator] = Punctuated) -> WatermarkStrategy:
    return WatermarkStrategy.for_generator(generator).with_timestamp_assigner(take_ts)


class Probe(ProcessFunction):
    """What a record looks like to an operator: (value, timestamp, watermark)."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


# ---- sources


class SplitsSource(Source):
    """Bounded; one split for each list of (value, timestamp or None)."""

    def __init__(self, *splits: Sequence[tuple[Any, int | None]]) -> None:
        self.splits = [list(s) for s in splits]

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _Splits([Split(f"split-{i}", s) for i, s in enumerate(self.splits)])

    def create_reader(self) -> SourceReader:
        return _SplitReader()


class _Splits(SplitEnumerator):
    def __init__(self, splits: list[Split]) -> None:
        self._splits = splits

    def discover(self, now_ms: int) -> list[Split]:
        found, self._splits = self._splits, []
        return found

    @property
    def finished(self) -> bool:
        return not self._splits

    def plan(self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int) -> ReadRange:
        return ReadRange(split, position, max_records, max_bytes)


class _SplitReader(SourceReader):
    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        records = range_.split.payload
        start = range_.position or 0
        stop = min(len(records), start + range_.max_records)
        for at in range(start, max(stop, start + 1), 3):  # small chunks, so that splits interleave
            part = records[at : min(at + 3, stop)]
            stamps = [NO_TIMESTAMP if t is None else t for _, t in part]
            after = at + len(part)
            yield Chunk([v for v, _ in part], stamps, after, after >= len(records))


class LiveSource(Source):
    """Unbounded: the lists of ``feed`` (by split), which a test appends (value, timestamp) to while the job
    runs. One split for each list."""

    def __init__(self, topic: str, splits: int = 1) -> None:
        self.topic = topic
        self.splits = splits

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def max_parallelism(self) -> int | None:
        return self.splits

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _LiveSplits([Split(f"{self.topic}-{i}", (self.topic, i)) for i in range(self.splits)])

    def create_reader(self) -> SourceReader:
        return _LiveReader()


feeds: defaultdict[tuple[str, int], list[tuple[Any, int]]] = defaultdict(list)


def feed(topic: str, *records: tuple[Any, int], split: int = 0) -> None:
    feeds[topic, split].extend(records)


class _LiveSplits(_Splits):
    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:  # type: ignore[override]
        there = len(feeds[split.payload])
        if there <= (position or 0):
            return None
        return ReadRange(split, position or 0, max_records, max_bytes, there)


_LIVE_CHUNK = 1_000  # records, about as many as readers of files give at once


class _LiveReader(SourceReader):
    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        start = range_.position
        stop = min(range_.stop, start + range_.max_records)
        for at in range(start, stop, _LIVE_CHUNK):
            part = feeds[range_.split.payload][at : min(at + _LIVE_CHUNK, stop)]
            yield Chunk([v for v, _ in part], [t for _, t in part], at + len(part))


class SteppedClock(ManualClock):
    """A manual clock that moves when the job has done all it can do at the present instant."""

    def tick(self, ms: int = 100) -> None:
        self.settle()
        self.advance(ms)
        self.settle()
