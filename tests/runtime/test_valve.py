"""The watermark of an operator: minimum over active channels that have caught up."""

from __future__ import annotations

import random
from typing import Any

import pytest

from firesteel.common.watermark_strategy import WatermarkOutput
from firesteel.datastream import CoProcessFunction, ProcessFunction
from firesteel.runtime.batch import ACTIVE, END, IDLE, MAX_WATERMARK, Mark
from firesteel.runtime.valve import WatermarkValve

from .support import At, LiveSource, Punctuated, SteppedClock, environment, feed, note, notes, punctuated

CASE: list[tuple[int, Mark, list[Mark]]] = [
    (0, 10, []),
    (1, 5, [5]),
    (1, IDLE, [10]),
    (1, ACTIVE, []),
    (1, 7, []),
    (0, 12, [12]),
    (1, 13, []),
    (0, 15, [13]),
]


@pytest.mark.row("S-TIME-07", "T01")
def test_the_watermark_is_the_minimum_over_active_channels() -> None:
    valve = WatermarkValve((0, 1))
    assert [(c, m, valve.feed(c, m)) for c, m, _ in CASE] == CASE


def test_the_watermark_is_the_minimum_over_active_channels_with_a_new_process_before_each_mark() -> None:
    valve = WatermarkValve((0, 1))
    seen = []
    for channel, mark, _ in CASE:
        snapshot = valve.snapshot()
        valve = WatermarkValve((0, 1))
        valve.restore(snapshot)
        seen.append((channel, mark, valve.feed(channel, mark)))
    assert seen == CASE


def test_a_watermark_of_an_idle_channel_is_ignored() -> None:
    valve = WatermarkValve((0, 1))
    assert valve.feed(0, 10) == []
    assert valve.feed(1, IDLE) == [10]
    assert valve.feed(1, 50) == []
    assert valve.feed(0, 20) == [20]


def test_all_channels_idle_makes_the_output_idle_once_and_one_record_active_again() -> None:
    valve = WatermarkValve((0, 1))
    valve.feed(0, 10)
    valve.feed(1, 10)
    assert valve.feed(0, IDLE) == []
    assert valve.feed(1, IDLE) == [IDLE]
    assert valve.feed(1, IDLE) == []
    assert valve.is_idle
    assert valve.feed(0, ACTIVE) == [ACTIVE]
    assert not valve.is_idle
    assert valve.feed(1, ACTIVE) == []


def test_the_last_channel_to_go_idle_flushes_the_highest_watermark_if_it_held_the_output_back() -> None:
    valve = WatermarkValve((0, 1))
    valve.feed(0, 20)
    assert valve.feed(1, 5) == [5]
    assert valve.feed(0, IDLE) == []
    assert valve.feed(1, IDLE) == [20, IDLE]


def test_a_channel_that_has_not_caught_up_does_not_flush_when_it_goes_idle() -> None:
    valve = WatermarkValve((0, 1))
    valve.feed(0, 20)
    valve.feed(1, 5)
    assert valve.feed(1, IDLE) == [20]
    valve.feed(1, ACTIVE)
    assert valve.feed(1, 7) == []
    assert valve.feed(0, IDLE) == []
    assert valve.feed(1, IDLE) == [IDLE]


def test_the_end_comes_with_the_end_of_the_last_channel() -> None:
    valve = WatermarkValve((0, 1))
    assert valve.feed(0, END) == []
    assert valve.feed(1, 5) == [5]
    assert valve.feed(1, END) == [END]
    assert valve.is_ended
    assert valve.output == MAX_WATERMARK
    assert valve.feed(1, END) == []


