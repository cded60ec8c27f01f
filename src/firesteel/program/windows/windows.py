"""Windows: the groups that elements are put into, and how they are written to bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from io import BytesIO
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from firesteel.common.serializer import TypeSerializer

if TYPE_CHECKING:
    from firesteel.program.windows.assigner import MergingWindowAssigner

MAX_TIMESTAMP: Final = 2**63 - 1  # of a window that time does not end
NO_TIMESTAMP: Final = -(2**63)  # what a record without a timestamp shows

_INTERVAL: Final = Struct(">qq")
_ID: Final = Struct(">q")


class Window(ABC):
    """A group of elements (Flink: ``Window``). Subclasses have ``__eq__`` and ``__hash__``: a window is
    part of the address of its state."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The largest timestamp that still belongs to the window, in epoch milliseconds."""


_BOUNDS: Final = attrgetter("start", "end")


class TimeWindow(Window):
    """The interval from ``start`` to before ``end``, in epoch milliseconds."""

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def max_timestamp(self) -> int:
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """True if the windows overlap or touch: an end that is the other's start counts."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window with both in it."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start of the window of ``timestamp``; windows start at ``offset`` and multiples of
        ``window_size`` from there, before the epoch too."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(
        windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        """Tell ``callback`` of each group of windows that overlap or touch, and of the window that covers
        it; the windows of a group come in the order of their start."""
        groups: list[tuple[TimeWindow, list[TimeWindow]]] = []
        for window in sorted(set(windows), key=_BOUNDS):
            if groups and groups[-1][0].intersects(window):
                covering, members = groups[-1]
                groups[-1] = covering.cover(window), [*members, window]
            else:
                groups.append((window, [window]))
        for covering, members in groups:
            if len(members) > 1:
                callback.merge(members, covering)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TimeWindow)
            and self.__class__ is other.__class__
            and self.start == other.start
            and self.end == other.end
        )

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __lt__(self, other: Any) -> bool:
        if not isinstance(other, TimeWindow):
            return NotImplemented
        return (self.start, self.end) < (other.start, other.end)

    def __le__(self, other: Any) -> bool:
        if not isinstance(other, TimeWindow):
            return NotImplemented
        return (self.start, self.end) <= (other.start, other.end)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


class CountWindow(Window):
    """The window number ``id`` of a key."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountWindow) and self.__class__ is other.__class__ and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The one window that all elements of a key are in."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        return GlobalWindow()

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return self.__class__ is other.__class__

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Start and end as 64-bit integers."""

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        stream.write(_INTERVAL.pack(element.start, element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        start, end = _INTERVAL.unpack(stream.read(_INTERVAL.size))
        return TimeWindow(start, end)


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """The id as a 64-bit integer."""

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        stream.write(_ID.pack(element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        return CountWindow(*_ID.unpack(stream.read(_ID.size)))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """One byte: there is one such window only."""

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        stream.write(b"\x00")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        stream.read(1)
        return GlobalWindow()
