"""Channels and inputs of the harness: who decides about the watermark, what connected streams share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    MapFunction,
)
from firesteel.testing import END_OF_TIME, Event, OperatorHarness, StreamRecord, Watermark, WatermarkStatus

from .functions import Converter, Count, identity

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE

# Channel or input, what comes on it, what goes on.
CASE: list[tuple[int, list[int | WatermarkStatus], list[Event]]] = [
    (0, [10], []),
    (1, [5], [Watermark(5)]),
    (1, [IDLE], [Watermark(10)]),
    (1, [ACTIVE, 7], []),
    (0, [12], [Watermark(12)]),
    (1, [13], []),
    (0, [15], [Watermark(13)]),
]


class Nothing(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> None: ...

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> None: ...


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("processes", [1, 3])
def test_the_watermark_is_the_minimum_over_active_channels(keyed: bool, processes: int) -> None:
    function: Any = Count() if keyed else Plain()
    key_by = identity if keyed else None
    harness = OperatorHarness(function, key_by=key_by, channels=2, processes=processes)
    for channel, marks, expected in CASE:
        harness.clear_output()
        for mark in marks:
            match mark:
                case WatermarkStatus.IDLE:
                    harness.mark_idle(channel=channel)
                case WatermarkStatus.ACTIVE:
                    harness.mark_active(channel=channel)
                case int():
                    harness.process_watermark(mark, channel=channel)
        assert harness.output == expected


class Plain(MapFunction):
    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("function", "key_by"), [(Nothing(), None), (Converter(), (identity, identity))], ids=["plain", "keyed"]
)
def test_the_watermark_is_the_minimum_over_active_inputs(function: Any, key_by: Any) -> None:
    harness = OperatorHarness(function, key_by=key_by)
    for number, marks, expected in CASE:
        harness.clear_output()
        source = harness.inputs[number]
        for mark in marks:
            match mark:
                case WatermarkStatus.IDLE:
                    source.mark_idle()
                case WatermarkStatus.ACTIVE:
                    source.mark_active()
                case int():
                    source.process_watermark(mark)
        assert harness.output == expected


def test_a_channel_that_has_ended_holds_nothing_back() -> None:
    harness = OperatorHarness(Plain(), channels=2)
    harness.process_watermark(5, channel=0)
    harness.end_input(channel=1)
    assert harness.output == [Watermark(5)]
    harness.process_watermark(6)  # on all channels that are left
    harness.end_input()
    assert harness.output == [Watermark(5), Watermark(6), END_OF_TIME]


def test_records_of_a_channel() -> None:
    harness = OperatorHarness(Count(), key_by=identity, channels=3, parallelism=2)
    with harness.epoch():
        for channel in (2, 0, 1):
            harness.process_element("a", channel, channel=channel)
    assert [record.timestamp for record in harness.output if isinstance(record, StreamRecord)] == [0, 1, 2]
    assert harness.values == [("a", 1), ("a", 2), ("a", 3)]


def test_connected_streams_share_the_state_of_a_key() -> None:
    harness = OperatorHarness(Converter(), key_by=(lambda v: v[0], lambda v: v[0]))
    amounts, rates = harness.inputs
    amounts.process_element(("EUR", 10.0), 1)
    amounts.process_element(("USD", 7.0), 2)
    assert harness.values == []
    rates.process_element(("EUR", 1.5), 5)
    assert harness.output == [StreamRecord(("EUR", 15.0), 5)]
    amounts.process_element(("EUR", 2.0), 9)
    assert harness.values == [("EUR", 15.0), ("EUR", 3.0)]
    assert harness.state("waiting", "USD") == [7.0]
    harness.clear_output()
    amounts.process_watermark(200)
    assert harness.output == [], "the other input has not come so far"
    rates.process_watermark(105)
    assert harness.output == [StreamRecord(("EUR", "rate expired", 105), 105), Watermark(105)]
    harness.process_watermark(300)
    assert harness.output[-1] == Watermark(300), "fed to both inputs"


class Tagged(CoMapFunction):
    def map1(self, value: int) -> str:
        return f"left {value}"

    def map2(self, value: str) -> str:
        return f"right {value}"


class Repeated(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Iterator[Any]:
        yield from range(value)

    def flat_map2(self, value: str) -> Iterator[Any]:
        yield from value


@pytest.mark.parametrize(
    ("function", "key_by", "expected"),
    [
        (Tagged(), None, ["left 2", "right ab"]),
        (Tagged(), (identity, identity), ["left 2", "right ab"]),
        (Repeated(), None, [0, 1, "a", "b"]),
        (Repeated(), (identity, identity), [0, 1, "a", "b"]),
    ],
)
def test_functions_of_two_inputs(function: Any, key_by: Any, expected: list[Any]) -> None:
    harness = OperatorHarness(function, key_by=key_by)
    left, right = harness.inputs
    left.process_element(2)
    right.process_element("ab")
    assert harness.values == expected


def test_the_ends_of_two_inputs() -> None:
    harness = OperatorHarness(Nothing())
    left, right = harness.inputs
    right.process_watermark(8)
    left.end_input()
    assert left.has_ended
    assert not right.has_ended
    harness.process_watermark(9)  # only to the one that is left
    harness.end_input()
    assert harness.output == [Watermark(8), Watermark(9), END_OF_TIME]


def test_a_transformation_of_two_streams() -> None:
    def program(left: DataStream, right: DataStream) -> DataStream:
        return left.connect(right.map(str)).key_by(identity, identity).map(Tagged())

    harness = OperatorHarness(program, parallelism=2)
    left, right = harness.inputs
    right.process_element(1)
    left.process_element(1)
    assert harness.values == ["right 1", "left 1"]
