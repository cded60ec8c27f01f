"""Instants where they enter a job: numbers of 64 bits, checked at once, and windows at the ends of time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import JobExecutionError, ProgramError
from firesteel.common.time import Duration, Time
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, ProcessWindowFunction
from firesteel.datastream.window import (
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)
from tests.budget import examples

from .support import At, Probe, SplitsSource, collect, environment, local_platform, punctuated
from .test_window_model import one_operator_for_all

MIN, MAX = -(2**63), 2**63 - 1


@contextmanager
def refused(*words: str) -> Iterator[None]:
    with pytest.raises(JobExecutionError) as failed:
        yield
    cause = failed.value.__cause__
    assert isinstance(cause, ProgramError)
    assert all(word in str(cause) for word in words), str(cause)
    assert str(failed.value.operator).endswith("here")


# ---- timers


class SetsTimer(KeyedProcessFunction):
    def __init__(self, method: str, instant: Any) -> None:
        self.method = method
        self.instant = instant

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        getattr(ctx.timer_service(), self.method)(self.instant)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp, type(timestamp)


METHODS = [f"{verb}_{time}_time_timer" for verb in ("register", "delete") for time in ("event", "processing")]


def timers(method: str, instant: Any) -> list[Any]:
    with local_platform():
        stream = environment(1).from_collection([1, 2]).key_by(lambda v: v)
        return collect(stream.process(SetsTimer(method, instant)).name("here"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wrong", [5.0, np.float64(5), "5", None, MIN - 1, MAX + 1, np.uint64(2**63)])
def test_the_time_of_a_timer_is_checked_where_it_is_set(method: str, wrong: Any) -> None:
    with refused("The time of a timer", repr(wrong)):
        timers(method, wrong)


@pytest.mark.parametrize("instant", [np.int64(7), np.int8(7), np.uint64(7), True, MIN, MAX, np.int64(MAX)])
def test_any_whole_number_of_64_bits_is_the_time_of_a_timer(instant: Any) -> None:
    assert timers("register_event_time_timer", instant) == [(int(instant), int)] * 2
    assert timers("delete_event_time_timer", instant) == []


# ---- what sources say


@pytest.mark.parametrize("wrong", [5.5, "5", MAX + 1])
def test_timestamps_of_a_source_are_checked(wrong: Any) -> None:
    with local_platform(), refused("A timestamp of a source", repr(wrong)):
        source = SplitsSource([("a", 1), ("b", wrong)])
        collect(environment(1).from_source(source, WatermarkStrategy.no_watermarks(), "here"))


def test_timestamps_of_a_source_may_be_numbers_of_numpy() -> None:
    with local_platform():
        source = SplitsSource([("a", np.int64(1)), ("b", 2)])
        stream = environment(1).from_source(source, WatermarkStrategy.no_watermarks(), "here")
        found = collect(stream.process(Probe()))
    assert [(value, stamp, type(stamp)) for value, stamp, _ in found] == [("a", 1, int), ("b", 2, int)]


# ---- windows


class GapOf(SessionWindowTimeGapExtractor):
    def __init__(self, gap: Any) -> None:
        self.gap = gap

    def extract(self, element: Any) -> Any:
        return self.gap


class Bounds(ProcessWindowFunction):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context, elements: Any
    ) -> Iterator[tuple[int, int, int]]:
        yield context.window().start, context.window().end, sum(elements)


def windows(records: list[At], assigner: Any, general: bool, lateness_ms: int = 0) -> list[Any]:
    with one_operator_for_all() if general else nullcontext(), local_platform():
        stream = environment(1).from_collection(records).assign_timestamps_and_watermarks(punctuated())
        keyed = stream.map(lambda record: record.value).key_by(lambda value: 0).window(assigner)
        reduced = keyed.allowed_lateness(lateness_ms).reduce(lambda a, b: a + b, Bounds())
        return collect(reduced.name("here"))


ASSIGNERS = st.one_of(
    st.builds(
        lambda size, offset: TumblingEventTimeWindows.of(
            Duration.of_millis(size), Duration.of_millis(offset)
        ),
        st.integers(1, 9),
        st.just(0),
    ),
    st.builds(
        lambda size, slide: SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide)),
        st.integers(1, 9),
        st.integers(1, 9),
    ),
    st.builds(lambda gap: EventTimeSessionWindows.with_gap(Time.milliseconds(gap)), st.integers(1, 9)),
    st.builds(
        lambda gap: EventTimeSessionWindows.with_dynamic_gap(GapOf(gap)), st.integers(1, 9).map(np.int64)
    ),
)


def model(stamps: list[int], assigner: Any) -> list[tuple[int, int, int]] | None:
    """The windows of elements that are 1 each; None: one of them is outside of the instants."""
    found: dict[tuple[int, int], int] = {}
    for stamp in stamps:
        for window in assigner.assign_windows(1, stamp, None):
            if window.start < MIN or window.end > MAX:
                return None
            merged = [w for w in found if isinstance(assigner, SESSIONS) and touches(w, window)]
            start = min([window.start, *(w[0] for w in merged)])
            end = max([window.end, *(w[1] for w in merged)])
            count = 1 + sum(found.pop(w) for w in merged)
            found[start, end] = found.get((start, end), 0) + count
    return [(*bounds, count) for bounds, count in sorted(found.items(), key=lambda w: (w[0][1], w[0][0]))]


SESSIONS = (EventTimeSessionWindows, type(EventTimeSessionWindows.with_dynamic_gap(GapOf(1))))


def touches(bounds: tuple[int, int], window: TimeWindow) -> bool:
    return bounds[0] <= window.end and window.start <= bounds[1]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from([MIN + 1, MAX - 20]),
    st.lists(st.integers(0, 20), min_size=1, max_size=4),
    ASSIGNERS,
    st.sampled_from([0, 3, MAX]),
)
def test_windows_at_the_ends_of_time(edge: int, steps: list[int], assigner: Any, lateness_ms: int) -> None:
    stamps = [edge + step for step in steps]
    records = [At(stamp, 1) for stamp in stamps]
    expected = model(stamps, assigner)
    for general in (False, True):
        if expected is None:
            with refused("A window must begin and end within"):
                windows(records, assigner, general, lateness_ms)
        else:
            assert windows(records, assigner, general, lateness_ms) == expected


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(Time.milliseconds(10)),
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)),
        EventTimeSessionWindows.with_gap(Time.milliseconds(10)),
    ],
)
def test_the_largest_timestamp_is_no_window_and_never_lost(assigner: Any, general: bool) -> None:
    """Behind a watermark too: Flink's window has an end before its start there, so the element goes without
    being counted as late."""
    with refused("A window must begin and end within"):
        windows([At(0, 1, 50), At(MAX, 1, MAX - 1), At(MAX, 1)], assigner, general)


@pytest.mark.parametrize("bounds", [(0.0, 10), (0, 10.5), ("0", "10"), (None, 1), (0, MAX + 1), (MIN - 1, 0)])
def test_windows_of_an_assigner_of_ones_own_are_checked(bounds: tuple[Any, Any]) -> None:
    with refused("A window must begin and end"):
        windows([At(3, 1)], Fixed(bounds), True)


def test_windows_of_an_assigner_of_ones_own_may_have_bounds_of_numpy() -> None:
    assert windows([At(3, 1)], Fixed((np.int64(0), np.int32(10))), True) == [(0, 10, 1)]


class Fixed(TumblingEventTimeWindows):
    def __init__(self, bounds: tuple[Any, Any]) -> None:
        super().__init__(10, 0)
        self.bounds = bounds

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return [TimeWindow(*self.bounds)]


@pytest.mark.parametrize("gap", [2.5, "5", None])
def test_dynamic_gaps_are_whole_numbers(gap: Any) -> None:
    with refused("The gap of a dynamic session must be a whole number", repr(gap)):
        windows([At(3, 1)], EventTimeSessionWindows.with_dynamic_gap(GapOf(gap)), False)


def test_lengths_are_whole_numbers_of_64_bits() -> None:
    with pytest.raises(ProgramError, match="64 bits"):
        TumblingEventTimeWindows.of(Duration.of_millis(2**63))
    with pytest.raises(ProgramError, match=r"must be a length of time, not 1\.5"):
        TumblingEventTimeWindows.of(1.5)  # type: ignore[arg-type]
    assert TumblingEventTimeWindows.of(np.int64(5)).size_ms == 5  # type: ignore[arg-type]
