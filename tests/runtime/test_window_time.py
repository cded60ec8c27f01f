"""Windows watched while time moves: what fires when, which timers are set, what is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import AggregateFunction, DataStream, ProcessWindowFunction
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.time_domain import TimeDomain
from firesteel.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from firesteel.testing import OperatorHarness, StreamRecord

from .support import note, notes

LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


def ms(n: int) -> Time:
    return Time.milliseconds(n)


TUMBLING_5S = TumblingEventTimeWindows.of(ms(5000))


class Contents(ProcessWindowFunction):
    """Key, bounds and elements of each firing."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        found = list(elements)
        note("called", found)
        yield key, context.window().start, context.window().end, [number for _, number in found]


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: tuple[str, int], accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


def add(a: tuple[str, int], b: tuple[str, int]) -> tuple[str, int]:
    return a[0], a[1] + b[1]


def contents(assigner: WindowAssigner[Any, Any], lateness: int = 0, **options: Any) -> OperatorHarness:
    """Elements are ``(key, number)``."""

    event_time = assigner.is_event_time()

    def program(stream: DataStream) -> DataStream:
        windowed = stream.key_by(lambda v: v[0]).window(assigner)
        if event_time:
            windowed = windowed.side_output_late_data(LATE).allowed_lateness(lateness)
        return windowed.process(Contents())

    return OperatorHarness(program, side_outputs=[LATE] if event_time else (), **options)


def numbers(harness: OperatorHarness) -> list[list[int]]:
    return [value[3] for value in harness.values]


# ---- event time


@pytest.mark.parametrize("incremental", [True, False])
@pytest.mark.row("S-TIME-18", "S-WIN-13", "S-WIN-30", "S-WIN-31", "T03")
def test_nothing_before_the_last_instant_and_all_stacked_windows_at_it(incremental: bool) -> None:
    """1@1000, 2@4999, 4@5000; W4998 nothing, W4999 3@4999 in both windows, W9999 4@9999."""

    def summed(stream: DataStream) -> DataStream:
        windowed = stream.key_by(lambda v: v[0]).window(TUMBLING_5S)
        if incremental:
            return windowed.reduce(add)
        return windowed.process(Contents()).map(lambda v: (v[0], sum(v[3])))

    def stacked(stream: DataStream) -> tuple[DataStream, DataStream]:
        once = summed(stream)
        return once, summed(once)

    harness = OperatorHarness(stacked)
    for number, timestamp in ((1, 1000), (2, 4999), (4, 5000)):
        harness.process_element(("k", number), timestamp)
    harness.process_watermark(4998)
    assert [e for stream in harness.outputs for e in stream if isinstance(e, StreamRecord)] == []
    for watermark, total in ((4999, 3), (9999, 4)):
        harness.clear_output()
        harness.process_watermark(watermark)
        assert [stream[0] for stream in harness.outputs] == [StreamRecord(("k", total), watermark)] * 2


@pytest.mark.row("T05")
def test_an_element_that_one_of_its_windows_takes_is_not_late() -> None:
    """Example 2: at W12 y@7 is in [5, 15) only, the side output stays empty, nothing was dropped."""
    harness = contents(SlidingEventTimeWindows.of(ms(10), ms(5)))
    harness.process_watermark(12)
    harness.process_element(("k", 7), 7)
    harness.process_watermark(14)
    assert harness.values == [("k", 5, 15, [7])]
    assert harness.side_output(LATE) == []
    assert sum(n for name, n in harness.accumulators.items() if "Dropped" in name) == 0


@pytest.mark.row("S-TIMER-04", "S-WIN-25")
def test_a_window_has_a_timer_for_its_end_and_one_for_its_clean_up() -> None:
    """Lateness 2 s; both are gone with the window, and so is its state."""
    harness = contents(TUMBLING_5S, lateness=2000)
    harness.process_element(("k", 1), 10)
    assert [timer.timestamp for timer in harness.timers(TimeDomain.EVENT_TIME)] == [4999, 6999]
    harness.process_watermark(4999)
    assert [timer.timestamp for timer in harness.timers()] == [6999]
    harness.process_watermark(6998)
    assert harness.num_keyed_state_entries() == 1
    harness.process_watermark(6999)
    assert harness.timers() == []
    assert harness.num_keyed_state_entries() == 0
    assert numbers(harness) == [[1]]


@pytest.mark.row("S-WIN-11", "S-WIN-28")
def test_the_function_is_called_once_with_all_elements_in_order() -> None:
    """Key, bounds and elements."""
    harness = contents(TUMBLING_5S)
    for number in (7, 8, 9):
        harness.process_element(("k", number), number)
    harness.process_watermark(4999)
    assert harness.values == [("k", 0, 5000, [7, 8, 9])]
    assert notes["called"] == [[("k", 7), ("k", 8), ("k", 9)]]


