"""The invariants of ARCHITECTURE.md, each broken by hand once to see its test fail."""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.accumulators import IntCounter
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    CoMapFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
)
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.runtime import worker
from firesteel.runtime.program import LevelDescriptor
from firesteel.runtime.wire import WireRow
from firesteel.state.backend import StateLimits
from firesteel.testing.local_platform import LocalEngine

from .engines import FaultyEngine, TurnsEngine
from .support import At, collect, environment, local_platform, punctuated

ANY = Types.PICKLED_BYTE_ARRAY()
LATE = OutputTag("late")
KEYS: list[Any] = ["a", "b", 1, 1.0, True, None, ("t", 1)]


def records(count: int, seed: int, jitter: int = 0) -> list[At]:
    """In time order but for the jitter; a watermark behind every third, which only jitter is behind."""
    chance = random.Random(seed)
    out = []
    for i in range(count):
        ts = i * 2 - (chance.randrange(jitter) if jitter else 0)
        out.append(At(ts, (chance.choice(KEYS), chance.randrange(100)), i * 2 - 5 if i % 3 == 0 else None))
    return out


class Everything(KeyedProcessFunction):
    """All kinds of state, timers that set timers, a side output, an accumulator. Emits what depends on the
    order of everything that its key has seen."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", ANY))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", ANY))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", ANY, ANY))
        self.most = runtime_context.get_reducing_state(ReducingStateDescriptor("most", max, ANY))
        self.counter = IntCounter()
        runtime_context.add_accumulator("records", self.counter)

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.counter.add(1)
        timers = ctx.timer_service()
        if value.ts <= timers.current_watermark():
            yield LATE, (repr(ctx.get_current_key()), value.ts)
            return
        number = value.value[1]
        total = (self.total.value() or 0) * 31 % 1_000_003 + number
        self.total.update(total)
        self.last.add(number)
        if number % 10 == 0:
            self.last.update(list(self.last.get())[-3:])
        self.seen.put(number % 7, (self.seen.get(number % 7) or 0) + 1)
        if number % 13 == 0:
            self.seen.remove(number % 7)
        self.most.add(number)
        timers.register_event_time_timer(value.ts + 11)
        if number % 4 == 0:
            timers.delete_event_time_timer(value.ts + 7)
        yield repr(ctx.get_current_key()), "record", total, list(self.last.get()), sorted(self.seen.items())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        if timestamp % 2:
            ctx.timer_service().register_event_time_timer(timestamp + 3)
        yield repr(ctx.get_current_key()), "timer", timestamp, self.total.value(), self.most.get()


def one_path(
    parallelism: int, epoch_records: int | None, jitter: int, **options: str
) -> dict[str, list[Any]]:
    """One path from a single-split source; what each key gave, in its order."""
    env = environment(parallelism, epoch_records=epoch_records, **options)
    stream = env.from_collection(records(150, 3, jitter)).assign_timestamps_and_watermarks(punctuated())
    stream = stream.set_parallelism(1).map(lambda r: r).set_parallelism(1).filter(lambda r: r.value[1] != 50)
    stream = stream.set_parallelism(1)
    processed = stream.key_by(lambda r: r.value[0]).process(Everything())
    late = processed.get_side_output(LATE).map(lambda v: (v[0], "late", v[1]))
    out = [("late" if v[1] == "late" else "main", v) for v in collect(processed.map(lambda v: v).union(late))]
    by_key: dict[str, list[Any]] = defaultdict(list)
    for kind, value in out:
        by_key[f"{kind} {value[0]}"].append(value[1:])
    return dict(by_key)


@pytest.fixture(scope="module")
def expected() -> dict[int, dict[str, list[Any]]]:
    found = {}
    for jitter in (0, 9):
        with local_platform():
            found[jitter] = one_path(1, None, jitter)
    assert sum(len(v) for k, v in found[9].items() if k.startswith("late")) > 5
    assert not any(k.startswith("late") for k in found[0])
    assert len(found[0]) == len(KEYS)
    return found


@pytest.mark.parametrize("jitter", [0, 9])
@pytest.mark.parametrize("epoch_records", [1, 20, None])
@pytest.mark.parametrize("parallelism", [1, 2, 4])
def test_results_do_not_depend_on_the_cut_the_parallelism_or_what_is_run_again(
    parallelism: int, epoch_records: int | None, jitter: int, expected: dict[int, dict[str, list[Any]]]
) -> None:
    """On one path from a source with one split, late records included.

    Broken by hand: ``SubtaskState._position_on`` does not mind that the last epoch was left in the middle;
    ``KeyedOperator.restore`` forgets the watermark; ``Router._append`` without ``_catch_up``."""
    engines: list[FaultyEngine] = []

    def engine() -> LocalEngine:
        engines.append(FaultyEngine(parallelism * 100 + (epoch_records or 0) + jitter))
        return engines[-1]

    with local_platform(engine):
        assert one_path(parallelism, epoch_records, jitter) == expected[jitter]
    if epoch_records == 1:
        assert engines[0].discarded
        assert engines[0].doubled
        assert engines[0].killed


class Sides(CoMapFunction):
    def map1(self, value: At) -> Any:
        return At(value.ts, ("one", *value.value))

    def map2(self, value: At) -> Any:
        return At(value.ts, ("two", *value.value))


class SumPerSpan(KeyedProcessFunction):
    """A sum for each key and 20 ms, at the watermark; what comes late is an error."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", ANY, ANY))

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> None:
        assert value.ts > ctx.timer_service().current_watermark(), "nothing is late here"
        end = value.ts - value.ts % 20 + 19
        self.sums.put(end, (self.sums.get(end) or 0) + value.value[-1])
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield repr(ctx.get_current_key()), timestamp, self.sums.get(timestamp)
        self.sums.remove(timestamp)


