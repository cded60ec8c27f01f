"""Patterns in whole jobs, without Spark: cuts into epochs, other processes, BATCH mode, the shipped
example."""

from __future__ import annotations

import asyncio
import random
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from firesteel.cep import CEP, IterativeCondition, Pattern
from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.common.time import Time
from firesteel.datastream import AsyncDataStream, AsyncFunction, DataStream, RuntimeExecutionMode
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.testing import CollectingSink
from firesteel.testing.local_platform import LocalEngine
from tests.runtime.support import collect, environment, local_platform

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

import fraud_ring  # the examples are scripts
import intrusion
import payments
import sensors

TIMES = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)).with_timestamp_assigner(
    lambda event, _: event[1]
)


class IterativeHigher(IterativeCondition):
    def filter(self, event: Any, ctx: Any) -> bool:
        return all(event[2] > before[2] for before in ctx.get_events_for_pattern("low"))


class Doubled(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        return [2 * value]


def events(seed: int) -> list[tuple[int, int, str]]:
    rng = random.Random(seed)
    return [(rng.randrange(5), n + rng.randrange(5), rng.choice("abcd")) for n in range(300)]


def find(stream: DataStream) -> DataStream:
    pattern = (
        Pattern.begin("a")
        .where(lambda e: e[2] == "a")
        .followed_by("b")
        .where(lambda e: e[2] == "b")
        .one_or_more()
        .next("c")
        .where(lambda e: e[2] == "c")
        .within(60)
    )
    # One subtask before the exchange: with several, the order of events of the same time is not fixed.
    timed = stream.assign_timestamps_and_watermarks(TIMES).set_parallelism(1)
    return CEP.pattern(timed.key_by(lambda e: e[0]), pattern).select(
        lambda match: tuple(e[1] for es in match.values() for e in es)
    )


def matches(
    seed: int,
    parallelism: int = 1,
    epoch_records: int | None = None,
    mode: RuntimeExecutionMode = RuntimeExecutionMode.STREAMING,
    **options: str,
) -> list[Any]:
    env = environment(parallelism, epoch_records=epoch_records, **options)
    env.set_runtime_mode(mode)
    return sorted(collect(find(env.from_collection(events(seed)).set_parallelism(1))))


@pytest.mark.row("S-CEP-16", "S-CEP-17", "S-SPARK-08")
@pytest.mark.parametrize("seed", range(3))
def test_matches_do_not_depend_on_epochs_processes_and_parallelism(seed: int) -> None:
    with local_platform():
        expected = matches(seed)
    assert len(expected) > 20
    with local_platform(lambda: LocalEngine(seed=seed, fresh_process=lambda: True)):
        assert matches(seed, epoch_records=17) == expected
        assert matches(seed, parallelism=3, epoch_records=40) == expected


@pytest.mark.row("S-OPS-22")
def test_patterns_windows_and_async_functions_follow_each_other() -> None:
    """Sums of windows -> two that grow -> looked up for each match -> windows of the answers."""
    with local_platform():
        env = environment(2, epoch_records=4)
        numbers = env.from_collection([("k", 10 * n, n % 7) for n in range(60)]).set_parallelism(1)
        sums = (
            numbers.assign_timestamps_and_watermarks(TIMES)
            .set_parallelism(1)
            .key_by(lambda e: e[0])
            .window(TumblingEventTimeWindows.of(Time.milliseconds(30)))
            .reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
        )
        grows = Pattern.begin("low").next("high").where(IterativeHigher())
        pairs = CEP.pattern(sums.key_by(lambda e: e[0]), grows).select(lambda m: m["high"][0][2])
        looked_up = AsyncDataStream.unordered_wait(pairs, Doubled(), Duration.of_seconds(20), 5, Types.LONG())
        longest = looked_up.key_by(lambda v: 0).window(TumblingEventTimeWindows.of(Time.milliseconds(10_000)))
        found = collect(longest.reduce(max))
    totals = [sum(n % 7 for n in range(60) if 10 * n // 30 == w) for w in range(20)]
    assert found == [2 * max(b for a, b in pairwise(totals) if b > a)]


def test_batch_mode_finds_the_same() -> None:
    with local_platform():
        assert matches(1, mode=RuntimeExecutionMode.BATCH) == matches(1)


def test_real_time_finds_the_same() -> None:
    with local_platform():
        real_time = {"execution.mode": "real-time", "firesteel.real-time.epoch": "50 ms"}
        assert matches(2, **real_time) == matches(2)


@pytest.mark.row("S-CEP-15", "S-USE-01")
def test_the_shipped_example_finds_each_theft() -> None:
    made, stolen = payments.generated(6_000)
    with local_platform():
        env = environment(2)
        thefts, tried = CollectingSink(), CollectingSink()
        found = payments.thefts(env.from_collection(made))
        found.sink_to(thefts)
        found.get_side_output(payments.TRIED).sink_to(tried)
        env.execute()
    assert {theft.card for theft in thefts.values} == stolen
    assert len(thefts.values) == len(stolen)
    assert all(theft.probes >= 2 and theft.minutes < 10 for theft in thefts.values)
    assert set(tried.values) == {30_000}


@pytest.mark.row("S-CEP-15")
def test_the_shipped_example_finds_each_ring_of_accounts() -> None:
    made, planted = fraud_ring.generated(2_000)
    assert len({len(members) for members in planted}) > 1
    with local_platform():
        found = collect(fraud_ring.rings(environment(2).from_collection(made)))
    assert {ring.accounts for ring in found} == planted
    assert len(found) == len(planted)
    assert {ring.link.partition(" ")[0] for ring in found} == {"device", "address"}
    assert all(ring.cents >= fraud_ring.LARGE for ring in found)


@pytest.mark.row("S-CEP-15")
def test_the_shipped_example_finds_each_break_in() -> None:
    made, intruders = intrusion.generated(6_000)
    with local_platform():
        env = environment(2)
        found = collect(intrusion.break_ins(env.from_collection(made)))
    assert {(each.source, each.host) for each in found} == intruders
    assert len(found) == len(intruders)
    assert all(each.ports >= 5 and each.passwords >= 3 for each in found)


@pytest.mark.row("S-CEP-15")
def test_the_shipped_example_finds_each_machine_that_overheats() -> None:
    made, hot = sensors.generated(6_000)
    with local_platform():
        env = environment(2)
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        found = collect(sensors.alarms(env.from_collection(made), env.from_collection(sensors.PATTERNS)))
    assert {alarm.machine for alarm in found} == hot
    assert len(found) == len(hot)
    assert all(alarm.celsius > 90 and alarm.pattern == "overheating" for alarm in found)