@pytest.mark.row("S-WIN-19", "T08")
def test_a_trigger_that_never_fires_leaves_nothing_behind() -> None:
    """Tumbling 5 s, CountTrigger(3), two elements; W4999: no output, state cleared."""

    def program(stream: DataStream) -> DataStream:
        windowed = stream.key_by(lambda v: v[0]).window(TUMBLING_5S)
        return windowed.trigger(CountTrigger.of(3)).process(Contents())

    harness = OperatorHarness(program)
    for number in (1, 2):
        harness.process_element(("k", number), number)
    assert harness.num_keyed_state_entries() == 2, "the elements, and the count of the trigger"
    harness.process_watermark(4999)
    assert harness.values == []
    assert harness.num_keyed_state_entries() == 0


@pytest.mark.parametrize("assigner", [TUMBLING_5S, EventTimeSessionWindows.with_gap(ms(5000))])
@pytest.mark.row("S-WIN-26", "S-WIN-27")
def test_one_value_is_kept_for_a_window_that_folds_its_elements(assigner: Any) -> None:
    """(k, 3), (k, 4): the mean is 3.5, and one accumulator was kept."""
    for fold, expected in ((lambda w: w.reduce(add), ("k", 7)), (lambda w: w.aggregate(Mean()), 3.5)):
        harness = OperatorHarness(
            lambda stream, fold=fold: fold(stream.key_by(lambda v: v[0]).window(assigner)), inputs=1
        )
        for number in (3, 4):
            harness.process_element(("k", number), number)
        assert harness.num_keyed_state_entries() == 1
        harness.process_watermark(20_000)
        assert harness.values == [expected]
        assert harness.num_keyed_state_entries() == 0


@pytest.mark.row("S-WIN-25", "S-WIN-32")
def test_windows_of_twenty_keys_on_two_subtasks() -> None:
    """10 s windows: one result for each key and window, nothing is kept afterwards."""
    harness = contents(TumblingEventTimeWindows.of(ms(10_000)), parallelism=2)
    with harness.epoch():
        for number in range(60):
            harness.process_element((f"key {number % 20}", number), number * 500)
    harness.process_watermark(29_999)
    expected = [
        (f"key {n}", start, start + 10_000, [start // 500 + n])
        for start in (0, 10_000, 20_000)
        for n in range(20)
    ]
    assert sorted(harness.values) == sorted(expected)
    assert harness.num_keyed_state_entries() == 0


@pytest.mark.row("S-WIN-35")
def test_a_rolling_sum_has_a_result_for_each_element_and_a_window_has_one() -> None:
    """Over the same data."""

    def program(stream: DataStream) -> tuple[DataStream, DataStream]:
        keyed = stream.key_by(lambda v: v[0])
        return keyed.reduce(add), keyed.window(TUMBLING_5S).reduce(add)

    harness = OperatorHarness(program)
    for number in (1, 2, 4):
        harness.process_element(("k", number), number)
    harness.process_watermark(4999)
    rolling, windowed = ([e.value for e in out if isinstance(e, StreamRecord)] for out in harness.outputs)
    assert rolling == [("k", 1), ("k", 3), ("k", 7)]
    assert windowed == [("k", 7)]


# ---- processing time


def at_times(harness: OperatorHarness, *instants: int) -> None:
    for number, instant in enumerate(instants):
        harness.set_processing_time(instant)
        harness.process_element(("k", number))


@pytest.mark.row("S-WIN-03", "S-WIN-14")
def test_tumbling_windows_of_two_seconds_by_the_clock() -> None:
    """Elements at 0.1, 1.9 and 2.1 s: two at 2 s, one at 4 s. A window fires at the last millisecond of
    the window and not before."""
    harness = contents(TumblingProcessingTimeWindows.of(Time.seconds(2)), processing_time=0)
    at_times(harness, 100, 1900)
    harness.set_processing_time(1998)
    assert harness.values == []
    harness.set_processing_time(1999)
    assert harness.values == [("k", 0, 2000, [0, 1])]
    harness.clear_output()
    harness.set_processing_time(2100)
    harness.process_element(("k", 2))
    harness.set_processing_time(3998)
    assert harness.values == []
    harness.set_processing_time(4000)
    assert harness.values == [("k", 2000, 4000, [2])]
    assert harness.num_keyed_state_entries() == 0


@pytest.mark.row("S-WIN-04")
def test_an_element_is_in_two_windows_that_slide_by_half_their_size() -> None:
    """2 s, each second."""
    harness = contents(SlidingProcessingTimeWindows.of(Time.seconds(2), Time.seconds(1)), processing_time=0)
    at_times(harness, 1500)
    harness.set_processing_time(10_000)
    assert harness.values == [("k", 0, 2000, [0]), ("k", 1000, 3000, [0])]


@pytest.mark.row("S-WIN-05")
def test_sessions_by_the_clock() -> None:
    """A gap of 5 s."""
    harness = contents(ProcessingTimeSessionWindows.with_gap(Time.seconds(5)), processing_time=0)
    at_times(harness, 0, 4000, 8998)
    harness.set_processing_time(13_996)
    assert harness.values == []
    harness.set_processing_time(13_997)
    assert harness.values == [("k", 0, 13_998, [0, 1, 2])]
    assert harness.num_keyed_state_entries() == 0
    assert harness.timers() == []
