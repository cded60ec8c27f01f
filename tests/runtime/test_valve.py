"""The watermark of an operator: minimum over active channels that have caught up (trap T01)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from firesteel.datastream import CoMapFunction
from firesteel.runtime.batch import ACTIVE, END, IDLE, MAX_WATERMARK, Mark
from firesteel.runtime.valve import WatermarkValve

from .support import At, Probe, collect, environment, punctuated

T01: list[tuple[int, Mark, list[Mark]]] = [
    (0, 10, []),
    (1, 5, [5]),
    (1, IDLE, [10]),
    (1, ACTIVE, []),
    (1, 7, []),
    (0, 12, [12]),
    (1, 13, []),
    (0, 15, [13]),
]


def test_the_table_of_t01() -> None:
    valve = WatermarkValve((0, 1))
    assert [(c, m, valve.feed(c, m)) for c, m, _ in T01] == T01


def test_the_table_of_t01_with_a_new_process_before_each_mark() -> None:
    valve = WatermarkValve((0, 1))
    seen = []
    for channel, mark, _ in T01:
        snapshot = valve.snapshot()
        valve = WatermarkValve((0, 1))
        valve.restore(snapshot)
        seen.append((channel, mark, valve.feed(channel, mark)))
    assert seen == T01


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
    watermarks = {c: -(2**63) for c in range(3)}
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
            assert output <= lowest or lowest < output and not got, "the output passed a channel"
        assert valve.is_idle == all(idle.values())


def test_a_job_with_two_channels_takes_the_lower_watermark() -> None:
    env = environment(1)
    low = env.from_collection([At(3, "b", 3)]).assign_timestamps_and_watermarks(punctuated())
    high = env.from_collection([At(10, "a", 10)]).assign_timestamps_and_watermarks(punctuated())

    class Keep(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return value

        def map2(self, value: Any) -> Any:
            return value

    # Each input sees the other only through the watermark: a third, later record of both shows it.
    low2 = low.union(env.from_collection([]))
    merged = high.connect(low2).map(Keep()).process(Probe())
    watermarks = [w for _, _, w in collect(merged)]
    assert all(w <= 3 for w in watermarks)
