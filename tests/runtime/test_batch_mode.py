"""RuntimeExecutionMode.BATCH: one epoch, key by key, by timestamp."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.time_domain import TimeDomain
from firesteel.runtime import chain, key_sorter
from firesteel.testing.local_platform import LocalPlatform

from .support import MAX, NO_TIMESTAMP, At, Probe, SteppedClock, collect, environment, punctuated


def batch(parallelism: int = 1, clock: Any = None) -> StreamExecutionEnvironment:
    env = environment(parallelism, clock=clock)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return env


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [("sum", ("k", 6, "a")), ("min", ("k", 1, "a")), ("min_by", ("k", 1, "b")), ("max_by", ("k", 3, "a"))],
)
@pytest.mark.row("T14")
def test_a_rolling_aggregate_gives_the_last_value_only(
    aggregate: str, expected: Any, parallelism: int
) -> None:
    records = [("k", 3, "a"), ("k", 1, "b"), ("k", 2, "c"), ("l", 7, "x")]
    keyed = batch(parallelism).from_collection(records).key_by(lambda r: r[0])
    assert sorted(collect(getattr(keyed, aggregate)(1))) == [expected, ("l", 7, "x")]


@pytest.mark.row("S-BATCH-02")
def test_three_keys_have_three_results() -> None:
    """A rolling reduce over 100 rows."""
    keyed = batch(2).from_collection([(n % 3, 1) for n in range(100)]).key_by(lambda r: r[0])
    assert sorted(collect(keyed.reduce(lambda a, b: (a[0], a[1] + b[1])))) == [(0, 34), (1, 33), (2, 33)]


@pytest.mark.row("S-BATCH-01", "S-ARCH-09")
def test_the_counts_are_those_of_streaming_mode() -> None:
    """The last count of each word in STREAMING mode is the only one in BATCH mode."""
    lines = ["to be or not to be", "that is the question", "to be"]

    def counts(env: StreamExecutionEnvironment) -> list[tuple[str, int]]:
        words = env.from_collection(lines).flat_map(str.split).map(lambda word: (word, 1))
        return collect(words.key_by(lambda w: w[0]).reduce(lambda a, b: (a[0], a[1] + b[1])))

    streaming, in_batch = counts(environment(2)), counts(batch(2))
    assert len(streaming) == 12
    assert len(in_batch) == 8
    assert dict(in_batch) == dict(streaming)


class Trace(KeyedProcessFunction):
    """What a key sees, and both kinds of timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(1)  # long ago
        timers.register_processing_time_timer(timers.current_processing_time() + 10**9)
        timers.register_event_time_timer(value.ts + 1000)
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), value.ts, self.count.value(), timers.current_watermark()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        kind = "event" if ctx.time_domain() is TimeDomain.EVENT_TIME else "processing"
        yield ctx.get_current_key(), kind, timestamp, ctx.timer_service().current_watermark()


@pytest.mark.parametrize("limit", [2, 500_000])
@pytest.mark.row("S-BATCH-09")
def test_a_keyed_operator_sees_one_key_at_a_time_by_timestamp_and_its_timers_at_the_keys_end(
    limit: int, monkeypatch: pytest.MonkeyPatch, platform: LocalPlatform
) -> None:
    """Event-time timers, then processing-time timers, when the input of the key ends. With a limit of
    two records everything goes through spilled runs."""
    spill_to(monkeypatch, limit)
    clock = SteppedClock(1_000_000)
    env = batch(clock=clock)
    records = [At(5, "b"), At(9, "a"), At(2, "b"), At(1, "a"), At(5, "a"), At(2, "b")]
    stream = env.from_collection(records).assign_timestamps_and_watermarks(punctuated())
    out = collect(stream.key_by(lambda r: r.value).process(Trace()))
    later = 1_000_000 + 10**9

    def of_key(key: str, *times: int) -> list[Any]:
        elements = [(key, t, n, NO_TIMESTAMP) for n, t in enumerate(times, 1)]
        event = [(key, "event", t + 1000, MAX) for t in sorted(set(times))]
        return [*elements, *event, (key, "processing", 1, MAX), (key, "processing", later, MAX)]

    one, two = of_key("a", 1, 5, 9), of_key("b", 2, 2, 5)
    assert out in (one + two, two + one)
    assert platform.engines[-1].epochs == 1


