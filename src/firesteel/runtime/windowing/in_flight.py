"""The windows in flight of one key, with the window under which the state of each lies."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from itertools import count
from operator import attrgetter
from typing import Any, Final

_START: Final = attrgetter("start")
_END: Final = attrgetter("end")


class WindowsInFlight:
    """A set of windows that remembers the order in which they came.

    :param by_time: the windows are time windows, and merge where they overlap or touch. Those in flight never
        do, so in the order of their start they are in the order of their end, and what a window merges with
        is found by bisection.
    """

    def __init__(self, by_time: bool, states: Iterable[tuple[Any, Any]] = ()) -> None:
        self._by_time = by_time
        self._states: dict[Any, Any] = {}  # window -> window of its state
        self._numbers: dict[Any, int] = {}  # rising with each window that comes
        self._next = count()
        self._in_order: list[Any] = []  # by start; empty unless ``by_time``
        for window, state in states:
            self.put(window, state)

    def __contains__(self, window: Any) -> bool:
        return window in self._states

    def __bool__(self) -> bool:
        return bool(self._states)

    def state_of(self, window: Any) -> Any:
        """Return the window under which the state of *window* lies; None: it is not in flight."""
        return self._states.get(window)

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return each window and the window of its state, in the order in which they came."""
        return self._states.items()

    def candidates(self, window: Any) -> Collection[Any]:
        """Return the windows that may become one with *window*."""
        if not self._by_time:
            return self._states.keys()
        first = last = bisect_left(self._in_order, window.start, key=_END)
        while last < len(self._in_order) and self._in_order[last].start <= window.end:
            last += 1
        return self._in_order[first:last]

    def among(self, windows: Iterable[Any]) -> list[Any]:
        """Return those of *windows* that are in flight, in the order in which they came."""
        numbers = self._numbers
        return sorted({w for w in windows if w in numbers}, key=numbers.__getitem__)

    def put(self, window: Any, state: Any) -> None:
        """Add a window that is not in flight."""
        self._states[window] = state
        self._numbers[window] = next(self._next)
        if self._by_time:
            self._in_order.insert(bisect_left(self._in_order, window.start, key=_START), window)

    def pop(self, window: Any) -> Any:
        """Remove a window; return the window of its state, or None if it was not in flight."""
        state = self._states.pop(window, None)
        if state is not None:
            del self._numbers[window]
            if self._by_time:
                del self._in_order[bisect_left(self._in_order, window.start, key=_START)]
        return state