class MatchBoth(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", ANY, ANY))

    def process_element1(self, value: At, ctx: KeyedCoProcessFunction.Context) -> None:
        end = value.ts - value.ts % 50 + 49
        one, two = self.sums.get(end) or (0, 0)
        self.sums.put(end, (one + value.value[1], two))
        ctx.timer_service().register_event_time_timer(end)

    def process_element2(self, value: At, ctx: KeyedCoProcessFunction.Context) -> None:
        end = value.ts - value.ts % 50 + 49
        one, two = self.sums.get(end) or (0, 0)
        self.sums.put(end, (one, two + value.value[1]))
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield repr(ctx.get_current_key()), timestamp, *self.sums.get(timestamp)


def many_paths(parallelism: int, epoch_records: int | None) -> list[Any]:
    """A diamond over two sources, with a union, connected streams and exchanges of several kinds."""
    env = environment(parallelism, epoch_records=epoch_records)
    one = env.from_collection(records(90, 1)).assign_timestamps_and_watermarks(punctuated())
    two = env.from_collection(records(70, 2)).assign_timestamps_and_watermarks(punctuated())
    sides = one.rebalance().connect(two.shuffle()).map(Sides())
    sums = sides.union(one.rescale().map(lambda r: r)).key_by(lambda r: r.value[-2]).process(SumPerSpan())
    both = one.key_by(lambda r: r.value[0]).connect(two.key_by(lambda r: r.value[0])).process(MatchBoth())
    return sorted(collect(sums.map(lambda v: v).union(both.map(lambda v: v))))


@pytest.mark.parametrize("epoch_records", [7, None])
@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.row("S-ARCH-06")
def test_where_nothing_is_late_a_graph_of_many_paths_gives_the_same_too(
    parallelism: int, epoch_records: int | None
) -> None:
    """Broken by hand: the valve takes the maximum of its channels instead of the minimum."""
    with local_platform():
        expected = many_paths(1, None)
    assert len(expected) > 50
    with local_platform(lambda: FaultyEngine(parallelism)):
        assert many_paths(parallelism, epoch_records) == expected


class LosesHosts(TurnsEngine):
    """Epochs wander between three processes with caches of different age; now and then the local stores of
    the host are gone, or an epoch is run twice."""

    def __init__(self, seed: int, local_dir: Path) -> None:
        self.chance = random.Random(seed)
        super().__init__(3, lambda task: self.chance.randrange(3))
        self.local_dir = local_dir
        self.lost = 0

    def _run_level(self, descriptor: LevelDescriptor, width: int, rows: list[WireRow]) -> list[WireRow]:
        if self.chance.random() < 0.1:
            self.lose_processes()
            shutil.rmtree(self.local_dir, ignore_errors=True)
            self.lost += 1
        if self.chance.random() < 0.2:
            super()._run_level(descriptor, width, rows)
        return super()._run_level(descriptor, width, rows)


@pytest.mark.parametrize("limits", ["tiny", "default"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.row("S-STATE-01")
def test_state_is_what_the_committed_epochs_made_it(
    seed: int,
    limits: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    expected: dict[int, dict[str, list[Any]]],
) -> None:
    """Stale caches, lost local stores, epochs run twice.

    Broken by hand: ``SubtaskState.begin`` takes whatever it has in its cache for the newest."""
    if limits == "tiny":
        tiny = StateLimits(cache_entries=4, warm_entries=0, inline_bytes=200, compaction_entries=20)
        monkeypatch.setattr(worker, "state_limits", lambda *_, **__: tiny)
    engines: list[LosesHosts] = []

    def engine() -> LocalEngine:
        engines.append(LosesHosts(seed, tmp_path / "local"))
        return engines[-1]

    with local_platform(engine):
        assert one_path(2, 10, 0, **{"firesteel.local-dir": str(tmp_path / "local")}) == expected[0]
    assert engines[0].lost


class LastFew(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", ANY))

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.last.add(value.ts)
        if len(list(self.last.get())) == 5:
            self.last.update(list(self.last.get())[-2:])
        yield value.value[0], list(self.last.get())


def test_a_list_that_was_cut_short_stays_short_when_the_cache_has_forgotten_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "state_limits", lambda *_, **__: StateLimits(cache_entries=4))
    env = environment(1, epoch_records=10, **{"firesteel.local-dir": str(tmp_path)})
    out = collect(env.from_collection(records(300, 1)).key_by(lambda r: r.value[0]).process(LastFew()))
    assert len(out) == 300
    assert max(len(last) for _, last in out) == 4


@pytest.mark.row("T25")
def test_an_epoch_that_was_run_and_discarded_leaves_no_trace() -> None:
    """Results and state, with each epoch discarded once after it ran. (That an epoch with too few or too
    many answers never counts, and counters: tests/jobmanager/test_job_life.py.)

    Broken by hand: ``SubtaskState.begin`` takes what a discarded run has left in its cache for the newest."""

    from firesteel.common.errors import EngineError

    class Twice(LocalEngine):
        def run(self, levels: Any, parallelism: Any) -> Any:
            answers = super().run(levels, parallelism)
            if self.epochs % 2:
                raise EngineError("lost after it ran")
            return answers

    with local_platform(Twice) as platform:
        env = environment(2, epoch_records=10)
        stream = env.from_collection(records(60, 5)).assign_timestamps_and_watermarks(punctuated())
        out = collect(stream.key_by(lambda r: r.value[0]).process(Everything()))
        assert platform.engines[0].epochs >= 12
    with local_platform():
        env = environment(2, epoch_records=10)
        stream = env.from_collection(records(60, 5)).assign_timestamps_and_watermarks(punctuated())
        plain = collect(stream.key_by(lambda r: r.value[0]).process(Everything()))
    assert sorted(out, key=repr) == sorted(plain, key=repr)


def test_the_order_in_a_channel_is_kept_when_buffers_arrive_by_order_and_channel() -> None:
    """Many small buffers of three producers to two consumers.

    Broken by hand: the router numbers its buffers backwards."""

    class Arrivals(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            yield value

    def tag(stream: DataStream, number: int) -> DataStream:
        return stream.map(lambda v, n=number: (n, v, v % 4))

    env = environment(2, epoch_records=5000)
    streams = [tag(env.from_collection(range(6000)), n) for n in range(3)]
    for s in streams:
        s.set_parallelism(1)
    out = collect(streams[0].union(*streams[1:]).key_by(lambda v: v[2]).process(Arrivals()))
    sequences: dict[Any, list[int]] = defaultdict(list)
    for producer, number, key in out:
        sequences[producer, key].append(number)
    assert len(sequences) == 12
    assert all(s == list(range(k, 6000, 4)) for (_, k), s in sequences.items())
