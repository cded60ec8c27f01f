"""What happens without input: timers and idleness fire, and else no epoch runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from firesteel.connectors.base import EnumeratorContext, Split, SplitEnumerator
from firesteel.datastream import KeyedProcessFunction
from firesteel.datastream.window import TumblingProcessingTimeWindows
from firesteel.testing.local_platform import LocalEngine
from tests.runtime.support import (
    At,
    LiveSource,
    SteppedClock,
    environment,
    feed,
    feeds,
    local_platform,
    note,
    notes,
    punctuated,
    take_ts,
)
from tests.waiting import patience

INTERVAL_MS = 100  # between the starts of two epochs, when nothing else is configured


class InFiveSeconds(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_processing_time_timer(
            ctx.timer_service().current_processing_time() + 5_000
        )

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield note("fired", (ctx.get_current_key(), timestamp, ctx.timer_service().current_processing_time()))


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.row("S-TIMER-02", "X7")
def test_a_processing_time_timer_fires_without_input_and_an_idle_job_runs_no_epoch(fresh: bool) -> None:
    """Broken by hand: ``JobMaster._step`` runs an epoch whenever it is asked."""
    with local_platform(lambda: LocalEngine(fresh_process=lambda: fresh)) as platform:
        clock = SteppedClock(1_000)
        env = environment(2, clock=clock)
        source = env.from_source(LiveSource("t"), WatermarkStrategy.no_watermarks(), "live")
        source.key_by(lambda r: r.value).process(InFiveSeconds())
        client = env.execute_async()
        clock.settle()
        feed("t", (At(0, "k"), 0))
        clock.tick()
        engine = platform.engines[0]
        set_at = clock.now_ms()
        epochs = engine.epochs
        for _ in range(49):
            clock.tick(100)
        assert engine.epochs == epochs, "an idle job costs nothing"
        assert notes["fired"] == []
        clock.tick(100)
        assert notes["fired"] == [("k", set_at + 5_000, set_at + 5_000)]
        assert engine.epochs == epochs + 1
        for _ in range(20):
            clock.tick(1_000)
        assert engine.epochs == epochs + 1
        client.cancel().result(patience(10))


class AtEventTime(KeyedProcessFunction):
    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value.ts)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield note("fired", timestamp)


@pytest.mark.parametrize("where", ["source", "mid-stream"])
@pytest.mark.parametrize("idleness", [True, False])
@pytest.mark.row("S-TIME-11", "S-TIME-12")
def test_a_silent_split_holds_event_time_back_until_it_is_idle(idleness: bool, where: str) -> None:
    """With idleness and without it. The time is the job's own: no input has to come."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(take_ts)
    if idleness:
        strategy = strategy.with_idleness(Duration.of_seconds(30))
    with local_platform() as platform:
        clock = SteppedClock(0)
        env = environment(2, clock=clock)
        if where == "source":
            stream = env.from_source(LiveSource("i", splits=2), strategy, "two splits")
        else:
            none = WatermarkStrategy.no_watermarks()
            stream = env.from_source(LiveSource("i", splits=2), none, "two splits")
            stream = stream.assign_timestamps_and_watermarks(strategy)
        stream.key_by(lambda r: 0).process(AtEventTime())
        client = env.execute_async()
        clock.tick()
        feed("i", (At(10), 0), (At(20), 0))
        clock.tick(10_000)
        assert notes["fired"] == []
        clock.tick(15_000)
        assert notes["fired"] == [], "split 1 is silent, but not for 30 seconds yet"
        feed("i", (At(30), 0))
        clock.tick(15_000)
        clock.tick(100)
        assert notes["fired"] == ([10, 20] if idleness else [])
        if idleness:
            feed("i", (At(5), 0), split=1)  # comes back far behind: it is late, and does not turn time back
            feed("i", (At(40), 0))
            clock.tick()
            clock.tick()
            assert notes["fired"][2:] in ([5, 30], [30, 5], [30])
        epochs = platform.engines[0].epochs
        for _ in range(10):
            clock.tick(60_000)
        assert platform.engines[0].epochs <= epochs + 2, "idle once, then nothing more"
        client.cancel().result(patience(10))


