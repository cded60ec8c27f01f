"""Windows and their assigners: which windows an element is in, which become one, their bytes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firesteel.common.errors import ProgramError
from firesteel.common.serializer import TypeSerializer
from firesteel.common.time import Duration, Time
from firesteel.datastream import (
    WindowAssigner,
    window,
)
from firesteel.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    DeltaEvictor,
    DeltaTrigger,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
)
from firesteel.program.windows.windows import NO_TIMESTAMP

from .window_support import ElementIsGap, FakeContext, ms


def assigned(assigner: WindowAssigner[Any, Any], timestamp: int, now_ms: int = 0) -> list[tuple[int, int]]:
    windows = assigner.assign_windows(None, timestamp, FakeContext(now_ms))
    return [(w.start, w.end) for w in windows]


# ---- windows ----


def test_time_window() -> None:
    one = TimeWindow(0, 10)
    assert one.max_timestamp() == 9
    assert one.intersects(TimeWindow(10, 20))
    assert not one.intersects(TimeWindow(11, 20))
    assert one.cover(TimeWindow(-5, 3)) == TimeWindow(-5, 10)
    assert repr(one) == "TimeWindow(start=0, end=10)"
    assert {one, TimeWindow(0, 10)} == {one}
    assert one != TimeWindow(0, 11)
    assert one != (0, 10)
    assert TimeWindow(0, 9) < one < TimeWindow(1, 2)
    assert one <= TimeWindow(0, 10)
    assert max(one, TimeWindow(0, 11)) == TimeWindow(0, 11)
    with pytest.raises(TypeError):
        one < 5  # noqa: B015
    with pytest.raises(TypeError):
        one <= CountWindow(1)  # noqa: B015


def test_windows_that_time_does_not_end() -> None:
    assert CountWindow(3).max_timestamp() == GlobalWindow.get().max_timestamp() == 2**63 - 1
    assert CountWindow(3) == CountWindow(3) != CountWindow(4)
    assert len({CountWindow(3), CountWindow(3)}) == 1
    assert GlobalWindow() == GlobalWindow.get()
    assert GlobalWindow() != CountWindow(0)
    assert hash(GlobalWindow()) == hash(GlobalWindow())
    assert (repr(CountWindow(3)), repr(GlobalWindow())) == ("CountWindow(id=3)", "GlobalWindow")


@pytest.mark.parametrize("window", [TimeWindow(-5, 2**60), CountWindow(7), GlobalWindow()])
def test_windows_can_be_pickled(window: Window) -> None:
    assert pickle.loads(pickle.dumps(window)) == window


@pytest.mark.parametrize(
    ("serializer", "window", "written"),  # the bytes that PyFlink writes
    [
        (TimeWindowSerializer(), TimeWindow(-5, 2**60), "fffffffffffffffb1000000000000000"),
        (CountWindowSerializer(), CountWindow(7), "0000000000000007"),
        (GlobalWindowSerializer(), GlobalWindow(), "00"),
    ],
)
def test_serializers(serializer: TypeSerializer[Any], window: Window, written: str) -> None:
    stream = BytesIO()
    serializer.serialize(window, stream)
    serializer.serialize(window, stream)
    assert stream.getvalue().hex() == written * 2
    stream.seek(0)
    assert [serializer.deserialize(stream), serializer.deserialize(stream)] == [window, window]
    assert serializer == type(serializer)()


class Merges(MergingWindowAssigner.MergeCallback[TimeWindow]):
    def __init__(self) -> None:
        self.heard: list[tuple[list[TimeWindow], TimeWindow]] = []

    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None:
        self.heard.append((list(to_be_merged), merge_result))


def merges(*windows: tuple[int, int]) -> list[tuple[list[TimeWindow], TimeWindow]]:
    callback = Merges()
    EventTimeSessionWindows.with_gap(ms(10)).merge_windows([TimeWindow(*w) for w in windows], callback)
    return callback.heard


def test_sessions_merge_when_they_touch() -> None:
    assert merges((0, 10), (10, 20)) == [([TimeWindow(0, 10), TimeWindow(10, 20)], TimeWindow(0, 20))]
    assert merges((0, 10), (11, 21)) == []
    assert merges((0, 10), (0, 10)) == []
    bridged = merges((15, 25), (0, 10), (8, 18))
    assert bridged == [([TimeWindow(0, 10), TimeWindow(8, 18), TimeWindow(15, 25)], TimeWindow(0, 25))]
    assert len(merges((0, 5), (4, 8), (20, 25), (21, 30), (40, 41))) == 2


# ---- assigners ----


@pytest.mark.parametrize(
    ("assigner", "timestamp", "windows"),
    [
        (TumblingEventTimeWindows.of(ms(5)), -1, [(-5, 0)]),
        (TumblingEventTimeWindows.of(ms(5)), 0, [(0, 5)]),
        (TumblingEventTimeWindows.of(ms(5)), -5, [(-5, 0)]),
        (TumblingEventTimeWindows.of(ms(5), ms(2)), 7, [(7, 12)]),
        (TumblingEventTimeWindows.of(ms(5), ms(2)), 1, [(-3, 2)]),
        (TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8)), 0, [(-28_800_000, 57_600_000)]),
        (SlidingEventTimeWindows.of(ms(10), ms(5)), 7, [(5, 15), (0, 10)]),
        (SlidingEventTimeWindows.of(ms(10), ms(5), ms(2)), 11, [(7, 17), (2, 12)]),
        (SlidingEventTimeWindows.of(ms(10), ms(3)), 10, [(9, 19), (6, 16), (3, 13)]),
        (SlidingEventTimeWindows.of(ms(10), ms(3)), 9, [(9, 19), (6, 16), (3, 13), (0, 10)]),
        (SlidingEventTimeWindows.of(ms(2), ms(5)), 3, []),
        (SlidingEventTimeWindows.of(ms(10), ms(5)), -3, [(-5, 5), (-10, 0)]),
        (EventTimeSessionWindows.with_gap(ms(10)), -3, [(-3, 7)]),
        (EventTimeSessionWindows.with_gap(ms(10)), NO_TIMESTAMP, [(NO_TIMESTAMP, NO_TIMESTAMP + 10)]),
    ],
)
@pytest.mark.row("S-WIN-12")
def test_event_time_windows(
    assigner: WindowAssigner[Any, Any], timestamp: int, windows: list[tuple[int, int]]
) -> None:
    assert assigned(assigner, timestamp) == windows
    assert assigner.is_event_time()
    assert isinstance(assigner.get_default_trigger(None), EventTimeTrigger)
    assert assigner.get_window_serializer() == TimeWindowSerializer()


@pytest.mark.parametrize(
    ("assigner", "windows"),
    [
        (TumblingProcessingTimeWindows.of(Time.seconds(2)), [(2000, 4000)]),
        (SlidingProcessingTimeWindows.of(Time.seconds(2), Time.seconds(1)), [(3000, 5000), (2000, 4000)]),
        (ProcessingTimeSessionWindows.with_gap(Time.seconds(5)), [(3100, 8100)]),
    ],
)
@pytest.mark.row("S-WIN-12")
def test_processing_time_windows(assigner: WindowAssigner[Any, Any], windows: list[tuple[int, int]]) -> None:
    assert assigned(assigner, NO_TIMESTAMP, now_ms=3100) == windows
    assert not assigner.is_event_time()
    assert isinstance(assigner.get_default_trigger(None), ProcessingTimeTrigger)


@given(
    timestamp=st.integers(-(10**15), 10**15),
    size=st.integers(1, 10**6),
    slide=st.integers(1, 10**5),
    offset=st.integers(-(10**5) + 1, 10**5 - 1),
)
def test_each_instant_is_in_every_window_that_has_it(
    timestamp: int, size: int, slide: int, offset: int
) -> None:
    slide = max(slide, size // 50, abs(offset) + 1)
    windows = assigned(SlidingEventTimeWindows(size, slide, offset), timestamp)
    assert all(start <= timestamp < end and end - start == size for start, end in windows)
    assert all((start - offset) % slide == 0 for start, end in windows)
    lowest = (timestamp - size - offset) // slide + 1  # the windows are numbered by (start - offset) / slide
    highest = (timestamp - offset) // slide
    assert len(windows) == highest - lowest + 1
    if size > abs(offset):
        assert assigned(SlidingEventTimeWindows(size, size, offset), timestamp) == assigned(
            TumblingEventTimeWindows(size, offset), timestamp
        )


def test_dynamic_sessions() -> None:
    for assigner in (
        EventTimeSessionWindows.with_dynamic_gap(ElementIsGap()),
        DynamicEventTimeSessionWindows.with_dynamic_gap(ElementIsGap()),
    ):
        assert isinstance(assigner, DynamicEventTimeSessionWindows)
        assert assigner.assign_windows(7, 100, FakeContext(5)) == [TimeWindow(100, 107)]
        assert assigner.is_event_time()
    for other in (
        ProcessingTimeSessionWindows.with_dynamic_gap(ElementIsGap()),
        DynamicProcessingTimeSessionWindows.with_dynamic_gap(ElementIsGap()),
    ):
        assert isinstance(other, DynamicProcessingTimeSessionWindows)
        assert other.assign_windows(7, 100, FakeContext(5)) == [TimeWindow(5, 12)]
        assert not other.is_event_time()
    with pytest.raises(ProgramError, match="larger than 0"):
        EventTimeSessionWindows.with_dynamic_gap(ElementIsGap()).assign_windows(0, 1, FakeContext())
    with pytest.raises(TypeError, match="SessionWindowTimeGapExtractor"):
        EventTimeSessionWindows.with_dynamic_gap(lambda e: 5)  # type: ignore[arg-type]


@pytest.mark.row("S-WIN-12")
def test_global_windows() -> None:
    assigner = GlobalWindows.create()
    assert assigner.assign_windows(1, 2, FakeContext()) == [GlobalWindow()]
    assert isinstance(assigner.get_default_trigger(None), NeverTrigger)
    assert not assigner.is_event_time()


def count_windows(assigner: WindowAssigner[Any, Any], elements: int) -> list[list[int]]:
    context = FakeContext()
    return [[w.id for w in assigner.assign_windows(None, 0, context)] for _ in range(elements)]


def test_count_windows() -> None:
    assert count_windows(CountTumblingWindowAssigner.of(2), 5) == [[0], [0], [1], [1], [2]]
    assert count_windows(CountSlidingWindowAssigner.of(3, 2), 6) == [[0], [0], [1, 0], [1], [2, 1], [2]]
    assert count_windows(CountSlidingWindowAssigner.of(1, 3), 5) == [[0], [], [], [1], []]
    assert count_windows(CountSlidingWindowAssigner.of(3, 1), 3) == [[0], [1, 0], [2, 1, 0]]
    for assigner in (CountTumblingWindowAssigner(4), CountSlidingWindowAssigner(4, 2)):
        trigger = assigner.get_default_trigger(None)
        assert isinstance(trigger, PurgingTrigger)
        assert isinstance(trigger.nested_trigger, CountTrigger)
        assert not assigner.is_event_time()
        assert assigner.get_window_serializer() == CountWindowSerializer()
        assert assigner.size == 4


@pytest.mark.row("S-WIN-02")
def test_a_window_of_five_minutes_starts_at_a_multiple_of_them() -> None:
    """12:03 is in [12:00, 12:05)."""
    noon = 12 * 60 * 60 * 1000
    windows = assigned(TumblingEventTimeWindows.of(Time.minutes(5)), noon + 3 * 60 * 1000)
    assert windows == [(noon, noon + 5 * 60 * 1000)]


def test_the_engine_can_read_the_sizes() -> None:
    tumbling = TumblingProcessingTimeWindows.of(Duration.of_seconds(2), timedelta(seconds=-1))
    assert (tumbling.size_ms, tumbling.offset_ms) == (2000, -1000)
    sliding = SlidingEventTimeWindows.of(ms(10), ms(5), ms(1))
    assert (sliding.size_ms, sliding.slide_ms, sliding.offset_ms) == (10, 5, 1)
    assert EventTimeSessionWindows.with_gap(ms(3)).gap_ms == 3
    assert (CountSlidingWindowAssigner(3, 2).size, CountSlidingWindowAssigner(3, 2).slide) == (3, 2)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: TumblingEventTimeWindows.of(ms(5), ms(5)), r"abs\(offset\) < size"),
        (lambda: TumblingEventTimeWindows.of(ms(0)), r"abs\(offset\) < size"),
        (lambda: TumblingProcessingTimeWindows.of(ms(-5)), r"abs\(offset\) < size"),
        (lambda: SlidingEventTimeWindows.of(ms(5), ms(0)), r"abs\(offset\) < slide"),
        (lambda: SlidingEventTimeWindows.of(ms(5), ms(2), ms(-2)), r"abs\(offset\) < slide"),
        (lambda: SlidingProcessingTimeWindows.of(ms(0), ms(2)), "size > 0"),
        (lambda: EventTimeSessionWindows.with_gap(ms(0)), "larger than 0"),
        (lambda: ProcessingTimeSessionWindows.with_gap(ms(-1)), "larger than 0"),
        (lambda: TumblingEventTimeWindows.of("5 s"), "size of the windows must be a length of time"),
        (lambda: CountTumblingWindowAssigner.of(0), "size of a count window must be at least 1"),
        (lambda: CountSlidingWindowAssigner.of(3, 0), "slide of a count window must be at least 1"),
        (lambda: CountTrigger.of(0), "count of a CountTrigger must be at least 1"),
        (lambda: CountTrigger.of(2.5), "must be an int"),
        (lambda: ContinuousEventTimeTrigger.of(ms(0)), "at least one millisecond"),
        (lambda: ContinuousProcessingTimeTrigger(0), "at least 1"),
        (lambda: PurgingTrigger.of(CountTrigger), "takes a trigger"),
        (lambda: ProcessingTimeoutTrigger.of(None, ms(5)), "takes a trigger"),
        (lambda: ProcessingTimeoutTrigger.of(CountTrigger.of(2), ms(0)), "at least one millisecond"),
        (lambda: DeltaTrigger.of(1, 5), "must be callable"),
        (lambda: DeltaEvictor.of(1, None), "must be callable"),
        (lambda: CountEvictor.of(-1), "at least 0"),
        (lambda: TimeEvictor.of(ms(-1)), "at least 0"),
    ],
)
def test_bad_sizes(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(ProgramError, match=text):
        make()


def test_a_record_without_a_timestamp_has_no_window() -> None:
    for assigner in (TumblingEventTimeWindows.of(ms(5)), SlidingEventTimeWindows.of(ms(5), ms(1))):
        with pytest.raises(ProgramError, match="no timestamp") as error:
            assigned(assigner, NO_TIMESTAMP)
        assert "assign_timestamps_and_watermarks" in str(error.value)


def test_the_module_has_the_names_of_pyflink() -> None:
    assert {name for name in dir(window) if name[0].isupper()} >= set(window.__all__)
    for name in window.__all__:
        assert getattr(window, name).__module__.startswith("firesteel.program.windows.")
