"""Operators that are more than a function, in the harness: windows, joins, broadcast state, requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common import Duration, Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import (
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    DataStream,
    OutputTag,
    ProcessJoinFunction,
)
from firesteel.datastream.state import MapStateDescriptor
from firesteel.datastream.window import EventTimeSessionWindows, EventTimeTrigger, TumblingEventTimeWindows
from firesteel.testing import OperatorHarness, StreamRecord, Watermark, WatermarkStatus

from .functions import identity

LATE = OutputTag("late")


def first(value: tuple[Any, ...]) -> Any:
    return value[0]


def add(a: tuple[str, int], b: tuple[str, int]) -> tuple[str, int]:
    return a[0], a[1] + b[1]


def tumbling(values: DataStream) -> DataStream:
    windows = values.key_by(first).window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
    return windows.side_output_late_data(LATE).reduce(add)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_window_fires_at_its_last_millisecond(processes: int) -> None:
    harness = OperatorHarness(tumbling, side_outputs=[LATE], parallelism=2, processes=processes)
    for value, timestamp in [(("a", 1), 0), (("a", 2), 4), (("a", 4), 5), (("b", 8), 3)]:
        harness.process_element(value, timestamp)
    assert harness.num_keyed_state_entries() == 3, "windows count one by one"
    harness.process_watermark(3)
    assert harness.output == [Watermark(3)]
    harness.clear_output()
    harness.process_watermark(4)
    assert harness.output[-1] == Watermark(4)
    assert sorted(harness.values) == [("a", 3), ("b", 8)]
    assert {r.timestamp for r in harness.output if isinstance(r, StreamRecord)} == {4}
    assert harness.num_keyed_state_entries() == 1
    harness.process_element(("a", 100), 2)
    assert harness.side_output(LATE) == [StreamRecord(("a", 100), 2)]


@pytest.mark.parametrize("after", [1, 2, 3])
@pytest.mark.row("S-WIN-33", "S-STATE-27")
def test_open_windows_are_in_the_snapshot(after: int) -> None:
    harness = OperatorHarness(tumbling, parallelism=2)
    for key in "abcdef":
        harness.process_element((key, 1), 2)
    restored = OperatorHarness(tumbling, parallelism=after, restore=harness.snapshot())
    restored.process_element(("a", 1), 3)
    restored.process_watermark(10)
    assert sorted(restored.values) == [("a", 2), *((key, 1) for key in "bcdef")]
    assert restored.num_keyed_state_entries() == 0


class OwnTrigger(EventTimeTrigger):
    """A trigger of the user's, which happens to do what the windows' own one does."""


@pytest.mark.parametrize("own_trigger", [False, True])
def test_sessions_merge(own_trigger: bool) -> None:
    """A@0, b@15 and then c@8 between them."""

    def sessions(values: DataStream) -> DataStream:
        windows = values.key_by(first).window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
        return (windows.trigger(OwnTrigger()) if own_trigger else windows).reduce(add)

    harness = OperatorHarness(sessions)
    harness.process_element(("k", 1), 0)
    harness.process_element(("k", 2), 15)
    if own_trigger:
        assert sorted(timer.timestamp for timer in harness.timers()) == [9, 24]
    else:
        assert harness.num_keyed_state_entries() == 2, "windows count one by one"
    harness.process_element(("k", 4), 8)
    if own_trigger:
        assert [(timer.timestamp, timer.key) for timer in harness.timers()] == [(24, "k")]
    else:
        assert harness.num_keyed_state_entries() == 1
    harness.process_watermark(24)
    assert harness.output == [StreamRecord(("k", 7), 24), Watermark(24)]
    assert harness.num_keyed_state_entries() == 0


@pytest.mark.parametrize("after", [1, 2, 3])
def test_open_sessions_are_in_the_snapshot(after: int) -> None:
    def sessions(values: DataStream) -> DataStream:
        windows = values.key_by(first).window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
        return windows.reduce(add)

    harness = OperatorHarness(sessions, parallelism=2)
    for timestamp in (0, 30):
        for key in "abcdef":
            harness.process_element((key, 1), timestamp)
    assert harness.num_keyed_state_entries() == 12
    restored = OperatorHarness(sessions, parallelism=after, restore=harness.snapshot())
    restored.process_element(("a", 1), 3)
    restored.process_watermark(50)
    assert sorted(restored.values) == [("a", 1), ("a", 2), *((key, 1) for key in "bbccddeeff")]
    assert restored.num_keyed_state_entries() == 0


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right


def test_an_interval_join() -> None:
    """Between(-2, +1)."""

    def joined(left: DataStream, right: DataStream) -> DataStream:
        join = left.key_by(lambda v: 0).interval_join(right.key_by(lambda v: 0))
        return join.between(Time.milliseconds(-2), Time.milliseconds(1)).process(Pair())

    harness = OperatorHarness(joined)
    left, right = harness.inputs
    for timestamp in (2, 3, 4):
        right.process_element(f"b{timestamp}", timestamp)
    left.process_element("a", 5)
    for timestamp in (5, 6, 7):
        right.process_element(f"b{timestamp}", timestamp)
    assert harness.output == [
        StreamRecord(("a", f"b{timestamp}"), max(5, timestamp)) for timestamp in (3, 4, 5, 6)
    ]
    harness.process_watermark(100)
    assert harness.num_keyed_state_entries() == 0


RULES = MapStateDescriptor("rules", Types.STRING(), Types.STRING())


class Matching(BroadcastProcessFunction):
    def process_element(self, value: str, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        for rule, _ in ctx.get_broadcast_state(RULES).items():
            yield value, rule

    def process_broadcast_element(self, value: str, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(value, value)


def test_broadcast_state_is_in_every_subtask() -> None:
    harness = OperatorHarness(
        lambda data, rules: data.connect(rules.broadcast(RULES)).process(Matching()), parallelism=2
    )
    data, rules = harness.inputs
    data.process_element("d1")
    rules.process_element("r1")
    data.process_element("d2")
    assert harness.values == [("d2", "r1")]
    assert [harness.operator_state(RULES, subtask=i) for i in range(2)] == [{"r1": "r1"}] * 2


class Lookup(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        return [value * 10]


def test_requests_are_answered_when_the_call_returns() -> None:
    harness = OperatorHarness(lambda ids: AsyncDataStream.ordered_wait(ids, Lookup(), Time.seconds(10), 2))
    for value in range(5):
        harness.process_element(value, value)
    harness.process_watermark(9)
    assert harness.output == [*(StreamRecord(10 * v, v) for v in range(5)), Watermark(9)]


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def test_a_strategy_and_its_idleness() -> None:
    """With a bound of 2 ms; the stream is idle after 100 ms without a record."""
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2))
        .with_timestamp_assigner(Itself())
        .with_idleness(Duration.of_millis(100))
    )
    harness = OperatorHarness(
        lambda s: s.assign_timestamps_and_watermarks(strategy).map(identity), processing_time=500
    )
    harness.process_element(20)
    harness.process_element(15)
    assert harness.output == [StreamRecord(20, 20), Watermark(17), StreamRecord(15, 15)]
    harness.clear_output()
    harness.set_processing_time(1_000)
    harness.set_processing_time(2_000)
    assert harness.output == [WatermarkStatus.IDLE]
    harness.process_element(30)
    assert WatermarkStatus.ACTIVE in harness.output
    assert harness.output[-1] == Watermark(27)