def test_data_is_read_when_it_comes_and_one_epoch_is_enough_for_all_that_is_there() -> None:
    with local_platform() as platform:
        clock = SteppedClock(0)
        env = environment(1, clock=clock)
        env.from_source(LiveSource("d"), WatermarkStrategy.no_watermarks(), "live").map(
            lambda v: note("seen", v)
        )
        client = env.execute_async()
        clock.settle()
        before = platform.engines[0].epochs
        feed("d", *((n, 0) for n in range(500)))
        clock.tick()
        assert notes["seen"] == list(range(500))
        assert platform.engines[0].epochs == before + 1
        client.cancel().result(patience(10))


class At100(KeyedProcessFunction):
    """Timers 100 and 350 ms of processing time after each record."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        for after_ms in (100, 350):
            ctx.timer_service().register_processing_time_timer(
                ctx.timer_service().current_processing_time() + after_ms
            )

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        note("late by", ctx.timer_service().current_processing_time() - timestamp)
        yield ctx.get_current_key(), timestamp


def test_a_timer_of_a_busy_job_is_late_by_one_epoch_interval_at_most() -> None:
    """A record every 30 ms, so an epoch every 100 ms; timers of a second keyed operator behind the first."""
    with local_platform() as platform:
        clock = SteppedClock(0)
        env = environment(2, clock=clock)
        stream = env.from_source(LiveSource("b"), WatermarkStrategy.no_watermarks(), "live")
        stream.key_by(lambda v: v).process(At100()).key_by(lambda v: v).process(At100())
        client = env.execute_async()
        clock.settle()
        for n in range(130):
            feed("b", *([(n, 0)] if n < 100 else []))
            clock.tick(30)
        late = notes["late by"]
        assert len(late) == 100 * 2 + 200 * 2, "each record sets two, and each of their results two more"
        assert min(late) >= 0
        assert max(late) <= INTERVAL_MS
        assert platform.engines[0].epochs <= 3_000 / INTERVAL_MS + 12
        client.cancel().result(patience(10))


clocks: list[SteppedClock] = []


def note_with_the_time(value: Any) -> None:
    note("window", (clocks[-1].now_ms(), value))


@pytest.mark.row("S-TIME-02")
def test_a_processing_time_window_fires_at_its_end_though_nothing_comes() -> None:
    """[0, 5000) at 5,000. Three epochs: the window, a record, the next window."""
    with local_platform() as platform:
        clock = SteppedClock(1_000)
        clocks.append(clock)
        env = environment(1, clock=clock)
        stream = env.from_source(LiveSource("w"), WatermarkStrategy.no_watermarks(), "live")
        windowed = stream.key_by(lambda v: v[0]).window(
            TumblingProcessingTimeWindows.of(Duration.of_seconds(5))
        )
        windowed.reduce(lambda a, b: (a[0], a[1] + b[1])).map(note_with_the_time)
        client = env.execute_async()
        clock.settle()
        feed("w", (("a", 1), 0), (("b", 10), 0))
        clock.tick(3_000)
        feed("w", (("a", 2), 0))
        clock.tick(900)
        epochs = platform.engines[0].epochs
        clock.tick(99)
        assert notes["window"] == []
        clock.tick(1)
        assert sorted(notes["window"]) == [(5_000, ("a", 3)), (5_000, ("b", 10))]
        feed("w", (("a", 4), 0))
        for _ in range(50):
            clock.tick(100)
        assert notes["window"][2:] == [(10_000, ("a", 4))]
        assert platform.engines[0].epochs == epochs + 3
        client.cancel().result(patience(10))


def windows_of(speed: int) -> list[int]:
    """Counts of processing-time windows of a second, over the same 20 records."""
    with local_platform():
        clock = SteppedClock(0)
        env = environment(1, clock=clock)
        stream = env.from_source(LiveSource(f"by {speed}"), WatermarkStrategy.no_watermarks(), "live")
        windowed = stream.key_by(lambda v: 0).window(TumblingProcessingTimeWindows.of(Duration.of_seconds(1)))
        windowed.reduce(lambda a, b: a + b).map(lambda v: note("counts", v))
        client = env.execute_async()
        clock.settle()
        for _ in range(20):
            feed(f"by {speed}", (1, 0))
            clock.tick(speed)
        clock.tick(2_000)
        client.cancel().result(patience(10))
        return list(notes["counts"])


@pytest.mark.row("S-TIME-04")
def test_a_replay_in_processing_time_depends_on_the_clock() -> None:
    """Two speeds, two results, each of them right: nothing is lost or counted twice."""
    slow, fast = windows_of(500), windows_of(100)
    assert slow == [1, *[2] * 9, 1]
    assert fast == [9, 10, 1]


# ---- generators that have something to say without records


class TimeLag(WatermarkGenerator):
    """The watermark is a second behind the clock (Flink's example of a periodic generator)."""

    def on_event(self, event: At, event_timestamp: int, output: WatermarkOutput) -> None: ...

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(note("calls", clocks[-1].now_ms()) - 1_000)


@pytest.mark.parametrize("interval_ms", [None, 200, 1_000])
@pytest.mark.row("S-TIME-24")
def test_a_periodic_generator_is_asked_without_records_too(interval_ms: int | None) -> None:
    """Every 200 ms if nothing else is set."""
    with local_platform() as platform:
        clock = SteppedClock(0)
        clocks.append(clock)
        env = environment(1, clock=clock)
        if interval_ms is not None:
            env.get_config().set_auto_watermark_interval(interval_ms)
        stream = env.from_source(LiveSource("p"), punctuated(TimeLag), "live")
        stream.key_by(lambda r: 0).process(AtEventTime())
        client = env.execute_async()
        clock.settle()
        feed("p", (At(5_000), 0))
        clock.tick()
        epochs = platform.engines[0].epochs
        for _ in range(50):
            clock.tick(100)
        assert notes["fired"] == [], "5,100 ms: the watermark is 4,100 at most"
        step = interval_ms or 200
        assert set(steps_of(notes["calls"][2:])) == {step}
        assert platform.engines[0].epochs - epochs == 5_000 // step
        for _ in range(20):
            clock.tick(100)
        assert notes["fired"] == [5_000]
        client.cancel().result(patience(10))


def steps_of(numbers: list[int]) -> list[int]:
    return [b - a for a, b in itertools.pairwise(numbers)]


class SleepsAfterThreeCalls(WatermarkGenerator):
    def __init__(self) -> None:
        self.calls = 0

    def on_event(self, event: At, event_timestamp: int, output: WatermarkOutput) -> None:
        self.calls = 0
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self.calls += 1
        if self.calls > 3:
            output.mark_idle()


def test_a_generator_may_say_itself_that_its_split_is_idle() -> None:
    clock = SteppedClock(0)
    env = environment(1, clock=clock)
    stream = env.from_source(LiveSource("z", splits=2), punctuated(SleepsAfterThreeCalls), "two splits")
    stream.key_by(lambda r: 0).process(AtEventTime())
    client = env.execute_async()
    clock.settle()
    feed("z", (At(1), 0), split=0)
    feed("z", (At(7), 0), split=1)
    clock.tick()
    assert notes["fired"] == [1], "split 0 is at 1"
    for n in range(20):
        feed("z", (At(8 + n), 0), split=1)
        clock.tick(100)
    assert notes["fired"][:3] == [1, 7, 8]
    client.cancel().result(patience(10))


@pytest.mark.parametrize("silent", [punctuated(), WatermarkStrategy.for_monotonous_timestamps()])
def test_a_generator_that_says_nothing_by_itself_costs_no_epoch(silent: WatermarkStrategy) -> None:
    with local_platform() as platform:
        clock = SteppedClock(0)
        env = environment(1, clock=clock)
        env.from_source(LiveSource("n"), silent.with_timestamp_assigner(take_ts), "live").map(lambda v: v)
        client = env.execute_async()
        clock.settle()
        feed("n", (At(5, None, 3), 0))
        clock.tick()
        epochs = platform.engines[0].epochs
        for _ in range(50):
            clock.tick(100)
        assert platform.engines[0].epochs == epochs
        client.cancel().result(patience(10))


def test_idleness_holds_for_a_generator_that_is_asked_again_and_again() -> None:
    """While a split is idle for want of records its generator is not asked: it would be active again."""
    clock = SteppedClock(0)
    clocks.append(clock)
    strategy = punctuated(TimeLag).with_idleness(Duration.of_seconds(3))
    with local_platform() as platform:
        env = environment(1, clock=clock)
        env.from_source(LiveSource("q", splits=2), strategy, "live").map(lambda v: v)
        client = env.execute_async()
        clock.settle()
        for _ in range(40):
            clock.tick(100)
        epochs, calls = platform.engines[0].epochs, len(notes["calls"])
        for _ in range(40):
            clock.tick(100)
        assert (platform.engines[0].epochs, len(notes["calls"])) == (epochs, calls), "both are idle"
        for _ in range(10):
            feed("q", (At(0), 0), split=1)
            clock.tick(100)
        assert (platform.engines[0].epochs, len(notes["calls"])) == (epochs + 10, calls + 10), "one still is"
        client.cancel().result(patience(10))


# ---- splits that come later, and subtasks that have none


class GrowingSource(LiveSource):
    """A split for each list of ``feed``, once there is something in it."""

    @property
    def max_parallelism(self) -> int | None:
        return None

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        enumerator = super().create_enumerator(context)
        seen: set[tuple[str, int]] = set()

        def discover(now_ms: int) -> list[Split]:
            new = [key for key, fed in feeds.items() if key[0] == self.topic and fed and key not in seen]
            seen.update(new)
            return [Split(f"{topic}-{number}", (topic, number)) for topic, number in new]

        enumerator.discover = discover  # type: ignore[method-assign]
        enumerator.__class__ = type("_Growing", (type(enumerator),), {"finished": False})
        return enumerator


@pytest.mark.parametrize("idleness", [True, False])
def test_a_subtask_without_a_split_holds_event_time_back_until_it_is_idle(idleness: bool) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(take_ts)
    if idleness:
        strategy = strategy.with_idleness(Duration.of_seconds(30))
    with local_platform() as platform:
        clock = SteppedClock(0)
        env = environment(2, clock=clock)
        stream = env.from_source(GrowingSource("g"), strategy, "one split, two subtasks")
        stream.key_by(lambda r: 0).process(AtEventTime())
        client = env.execute_async()
        clock.settle()
        feed("g", (At(10), 0), (At(20), 0))
        clock.tick(100)
        clock.tick(29_000)
        feed("g", (At(30), 0))
        clock.tick(800)
        assert notes["fired"] == []
        clock.tick(200)
        assert notes["fired"] == ([10, 20] if idleness else [])
        feed("g", (At(25), 0), (At(60), 0), split=1)
        clock.tick()
        feed("g", (At(50), 0))
        clock.tick()
        clock.tick()
        assert notes["fired"] == [10, 20, 25, 30], "each subtask has a split now"
        epochs = platform.engines[0].epochs
        for _ in range(5):
            clock.tick(60_000)
        assert platform.engines[0].epochs <= epochs + 2
        client.cancel().result(patience(10))


def test_a_split_that_comes_when_all_others_are_idle_is_active() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(take_ts)
    clock = SteppedClock(0)
    env = environment(1, clock=clock)
    stream = env.from_source(GrowingSource("n"), strategy.with_idleness(Duration.of_seconds(1)), "grows")
    stream.key_by(lambda r: 0).process(AtEventTime())
    client = env.execute_async()
    clock.settle()
    feed("n", (At(10), 0))
    clock.tick(1_000)
    clock.tick(1_000)
    assert notes["fired"] == []
    feed("n", (At(20), 0), (At(30), 0), split=1)
    clock.tick()
    clock.tick()
    assert notes["fired"] == [10, 20]
    client.cancel().result(patience(10))
