"""Windows that merge: which windows of a key are in flight, and under which window the state of each lies.

When windows merge, the state of one of them becomes that of the result and the others' is moved to it, so a
session that grows keeps its state where it is (Flink: ``MergingWindowSet``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from firesteel.common.typeinfo import Types
from firesteel.program.state.descriptors import ValueStateDescriptor
from firesteel.program.windows.assigner import MergingWindowAssigner
from firesteel.program.windows.assigners import EventTimeSessionWindows
from firesteel.program.windows.windows import TimeWindowSerializer
from firesteel.runtime.windowing.codec import Decode, Encode
from firesteel.runtime.windowing.in_flight import WindowsInFlight
from firesteel.state.backend import OperatorState

MERGING_STATE_NAME: Final = "merging-window-set"  # as in Flink

#: ``(result, merged windows, window of the result's state, windows of the state to move)``
OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]


class _Merges(MergingWindowAssigner.MergeCallback[Any]):
    """What the assigner says: result -> the windows that become it."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((merge_result, list(to_be_merged)))


def merges_by_time(assigner: MergingWindowAssigner[Any, Any]) -> bool:
    """Whether the windows of an assigner become one exactly where they overlap or touch."""
    own = EventTimeSessionWindows.merge_windows
    return (
        type(assigner).merge_windows is own and type(assigner.get_window_serializer()) is TimeWindowSerializer
    )


class MergingWindows:
    """The windows in flight of the current key of ``state``.

    Within an epoch they are kept as objects and written at its end (``flush``).
    """

    def __init__(
        self,
        assigner: MergingWindowAssigner[Any, Any],
        state: OperatorState,
        encode: Encode,
        decode: Decode,
        on_merge: OnMerge,
    ) -> None:
        self._assigner = assigner
        self._state = state
        self._encode = encode
        self._decode = decode
        self._on_merge = on_merge
        descriptor = ValueStateDescriptor(MERGING_STATE_NAME, Types.PICKLED_BYTE_ARRAY())
        self._stored: Any = state.get_state(descriptor)
        self._by_time = merges_by_time(assigner)
        self._live: dict[Any, WindowsInFlight] = {}  # by key
        self._changed: dict[Any, None] = {}

    def _of_key(self) -> WindowsInFlight:
        key = self._state.key
        windows = self._live.get(key)
        if windows is None:
            decode = self._decode
            stored = self._stored.value() or ()
            states = ((decode(w), decode(s)) for w, s in stored)
            windows = self._live[key] = WindowsInFlight(self._by_time, states)
        return windows

    def state_window(self, window: Any) -> Any:
        """The window under which the state of ``window`` lies; None: it is not in flight."""
        return self._of_key().state_of(window)

    def add(self, window: Any) -> Any:
        """Put a window in flight; the window that it is part of after merging."""
        windows = self._of_key()
        if window in windows:
            return window
        merges = _Merges()
        candidates = windows.candidates(window)
        if candidates:
            self._assigner.merge_windows([*candidates, window], merges)
        actual = window
        for result, merged in merges.found:
            old = windows.among(merged)
            if window in merged:
                actual = result
            if old and old != [result]:
                self._merge(windows, result, old)
        if actual == window and window not in windows:
            windows.put(window, window)
            self._changed[self._state.key] = None
        return actual

    def _merge(self, windows: WindowsInFlight, result: Any, old: list[Any]) -> None:
        kept, *moved = [windows.pop(w) for w in old]
        windows.put(result, kept)
        self._changed[self._state.key] = None
        self._on_merge(result, old, kept, moved)

    def retire(self, window: Any) -> None:
        """The window is not in flight any more."""
        if self._of_key().pop(window) is not None:
            self._changed[self._state.key] = None

    def flush(self) -> None:
        """Write what has changed; from here on the state is asked again."""
        state, encode = self._state, self._encode
        before = state.key
        for key in self._changed:
            state.key = key
            windows = self._live[key]
            if windows:
                self._stored.update(tuple((encode(w), encode(s)) for w, s in windows.items()))
            else:
                self._stored.clear()
        state.key = before
        self.forget()

    def forget(self) -> None:
        self._live.clear()
        self._changed.clear()
