"""The assigners of time windows, of count windows and of the global window."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from operator import index
from typing import Any, Self, TypeVar

from firesteel.common.errors import ProgramError
from firesteel.common.serializer import TypeSerializer
from firesteel.common.time import Length, as_millis
from firesteel.common.typeinfo import Types
from firesteel.program.checks import WrongArgumentError, require_int
from firesteel.program.state.descriptors import ValueStateDescriptor
from firesteel.program.windows.assigner import (
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    WindowAssigner,
)
from firesteel.program.windows.stateful_triggers import CountTrigger, PurgingTrigger
from firesteel.program.windows.triggers import (
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    Trigger,
)
from firesteel.program.windows.windows import (
    NO_TIMESTAMP,
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
)

T = TypeVar("T")
Context = WindowAssigner.WindowAssignerContext


def _millis(length: Length | None, what: str) -> int:
    return 0 if length is None else as_millis(length, f"the {what} of the windows")


# ---- by which time windows are made: each shape below exists once for either ----


class _TimeWindows(WindowAssigner[T, TimeWindow]):
    """Base of all assigners of time windows."""

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        return TimeWindowSerializer()

    @abstractmethod
    def _instant(self, timestamp: int, context: Context) -> int:
        """The time of an element that its windows follow."""


class _EventTime(_TimeWindows[T]):
    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True

    def _instant(self, timestamp: int, context: Context) -> int:
        return timestamp


class _ProcessingTime(_TimeWindows[T]):
    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False

    def _instant(self, timestamp: int, context: Context) -> int:
        return context.get_current_processing_time()


# ---- tumbling and sliding windows ----


def _require_timestamp(timestamp: int, assigner: object) -> None:
    if timestamp == NO_TIMESTAMP:
        raise ProgramError(
            f"A record has no timestamp, so {type(assigner).__name__} cannot find its window.",
            hint="call assign_timestamps_and_watermarks() before, or use windows of processing time",
        )


class _Tumbling(_TimeWindows[T]):
    def __init__(self, size: int, offset: int) -> None:
        if abs(offset) >= size:
            raise ProgramError(
                "Tumbling windows need abs(offset) < size.",
                operator=type(self).__name__,
                detail=f"size {size} ms, offset {offset} ms",
            )
        self._size = size
        self._offset = offset

    @classmethod
    def of(cls, size: Length, offset: Length | None = None) -> Self:
        """Windows of ``size`` that start at multiples of it after the epoch, moved by ``offset``."""
        return cls(_millis(size, "size"), _millis(offset, "offset"))

    @property
    def size_ms(self) -> int:
        return self._size

    @property
    def offset_ms(self) -> int:
        return self._offset

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[TimeWindow]:
        instant = self._instant(timestamp, context)
        _require_timestamp(instant, self)
        start = TimeWindow.get_window_start_with_offset(instant, self._offset, self._size)
        return [TimeWindow(start, start + self._size)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._offset})"


class TumblingEventTimeWindows(_EventTime[T], _Tumbling[T]):
    """Windows that follow each other without gap or overlap, by the timestamps of the elements."""


class TumblingProcessingTimeWindows(_ProcessingTime[T], _Tumbling[T]):
    """Windows that follow each other without gap or overlap, by the clock."""


class _Sliding(_TimeWindows[T]):
    def __init__(self, size: int, slide: int, offset: int) -> None:
        if abs(offset) >= slide or size <= 0:
            raise ProgramError(
                "Sliding windows need abs(offset) < slide and size > 0.",
                operator=type(self).__name__,
                detail=f"size {size} ms, slide {slide} ms, offset {offset} ms",
            )
        self._size = size
        self._slide = slide
        self._offset = offset

    @classmethod
    def of(cls, size: Length, slide: Length, offset: Length | None = None) -> Self:
        """Windows of ``size``, one each ``slide`` after the epoch, moved by ``offset``.

        An element is in ``size / slide`` windows; with ``slide`` larger than ``size`` it may be in none.
        """
        return cls(_millis(size, "size"), _millis(slide, "slide"), _millis(offset, "offset"))

    @property
    def size_ms(self) -> int:
        return self._size

    @property
    def slide_ms(self) -> int:
        return self._slide

    @property
    def offset_ms(self) -> int:
        return self._offset

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[TimeWindow]:
        instant = self._instant(timestamp, context)
        _require_timestamp(instant, self)
        last = TimeWindow.get_window_start_with_offset(instant, self._offset, self._slide)
        starts = range(last, instant - self._size, -self._slide)
        return [TimeWindow(start, start + self._size) for start in starts]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide}, {self._offset})"


class SlidingEventTimeWindows(_EventTime[T], _Sliding[T]):
    """Windows of one size that start at a fixed distance, by the timestamps of the elements."""


class SlidingProcessingTimeWindows(_ProcessingTime[T], _Sliding[T]):
    """Windows of one size that start at a fixed distance, by the clock."""


# ---- sessions ----


class _MergingTimeWindows(MergingWindowAssigner[T, TimeWindow], _TimeWindows[T]):
    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        TimeWindow.merge_windows(windows, callback)


class _Session(_MergingTimeWindows[T]):
    def __init__(self, session_gap: int) -> None:
        if session_gap <= 0:
            raise ProgramError(
                "The gap of session windows must be larger than 0.",
                operator=type(self).__name__,
                detail=f"got {session_gap} ms",
            )
        self._session_gap = session_gap

    @classmethod
    def with_gap(cls, size: Length) -> Self:
        """Sessions that end when there was no element for ``size``."""
        return cls(_millis(size, "gap"))

    @property
    def gap_ms(self) -> int:
        return self._session_gap

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[TimeWindow]:
        instant = self._instant(timestamp, context)
        return [TimeWindow(instant, instant + self._session_gap)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class EventTimeSessionWindows(_EventTime[T], _Session[T]):
    """Sessions: elements that are less than a gap apart, or just the gap, by their timestamps."""

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows[Any]:
        """Sessions whose gap ``extractor`` takes from each element."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_ProcessingTime[T], _Session[T]):
    """Sessions: elements that are less than a gap apart, or just the gap, by the clock."""

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows[Any]:
        """Sessions whose gap ``extractor`` takes from each element."""
        return DynamicProcessingTimeSessionWindows(extractor)


