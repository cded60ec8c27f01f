"""What a session costs when its key has many others: counted, not timed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.time import Time
from firesteel.datastream import ProcessWindowFunction
from firesteel.datastream.window import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    TimeWindow,
)
from firesteel.runtime.operators import sessions as operator
from firesteel.runtime.windowing.in_flight import WindowsInFlight
from firesteel.runtime.windowing.merging import merges_by_time
from firesteel.state.sessions import Session
from tests.budget import examples

from .support import At, collect, environment, local_platform, punctuated

GAP = 10


class Bounds(ProcessWindowFunction):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]
    ) -> Iterator[tuple[int, int, int]]:
        yield context.window().start, context.window().end, len(list(elements))


def sessions(stamps: list[int]) -> list[tuple[int, int, int]]:
    with local_platform():
        stream = environment(1).from_collection([At(stamp) for stamp in stamps])
        stream = stream.assign_timestamps_and_watermarks(punctuated()).key_by(lambda record: 0)
        return collect(
            stream.window(EventTimeSessionWindows.with_gap(Time.milliseconds(GAP))).process(Bounds())
        )


def looked_at(monkeypatch: pytest.MonkeyPatch, count: int) -> int:
    """How many windows are handed to ``merge_windows`` while ``count`` sessions of one key are open."""
    total = 0
    real = TimeWindow.merge_windows

    def counting(windows: Iterable[TimeWindow], callback: Any) -> None:
        nonlocal total
        windows = list(windows)
        total += len(windows)
        real(windows, callback)

    with monkeypatch.context() as patch:
        patch.setattr(TimeWindow, "merge_windows", staticmethod(counting))
        starts = [index * 7919 % count * 100 for index in range(count)]  # in no order
        found = sessions([*starts, *(start + 5 for start in starts)])
    assert found == [(start, start + GAP + 5, 2) for start in sorted(starts)]
    return total


def test_a_session_does_not_look_at_all_others_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """An element that begins a session looks at none, one that continues a session at this one."""
    assert looked_at(monkeypatch, 300) == 300 * 2


def test_a_session_that_reduces_does_not_look_at_all_others_of_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor does a watermark that closes one of them."""
    looks = 0

    class Counted(Session):
        @property
        def start(self) -> int:
            nonlocal looks
            looks += 1
            start: int = Session.start.__get__(self)
            return start

        @start.setter
        def start(self, value: int) -> None:
            Session.start.__set__(self, value)

    monkeypatch.setattr(operator, "Session", Counted)
    count = 300
    starts = [index * 7919 % count * 100 for index in range(count)]
    records = [At(start, 1) for start in starts]
    records += [At(start + 5, 1) for start in starts]
    records += [At(count * 100, 1, stop) for stop in range(0, count * 100, 100)]
    with local_platform():
        stream = environment(1).from_collection(records).assign_timestamps_and_watermarks(punctuated())
        keyed = stream.map(lambda record: record.value).key_by(lambda value: 0)
        windows = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(GAP)))
        assert collect(windows.reduce(lambda a, b: a + b)) == [2] * count + [count]
    assert 0 < looks < 12 * len(records)


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return GAP


class OwnMerges(EventTimeSessionWindows):
    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        super().merge_windows(windows, callback)


def test_only_assigners_that_merge_what_touches_are_bisected() -> None:
    assert merges_by_time(EventTimeSessionWindows.with_gap(Time.milliseconds(GAP)))
    assert merges_by_time(DynamicEventTimeSessionWindows(Gap()))
    assert not merges_by_time(OwnMerges(GAP))


WINDOW = st.builds(
    lambda start, size: TimeWindow(start, start + size), st.integers(-40, 40), st.integers(1, 9)
)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(WINDOW, st.booleans()), max_size=30))
def test_windows_in_flight_are_those_of_a_plain_list(steps: list[tuple[TimeWindow, bool]]) -> None:
    """Add windows that merge, and remove some: candidates are what touches, in whatever order they came."""
    windows, plain = WindowsInFlight(True), dict[TimeWindow, TimeWindow]()
    for window, retire in steps:
        touching = [other for other in plain if other.intersects(window)]
        assert sorted(windows.candidates(window)) == sorted(touching)
        assert windows.among(reversed([*plain, TimeWindow(99, 100)])) == list(plain)
        if window in plain:
            continue
        state, result = window, window
        for other in touching:
            result = result.cover(other)
            state = plain.pop(other)
            assert windows.pop(other) == state
        windows.put(result, state)
        plain[result] = state
        if retire:
            assert windows.pop(result) == plain.pop(result)
        assert windows.pop(TimeWindow(99, 100)) is None
        assert dict(windows.items()) == plain
        assert list(windows.items()) == list(plain.items())
        assert all(windows.state_of(w) == s for w, s in plain.items())
