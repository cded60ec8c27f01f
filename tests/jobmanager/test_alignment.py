"""Watermark alignment: what is too far ahead of its group waits."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import WatermarkAlignment, WatermarkStrategy
from firesteel.connectors.base import Chunk, EnumeratorContext, ReadRange, SourceReader
from firesteel.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.jobmanager.alignment import group_watermarks, limit_of
from firesteel.jobmanager.sources import Budget, SourceCoordinator
from firesteel.runtime.batch import MAX_WATERMARK, MIN_WATERMARK
from firesteel.runtime.program import Ack, Answer, LevelDescriptor, SplitTime
from firesteel.testing.local_platform import LocalPlatform
from tests.budget import examples
from tests.runtime.engines import FaultyEngine
from tests.runtime.support import (
    AfterEach,
    At,
    LiveSource,
    SplitsSource,
    SteppedClock,
    collect,
    environment,
    feed,
    local_platform,
    note,
    notes,
    punctuated,
    take_ts,
)
from tests.waiting import patience

CHUNK = 3  # records of SplitsSource


class WatchedEngine(FaultyEngine):
    """Keeps how far the splits of aligned sources were after each epoch, and how far they might be. A seed of
    0 makes no faults."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        if not seed:
            self.chance.random = lambda: 1.0  # type: ignore[method-assign]
        self.times: list[dict[tuple[str, str], SplitTime]] = []  # by source and split
        self.limits: list[int] = []

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        answers = super().run(levels, parallelism)
        acks = [a for a in answers if isinstance(a, Ack)]
        times = [(uid, *item) for a in acks for uid, found in a.split_times.items() for item in found.items()]
        self.times.append({(uid, split): time for uid, split, time in times})
        sources = [a for level in levels for s in level.subtasks.values() for a in s.sources.values()]
        [limit] = {a.limit for a in sources if a.limit is not None}
        self.limits.append(limit)
        return answers

    def time_of(self, split: str) -> SplitTime:
        """How far it was after the last epoch."""
        [time] = [time for (_, s), time in self.times[-1].items() if s == split]
        return time

    @property
    def overshoot(self) -> int:
        """How far a split came at most beyond what its group might read, since the group has a watermark."""
        epochs = [e for e in zip(self.limits, self.times, strict=True) if e[0] > MIN_WATERMARK // 2]
        return max((t.watermark - limit for limit, times in epochs for t in times.values()), default=0)


def watched(platform: LocalPlatform) -> WatchedEngine:
    engine = platform.engines[0]
    assert isinstance(engine, WatchedEngine)
    return engine


def aligned(strategy: WatermarkStrategy, drift_ms: int, group: str = "g") -> WatermarkStrategy:
    return strategy.with_watermark_alignment(group, Duration.of_millis(drift_ms))


def seen(stream: DataStream) -> None:
    stream.map(lambda r: note("seen", r.value))


def live(env: StreamExecutionEnvironment, drift_ms: int, idle_ms: int | None = None) -> None:
    """Two live sources, "fast" and "slow", whose records carry their watermarks."""
    for topic in ("fast", "slow"):
        strategy = aligned(punctuated(), drift_ms)
        if idle_ms is not None:
            strategy = strategy.with_idleness(Duration.of_millis(idle_ms))
        seen(env.from_source(LiveSource(topic), strategy, topic))


def put(topic: str, value: Any, watermark: int, split: int = 0) -> None:
    feed(topic, (At(0, value, watermark), 0), split=split)


def taken() -> list[Any]:
    found, notes["seen"] = notes["seen"], []
    return found


@pytest.mark.row("X9")
def test_the_fast_source_waits_until_the_slow_one_has_caught_up() -> None:
    """Fast at W100, slow at W10, drift 20: fast is paused until slow is at 80. Nothing is dropped or
    reordered, and while all wait there is no epoch."""
    with local_platform() as platform:
        clock = SteppedClock()
        env = environment(1, clock=clock)
        live(env, drift_ms=20)
        client = env.execute_async()
        clock.settle()
        put("fast", "f100", 100)
        put("slow", "s10", 10)
        clock.tick()
        assert sorted(taken()) == ["f100", "s10"]
        put("fast", "f101", 101)
        put("fast", "f102", 102)
        clock.tick()
        epochs = platform.engines[0].epochs
        for _ in range(20):
            clock.tick()
        assert taken() == []
        assert platform.engines[0].epochs == epochs, "the driver gives no epoch to those that wait"
        put("slow", "s79", 79)
        clock.tick()
        clock.tick()
        assert taken() == ["s79"]
        put("slow", "s80", 80)
        clock.tick()
        clock.tick()
        assert taken() == ["s80", "f101", "f102"]
        client.cancel().result(patience(10))


def test_it_waits_for_splits_of_its_own_source_too() -> None:
    with local_platform():
        clock = SteppedClock()
        env = environment(1, clock=clock)
        seen(env.from_source(LiveSource("s", splits=3), aligned(punctuated(), 5), "three"))
        client = env.execute_async()
        clock.settle()
        for split, watermark in enumerate((10, 16, 15)):
            put("s", f"{split} first", watermark, split)
        clock.tick()
        assert len(taken()) == 3
        for split in range(3):
            put("s", f"{split} next", 20, split)
        clock.tick()
        assert sorted(taken())[:2] == ["0 next", "2 next"], "16 is more than 5 ahead of 10, 15 is not"
        clock.tick()
        assert taken() in ([], ["1 next"])
        client.cancel().result(patience(10))


def test_a_source_without_a_watermark_an_idle_one_and_an_ended_one_hold_nobody_back() -> None:
    with local_platform():
        clock = SteppedClock()
        env = environment(1, clock=clock)
        live(env, drift_ms=20, idle_ms=1_000)
        ended = SplitsSource([(At(0, "e", 1), None)])
        seen(env.from_source(ended, aligned(punctuated(), 20), "ended"))
        client = env.execute_async()
        clock.settle()
        assert taken() == ["e"]
        put("fast", "f100", 100)
        clock.tick()
        put("fast", "f200", 200)
        clock.tick()
        assert taken() == ["f100", "f200"], "slow has no watermark yet"
        put("slow", "s10", 10)
        clock.tick()
        assert taken() == ["s10"]
        put("fast", "f300", 300)
        clock.tick(900)
        assert taken() == []
        clock.tick(100)
        clock.tick(100)
        assert taken() == ["f300"], "slow is idle now"
        put("slow", "s20", 20)
        clock.tick()
        put("fast", "f400", 400)
        clock.tick()
        assert taken() == ["s20"], "and back"
        client.cancel().result(patience(10))


def test_waiting_does_not_make_a_split_idle_and_silence_afterwards_does() -> None:
    with local_platform(WatchedEngine) as platform:
        clock = SteppedClock()
        env = environment(1, clock=clock)
        live(env, drift_ms=20, idle_ms=1_000)
        client = env.execute_async()
        clock.settle()
        engine = watched(platform)
        put("fast", "f100", 100)
        put("slow", "s10", 10)
        clock.tick()
        for watermark in range(11, 31):  # slow is never silent for a second
            put("slow", watermark, watermark)
            clock.tick(500)
        assert engine.time_of("fast-0") == SplitTime(100, False), "ten seconds, but it was not read"
        put("slow", "s90", 90)
        clock.tick(100)
        for _ in range(9):
            put("slow", "s90", 90)
            clock.tick(100)
        assert not engine.time_of("fast-0").idle, "the timeout begins when it may go on"
        put("slow", "s90", 90)
        clock.tick(200)
        assert engine.time_of("fast-0").idle
        client.cancel().result(patience(10))


def test_when_all_are_idle_the_first_one_to_come_back_may_go_on() -> None:
    """The idle splits keep nobody back, whatever their watermarks are."""
    with local_platform():
        clock = SteppedClock()
        env = environment(1, clock=clock)
        live(env, drift_ms=20, idle_ms=1_000)
        client = env.execute_async()
        clock.settle()
        put("fast", "f100", 100)
        put("slow", "s10", 10)
        clock.tick()
        for _ in range(4):
            clock.tick(1_000)
        taken()
        put("fast", "f101", 101)
        clock.tick()
        assert taken() == ["f101"]
        client.cancel().result(patience(10))


def steps(step: int, count: int) -> list[tuple[At, None]]:
    """Records (step, event time)."""
    return [(At(i * step, (step, i * step)), None) for i in range(count)]


def greatest_lead(order: list[tuple[int, int]], fast: int, slow: int) -> int:
    """How far the fast records were ahead of the slow ones, at most, before the slow ones came to an end."""
    slow_ends = max(ts for step, ts in order if step == slow)
    lead = at = 0
    for step, ts in order:
        if step == slow:
            at = ts
        elif at < slow_ends:
            lead = max(lead, ts - at)
    return lead


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("one_source", [True, False])
@pytest.mark.row("S-TIME-13", "S-PERF-06")
def test_a_source_that_is_100_times_faster_stays_within_the_drift_and_one_chunk(
    parallelism: int, one_source: bool
) -> None:
    """With a drift that is never reached the fast one is read to its end at once."""
    fast, slow = steps(100, 60), steps(1, 6_000)
    sources = [SplitsSource(fast, slow)] if one_source else [SplitsSource(fast), SplitsSource(slow)]
    for drift, within in ((500, True), (10**9, False)):
        with local_platform(WatchedEngine) as platform:
            env = environment(parallelism, epoch_records=2_000)
            for source in sources:
                seen(env.from_source(source, aligned(punctuated(AfterEach), drift), "aligned"))
            env.execute()
            order = taken()
            assert watched(platform).overshoot <= CHUNK * 100
        assert [v for v in order if v[0] == 100] == [r.value for r, _ in fast], "nothing lost, in order"
        assert [v for v in order if v[0] == 1] == [r.value for r, _ in slow]
        assert (greatest_lead(order, 100, 1) <= 500 + CHUNK * 100) is within


def test_the_first_epoch_reads_until_there_is_a_watermark_and_not_a_whole_epoch_long() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(take_ts)
    with local_platform(WatchedEngine) as platform:
        env = environment(1, **{"firesteel.epoch.time-limit": "false"})  # else a slow machine cuts the chunk
        for step in (1, 10):
            source = SplitsSource(steps(step, 4_000))
            seen(env.from_source(source, aligned(strategy, 5_000), f"by {step}"))
        env.execute()
        first = {time.watermark for time in watched(platform).times[0].values()}
    assert first == {1_000, 10_009}, "the chunk with record 1,000 is the last one that is read"
    assert len(taken()) == 8_000


class OwnWatermarks(SourceReader):
    """A record in each chunk, and the watermark that the source itself knows behind it."""

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        records = range_.split.payload
        start = range_.position or 0
        for at in range(start, min(len(records), start + range_.max_records)):
            record, stamp = records[at]
            yield Chunk([record], [stamp], at + 1, at + 1 == len(records), [(1, stamp)])


class SourceWithOwnWatermarks(SplitsSource):
    def create_reader(self) -> SourceReader:
        return OwnWatermarks()


def test_watermarks_that_a_source_gives_itself_count_too() -> None:
    fast, slow = ([(At(ts, (step, ts)), ts) for ts in range(0, 40 * step, step)] for step in (100, 1))
    with local_platform(WatchedEngine) as platform:
        env = environment(1)
        source = SourceWithOwnWatermarks(fast, slow)
        seen(env.from_source(source, aligned(WatermarkStrategy.no_watermarks(), 200), "own"))
        env.execute()
        assert watched(platform).overshoot <= 100
    order = taken()
    assert len(order) == 80
    assert greatest_lead(order, 100, 1) <= 300


def test_sources_of_other_groups_and_other_drifts_go_their_own_way() -> None:
    a, b = WatermarkAlignment("g", 20), WatermarkAlignment("g", 100)
    other = WatermarkAlignment("other", 20)
    watermarks = group_watermarks(
        [
            (a, [SplitTime(50, False), SplitTime(7, True), SplitTime(MIN_WATERMARK, False)]),
            (b, [SplitTime(30, False)]),
            (other, [SplitTime(1, False)]),
            (None, [SplitTime(0, False)]),
        ]
    )
    assert watermarks == {"g": 30, "other": 1}
    assert [limit_of(x, watermarks) for x in (a, b, other, None)] == [50, 130, 21, None]


@pytest.mark.parametrize(
    ("splits", "expected"),
    [
        ([], MIN_WATERMARK),
        ([SplitTime(MIN_WATERMARK, False)], MIN_WATERMARK),
        ([SplitTime(5, True), SplitTime(9, True)], 9),
        ([SplitTime(5, True), SplitTime(MIN_WATERMARK, False)], 5),
        ([SplitTime(5, True), SplitTime(9, False)], 9),
        ([SplitTime(MAX_WATERMARK, False)], MAX_WATERMARK),
    ],
)
def test_the_watermark_of_a_group(splits: list[SplitTime], expected: int) -> None:
    alignment = WatermarkAlignment("g", 10)
    watermarks = group_watermarks([(alignment, splits)])
    assert watermarks == {"g": expected}
    assert limit_of(alignment, watermarks) == min(expected + 10, MAX_WATERMARK)


class Hasty(LiveSource):
    """Says that it has something to read again and again."""

    def create_enumerator(self, context: EnumeratorContext) -> Any:
        enumerator = super().create_enumerator(context)
        enumerator.next_data_ms = lambda now_ms: now_ms + 1  # type: ignore[method-assign]
        return enumerator


def test_a_source_that_waits_is_not_asked_every_millisecond() -> None:
    strategy = aligned(punctuated(), 20)
    source = SourceCoordinator("v", "u", Hasty("h"), strategy, EnumeratorContext(1, ""))
    budget = Budget(10, 10)
    assert source.plan(0, budget, 10).next_ms == 1
    source.commit(Ack("v", 0, split_times={"u": {"h-0": SplitTime(50, False)}}))
    waiting = source.plan(0, budget, 49)
    assert (waiting.wanted, waiting.next_ms) == (False, None)
    source.commit(Ack("v", 0))
    assert source.plan(0, budget, 50).wanted, "an epoch tells the task that it need not wait any more"
    source.commit(Ack("v", 0))
    assert not source.plan(0, budget, 50).wanted


def test_no_range_is_planned_for_a_split_that_waits() -> None:
    strategy = aligned(punctuated(), 0)
    source = SourceCoordinator("v", "u", LiveSource("p", splits=2), strategy, EnumeratorContext(1, ""))
    source.plan(0, Budget(10, 10), None)
    source.commit(Ack("v", 0, split_times={"u": {"p-0": SplitTime(7, False), "p-1": SplitTime(6, False)}}))
    put("p", 0, 0, 0)
    put("p", 0, 0, 1)
    [assignment] = source.plan(0, Budget(10, 10), 6).assignments.values()
    assert [r.split.id for r in assignment.ranges] == ["p-1"]


def test_batch_mode_reads_everything_in_one_epoch() -> None:
    with local_platform() as platform:
        env = environment(1)
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        strategy = aligned(punctuated(AfterEach), 1)
        streams = [
            env.from_source(SplitsSource(steps(step, 100)), strategy, f"by {step}") for step in (1, 100)
        ]
        assert len(collect(streams[0].union(streams[1]))) == 200
        assert platform.engines[0].epochs == 1


def test_behind_its_source_alignment_has_no_effect_and_the_job_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = environment(1)
    stream = env.from_collection([At(1), At(10**9)])
    stream = stream.assign_timestamps_and_watermarks(aligned(punctuated(), 1)).name("too late")
    with caplog.at_level(logging.WARNING):
        assert len(collect(stream.map(lambda v: v))) == 2
    [said] = [r.getMessage() for r in caplog.records if "alignment" in r.getMessage()]
    assert "too late" in said
    assert "from_source" in said


@st.composite
def inputs(draw: st.DrawFn) -> list[list[list[At]]]:
    """Sources, their splits, and records with non-decreasing watermarks, some without."""
    sources = []
    for s in range(draw(st.integers(1, 3))):
        splits = []
        for p in range(draw(st.integers(1, 3))):
            watermark, records = draw(st.integers(0, 50)), []
            for i in range(draw(st.integers(0, 25))):
                watermark += draw(st.sampled_from([0, 0, 1, 3, 10, 40]))
                speaks = draw(st.booleans())
                records.append(At(watermark, (s, p, i), watermark if speaks else None))
            splits.append(records)
        sources.append(splits)
    return sources


def spoken(split: list[At]) -> list[int]:
    """The watermarks that a split gives, from that of its first record on."""
    return [r.ts for r in split[:1]] + [r.watermark for r in split if r.watermark is not None]


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(
    sources=inputs(),
    drift=st.sampled_from([0, 1, 5, 30]),
    parallelism=st.integers(1, 3),
    cut=st.integers(1, 30),
    seed=st.integers(0, 1000),
)
def test_whatever_is_aligned_comes_out_whole_and_in_order(
    sources: list[list[list[At]]], drift: int, parallelism: int, cut: int, seed: int
) -> None:
    """And the job ends: no combination of splits waits for itself."""
    with local_platform(lambda: WatchedEngine(seed)) as platform:
        env = environment(parallelism, epoch_records=cut)
        streams = [
            env.from_source(
                SplitsSource(*([(r, None) for r in split] for split in splits)),
                aligned(punctuated(), drift),
                f"source {s}",
            ).set_parallelism(parallelism)
            for s, splits in enumerate(sources)
        ]
        out = collect(streams[0].union(*streams[1:]).map(lambda r: r.value))
        # What a split says after a silence may be far ahead; then comes what is left of its chunk.
        leaps = [b - a for splits in sources for split in splits for a, b in pairwise(spoken(split))]
        assert watched(platform).overshoot <= max(leaps, default=0) + CHUNK * 40
    for s, splits in enumerate(sources):
        for p, records in enumerate(splits):
            assert [v for v in out if v[:2] == (s, p)] == [r.value for r in records]