class _DynamicSession(_MergingTimeWindows[T]):
    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        extractor = session_window_time_gap_extractor
        if not isinstance(extractor, SessionWindowTimeGapExtractor):
            raise WrongArgumentError(
                "The gaps of dynamic sessions come from a SessionWindowTimeGapExtractor.",
                operator=type(self).__name__,
                detail=f"got {extractor!r}",
                hint="derive a class from it that has extract(element)",
            )
        self._session_window_time_gap_extractor = extractor

    @classmethod
    def with_dynamic_gap(cls, extractor: SessionWindowTimeGapExtractor) -> Self:
        """Sessions whose gap ``extractor`` takes from each element."""
        return cls(extractor)

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[TimeWindow]:
        instant = self._instant(timestamp, context)
        return [TimeWindow(instant, instant + self.gap_of(element))]

    def gap_of(self, element: T) -> int:
        """The gap after an element, in milliseconds."""
        gap = self._session_window_time_gap_extractor.extract(element)
        try:
            gap_ms = index(gap)
        except TypeError as error:
            raise ProgramError(
                "The gap of a dynamic session must be a whole number of milliseconds.",
                operator=type(self).__name__,
                detail=f"got {gap!r} for {element!r}",
                hint="convert it with int(...)",
            ) from error
        if gap_ms <= 0:
            raise ProgramError(
                "The gap of a dynamic session must be larger than 0.",
                operator=type(self).__name__,
                detail=f"got {gap} ms for {element!r}",
            )
        return gap_ms

    def __repr__(self) -> str:
        return f"{type(self).__name__}(0)"  # PyFlink shows the gap of the newest element; there is none yet


class DynamicEventTimeSessionWindows(_EventTime[T], _DynamicSession[T]):
    """Sessions with a gap of its own after each element, by their timestamps."""


class DynamicProcessingTimeSessionWindows(_ProcessingTime[T], _DynamicSession[T]):
    """Sessions with a gap of its own after each element, by the clock."""


# ---- windows that time does not end ----


class GlobalWindows(WindowAssigner[T, GlobalWindow]):
    """All elements of a key in one window, which fires only by a trigger that the program sets."""

    @staticmethod
    def create() -> GlobalWindows[Any]:
        return GlobalWindows()

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[GlobalWindow]:
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any) -> Trigger[T, GlobalWindow]:
        return NeverTrigger()

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class _CountWindows(WindowAssigner[T, CountWindow]):
    """Base of the assigners that number the elements of a key."""

    _window_size: int
    _count_descriptor: ValueStateDescriptor

    @property
    def size(self) -> int:
        return self._window_size

    def get_default_trigger(self, env: Any) -> Trigger[T, CountWindow]:
        # No element comes to a count window after it is full: it can be dropped when it fires.
        return PurgingTrigger.of(CountTrigger.of(self._window_size))

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def _next_number(self, context: Context) -> int:
        """How many elements of the key came before this one."""
        state = context.get_runtime_context().get_state(self._count_descriptor)
        number: int = state.value() or 0
        state.update(number + 1)
        return number


class CountTumblingWindowAssigner(_CountWindows[T]):
    """Each ``window_size`` elements of a key in a window of their own."""

    def __init__(self, window_size: int) -> None:
        self._window_size = require_int(window_size, "size of a count window", 1)
        self._count_descriptor = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner[Any]:
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[CountWindow]:
        return [CountWindow(self._next_number(context) // self._window_size)]

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountWindows[T]):
    """Windows of ``window_size`` elements of a key, of which one starts each ``window_slide`` elements."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        self._window_size = require_int(window_size, "size of a count window", 1)
        self._window_slide = require_int(window_slide, "slide of a count window", 1)
        self._count_descriptor = ValueStateDescriptor("slide-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner[Any]:
        return CountSlidingWindowAssigner(window_size, window_slide)

    @property
    def slide(self) -> int:
        return self._window_slide

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[CountWindow]:
        number = self._next_number(context)
        first = max(0, (number - self._window_size) // self._window_slide + 1)
        return [CountWindow(id) for id in range(number // self._window_slide, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"


def count_window_assigner(size: int, slide: int) -> WindowAssigner[Any, CountWindow]:
    """The assigner of ``count_window``: a slide of 0 means windows one after the other."""
    return CountSlidingWindowAssigner(size, slide) if slide else CountTumblingWindowAssigner(size)
