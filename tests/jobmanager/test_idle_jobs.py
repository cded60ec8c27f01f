"""What happens without input: timers and idleness fire, and else no epoch runs (X7, S-TIME-11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction
from firesteel.testing.local_platform import LocalEngine
from tests.runtime.support import (
    At,
    LiveSource,
    SteppedClock,
    environment,
    feed,
    local_platform,
    note,
    notes,
    take_ts,
)


class InFiveSeconds(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_processing_time_timer(
            ctx.timer_service().current_processing_time() + 5_000
        )

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield note("fired", (ctx.get_current_key(), timestamp, ctx.timer_service().current_processing_time()))


@pytest.mark.parametrize("fresh", [False, True])
def test_a_processing_time_timer_fires_without_input_and_an_idle_job_runs_no_epoch(fresh: bool) -> None:
    """X7 and S-TIMER-02. Broken by hand: ``JobMaster._step`` runs an epoch whenever it is asked."""
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
        client.cancel().result(10)


class AtEventTime(KeyedProcessFunction):
    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value.ts)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield note("fired", timestamp)


@pytest.mark.parametrize("where", ["source", "mid-stream"])
@pytest.mark.parametrize("idleness", [True, False])
def test_a_silent_split_holds_event_time_back_until_it_is_idle(idleness: bool, where: str) -> None:
    """S-TIME-11 and, without idleness, S-TIME-12. The time is the job's own: no input has to come."""
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
        client.cancel().result(10)


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
        client.cancel().result(10)