@pytest.mark.row("S-BATCH-09")
def test_a_timer_may_set_others_at_the_end_of_its_key() -> None:
    """Real PyFlink fires the same timers, in an order of its own between the two domains."""

    class Chained(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            ctx.timer_service().register_event_time_timer(10)
            ctx.timer_service().register_processing_time_timer(1)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
            if timestamp < 50:
                ctx.timer_service().register_event_time_timer(timestamp + 10)
            yield timestamp

    out = collect(batch().from_collection([1, 2]).key_by(lambda v: 0).process(Chained()))
    assert sorted(out) == [1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51]


def spill_to(monkeypatch: pytest.MonkeyPatch, limit: int) -> list[int]:
    """Let key sorters spill at ``limit`` records; the list gets an entry for each spilled run."""
    spills: list[int] = []
    real = key_sorter.KeySorter

    class Small(real):  # type: ignore[valid-type, misc]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, records_in_memory=limit)

        def _spill(self) -> None:
            spills.append(self._count)
            super()._spill()

    monkeypatch.setattr(chain, "KeySorter", Small)
    return spills


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.row("S-SLOT-19", "S-MEM-07")
def test_spilled_runs_are_merged(parallelism: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spills = spill_to(monkeypatch, 100)
    chance = random.Random(1)
    records = [(chance.choice(["a", 1, 1.0, None, ("t", 2)]), i) for i in range(2700)]
    out = collect(
        batch(parallelism)
        .from_collection(records)
        .key_by(lambda r: r[0])
        .reduce(lambda x, y: (x[0], x[1] + y[1]))
    )
    sums: dict[Any, int] = {}
    for key, i in records:
        sums[repr(key)] = sums.get(repr(key), 0) + i
    assert len(spills) >= 2
    assert {repr(key): total for key, total in out} == sums
    assert len(out) == len(sums)


def test_records_of_equal_time_keep_their_order_through_spilled_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    spills = spill_to(monkeypatch, 7)

    class InOrder(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            yield value

    env = batch()
    out = collect(env.from_collection(range(3000)).key_by(lambda v: v % 3).process(InOrder()))
    assert len(spills) >= 2
    for key in range(3):
        assert [v for v in out if v % 3 == key] == list(range(key, 3000, 3))


class Join(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, value: At, ctx: KeyedCoProcessFunction.Context) -> None:
        self.left.update(value.value)
        ctx.timer_service().register_event_time_timer(100)

    def process_element2(self, value: At, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield ctx.get_current_key(), self.left.value(), value.value

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), "end", self.left.value()


@pytest.mark.parametrize("limit", [3, 500_000])
def test_two_inputs_of_a_key_are_merged_by_timestamp(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spill_to(monkeypatch, limit)
    env = batch(2)
    left = [At(1, ("a", "l1")), At(5, ("a", "l5")), At(3, ("b", "l3"))]
    right = [At(6, ("a", "r6")), At(2, ("a", "r2")), At(2, ("b", "r2")), At(9, ("c", "r9"))]
    one = env.from_collection(left).assign_timestamps_and_watermarks(punctuated())
    two = env.from_collection(right).assign_timestamps_and_watermarks(punctuated())
    out = collect(one.connect(two).key_by(lambda r: r.value[0], lambda r: r.value[0]).process(Join()))
    assert [v for v in out if v[0] == "a"] == [
        ("a", ("a", "l1"), ("a", "r2")),
        ("a", ("a", "l5"), ("a", "r6")),
        ("a", "end", ("a", "l5")),
    ]
    assert [v for v in out if v[0] == "b"] == [("b", None, ("b", "r2")), ("b", "end", ("b", "l3"))]
    assert [v for v in out if v[0] == "c"] == [("c", None, ("c", "r9"))]


def test_an_operator_without_key_runs_as_in_streaming() -> None:
    env = batch(2)
    stream = env.from_collection(range(10)).map(lambda v: v + 1).filter(lambda v: v % 2).rebalance()
    assert sorted(collect(stream.map(lambda v: v))) == [1, 3, 5, 7, 9]


def test_keyed_after_keyed() -> None:
    env = batch(2)
    words = ["a", "b", "a", "c", "a", "b"]
    counts = env.from_collection(words).map(lambda w: (w, 1)).key_by(lambda p: p[0]).sum(1)
    by_count = counts.map(lambda p: (p[1], 1)).key_by(lambda p: p[0]).sum(1)
    assert sorted(collect(by_count)) == [(1, 1), (2, 1), (3, 1)]


@pytest.mark.row("S-BATCH-02")
def test_no_watermarks_are_made_but_timestamps_are_assigned() -> None:
    env = batch()
    stream = env.from_collection([At(5, watermark=100), At(6)]).assign_timestamps_and_watermarks(punctuated())
    assert [(t, w) for _, t, w in collect(stream.process(Probe()))] == [(5, NO_TIMESTAMP), (6, NO_TIMESTAMP)]


def test_batch_wants_bounded_sources() -> None:
    from firesteel.common.errors import ProgramError

    from .support import LiveSource

    env = batch()
    stream = env.from_source(LiveSource("never"), punctuated(), "endless")
    with pytest.raises(ProgramError, match=r"(?is)bounded.*endless|endless.*bounded"):
        collect(stream)
