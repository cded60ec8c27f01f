"""What a window operator refuses when it sees it: no earlier can it be known what user code asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError, StateError, UnsupportedFeatureError
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import ProcessWindowFunction
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from firesteel.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    EventTimeTrigger,
    TimeWindow,
    Trigger,
    TumblingEventTimeWindows,
)

from .support import At, collect, environment, punctuated

SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(10))
ANY = Types.PICKLED_BYTE_ARRAY()


def refusal(windowed: Any, function: ProcessWindowFunction | None = None) -> BaseException:
    with pytest.raises(JobExecutionError) as failed:
        collect(windowed.process(function or Contents()).name("the windows"))
    assert failed.value.operator == "the windows"
    assert failed.value.__cause__ is not None
    return failed.value.__cause__


def keyed(*records: At) -> Any:
    stream = environment().from_collection(list(records)).assign_timestamps_and_watermarks(punctuated())
    return stream.key_by(lambda r: "k")


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[At]) -> Iterator[Any]:
        yield [e.value for e in elements]


# ---- per-window state of windows that merge


class InWindow(ProcessWindowFunction):
    def __init__(self, descriptor: StateDescriptor, in_clear: bool = False) -> None:
        self.descriptor = descriptor
        self.in_clear = in_clear

    def process(self, key: Any, context: Any, elements: Iterable[At]) -> Iterator[Any]:
        if not self.in_clear:
            self.ask(context)
        yield 1

    def clear(self, context: Any) -> None:
        self.ask(context)

    def ask(self, context: Any) -> None:
        kinds = {ValueStateDescriptor: "get_state", ListStateDescriptor: "get_list_state"}
        getattr(context.window_state(), kinds.get(type(self.descriptor), "get_map_state"))(self.descriptor)


@pytest.mark.parametrize("evicted", [False, True])
@pytest.mark.parametrize("in_clear", [False, True])
@pytest.mark.parametrize(
    "descriptor",
    [ValueStateDescriptor("v", ANY), ListStateDescriptor("l", ANY), MapStateDescriptor("m", ANY, ANY)],
    ids=["value", "list", "map"],
)
@pytest.mark.row("S-WIN-36", "T07")
def test_per_window_state_of_merging_windows(
    descriptor: StateDescriptor, in_clear: bool, evicted: bool
) -> None:
    windowed = keyed(At(1, 1)).window(SESSIONS)
    if evicted:
        windowed = windowed.evictor(CountEvictor.of(1))
    error = refusal(windowed, InWindow(descriptor, in_clear))
    assert isinstance(error, UnsupportedFeatureError)
    assert error.message == "Per-window state is not allowed when using merging windows."
    assert "global_state()" in str(error)


# ---- state of a trigger that cannot be merged


class Remembers(EventTimeTrigger[Any]):
    """Says that it can merge, and keeps state that cannot."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self.descriptor = descriptor

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self.descriptor)


@pytest.mark.parametrize(
    "descriptor", [ValueStateDescriptor("last", ANY), MapStateDescriptor("last", ANY, ANY)]
)
@pytest.mark.row("S-WIN-17")
def test_state_of_a_trigger_that_does_not_merge(descriptor: StateDescriptor) -> None:
    """Flink: "The given state descriptor does not refer to a mergeable state"."""
    error = refusal(keyed(At(1, 1), At(5, 2)).window(SESSIONS).trigger(Remembers(descriptor)))
    assert isinstance(error, UnsupportedFeatureError)
    assert "'last' cannot be merged" in str(error)
    assert "reducing, aggregating or list state" in str(error)


# ---- windows that would end before the present


class IntoThePast(EventTimeSessionWindows[Any]):
    """Merges two windows into one that ends at 5."""

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        found = list(windows)
        if len(found) > 1:
            callback.merge(found, TimeWindow(0, 5))


def test_windows_that_merge_into_the_past() -> None:
    """Flink: "The end timestamp of an event-time window cannot become earlier than the current watermark by
    merging"."""
    error = refusal(keyed(At(10, 1, watermark=8), At(15, 2)).window(IntoThePast(10)))
    assert isinstance(error, StateError)
    assert "cannot become earlier than the current time by merging" in str(error)
    assert "current watermark 8" in str(error)


# ---- gaps and timestamps


def test_elements_without_a_timestamp() -> None:
    stream = environment().from_collection([At(1, 1)]).key_by(lambda r: 0)
    error = refusal(stream.window(TumblingEventTimeWindows.of(Time.milliseconds(5))))
    assert "no timestamp" in str(error)
    assert "assign_timestamps_and_watermarks" in str(error)