@pytest.mark.parametrize("seed", range(20))
def test_the_output_never_goes_back_and_never_passes_an_active_channel_that_has_caught_up(seed: int) -> None:
    chance = random.Random(seed)
    valve = WatermarkValve((0, 1, 2))
    watermarks = dict.fromkeys(range(3), -(2**63))
    idle = dict.fromkeys(range(3), False)
    aligned = dict.fromkeys(range(3), True)
    output = -(2**63)
    for _ in range(300):
        channel = chance.randrange(3)
        mark: Mark = chance.choice([IDLE, ACTIVE, *range(0, 60, 5)])
        got = valve.feed(channel, mark)
        if mark == IDLE:
            idle[channel], aligned[channel] = True, False
        elif mark == ACTIVE:
            if idle[channel]:
                idle[channel] = False
                aligned[channel] = watermarks[channel] >= output
        elif not idle[channel]:
            watermarks[channel] = max(watermarks[channel], mark)
            aligned[channel] = aligned[channel] or watermarks[channel] >= output
        for m in got:
            if isinstance(m, int):
                assert m > output
                output = m
        lowest = min((watermarks[c] for c in range(3) if not idle[c] and aligned[c]), default=None)
        if lowest is not None:
            assert output == max(output, lowest), "the output lags behind the minimum"
            assert output <= lowest or (lowest < output and not got), "the output passed a channel"
        assert valve.is_idle == all(idle.values())


class Watermarks(ProcessFunction):
    """The watermark that each record finds."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
        note("watermarks", ctx.timer_service().current_watermark())


@pytest.mark.row("S-TIME-07", "T01", "S-SPARK-07")
def test_the_watermark_is_the_minimum_over_active_channels_through_a_job_with_two_channels() -> None:
    """The last row but one of the table is the channel's first record after its idleness: it is active
    from then on. A record of channel 0 with an old watermark shows what the operator's watermark is."""

    class Idling(Punctuated):
        def on_event(self, event: At, event_timestamp: int, output: WatermarkOutput) -> None:
            if event.value == "idle":
                output.mark_idle()
            elif event.value == "active":
                output.mark_active()
            super().on_event(event, event_timestamp, output)

    clock = SteppedClock()
    env = environment(2, clock=clock)
    stream = env.from_source(LiveSource("two channels", splits=2), punctuated(Idling), "two channels")
    stream.rebalance().process(Watermarks()).set_parallelism(1)
    client = env.execute_async()
    seen = []
    for channel, mark, _ in CASE:
        record = At(0, mark) if isinstance(mark, str) else At(0, None, mark)
        feed("two channels", (record, 0), split=channel)
        clock.tick()
        feed("two channels", (At(0, "look"), 0), split=0)
        clock.tick()
        seen.append(notes["watermarks"][-1])
    lowest = -(2**63)
    assert seen == [lowest, 5, 10, 10, 10, 12, 12, 13]
    client.cancel().result()


class Side(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        yield "one", ctx.timer_service().current_watermark()

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        yield "two", ctx.timer_service().current_watermark()


@pytest.mark.row("T16")
def test_the_watermark_of_two_inputs_is_the_lower_one() -> None:
    """A at W10, B at W3: the operator is at W3."""
    clock = SteppedClock()
    env = environment(1, clock=clock)
    a = env.from_source(LiveSource("a"), punctuated(), "a")
    b = env.from_source(LiveSource("b"), punctuated(), "b")
    a.connect(b).process(Side()).map(lambda v: note("seen", v))
    client = env.execute_async()
    clock.settle()
    feed("a", (At(0, None, 10), 0))
    clock.tick()
    feed("b", (At(0, None, 3), 0))
    clock.tick()
    feed("a", (At(0), 0))
    clock.tick()
    feed("b", (At(0, None, 20), 0), (At(0), 0))
    clock.tick()
    lowest = -(2**63)
    assert notes["seen"] == [("one", lowest), ("two", lowest), ("one", 3), ("two", 3), ("two", 10)]
    client.cancel().result()


@pytest.mark.parametrize("seed", range(30))
def test_many_marks_of_a_channel_give_what_each_gives(seed: int) -> None:
    rng = random.Random(seed)
    at_once, one_by_one = WatermarkValve(range(3)), WatermarkValve(range(3))
    highest = 0
    for _ in range(20):
        channel = rng.randrange(3)
        highest += rng.randrange(5)
        marks: list[tuple[int, Mark]] = [
            (at, rng.choice([highest + at, highest - 9, IDLE, ACTIVE] if rng.random() < 0.9 else [END]))
            for at in range(rng.randrange(6))
        ]
        expected = [(at, m) for at, mark in marks for m in one_by_one.feed(channel, mark)]
        assert at_once.feed_all(channel, marks) == expected
        assert at_once.snapshot() == one_by_one.snapshot()
