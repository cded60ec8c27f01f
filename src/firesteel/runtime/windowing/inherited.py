"""What another window operator left.

A window comes to another operator when the program changes, for example when it gets a trigger of its own,
and the two keep its contents in different ways (``panes`` or ``value`` state, see ``docs/state-format.md``).
The first epoch after the restore converts all of it; in which way the windows fire on follows from the timers
and the panes that were there, as it does in Flink.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.errors import StateError
from firesteel.program.windows.windows import TimeWindow
from firesteel.runtime.batch import MAX_WATERMARK
from firesteel.runtime.windowing.codec import decode_time_window, encode_time_window
from firesteel.runtime.windowing.contents import WINDOW_STATE_NAME, SingleContents
from firesteel.state._column import canonical_of, key_data, key_end
from firesteel.state._value_codec import decode_value
from firesteel.state.backend import OperatorState
from firesteel.state.keys import split_canonical
from firesteel.state.panes import PaneColumn, pane_entry, pane_size_ms


def into_panes(state: OperatorState, panes: PaneColumn, size_ms: int, event_time: bool) -> None:
    """What ``WindowOperator`` left, as panes. A window of event time without a timer for its last instant has
    fired.

    :raises StateError: there are windows of another size.
    """
    left = state.inherited(WINDOW_STATE_NAME)
    if left is None:
        return
    timers = state.event_timers.take_all()
    state.processing_timers.take_all()
    for name, value in left.entries.items():
        key, namespace = split_canonical(canonical_of(key_data(name, key_end(name))))
        assert namespace is not None
        window = decode_time_window(namespace)
        if window.end - window.start != size_ms:
            raise _other_windows(state, f"of {window.end - window.start} ms", f"of {size_ms} ms")
        waits = not event_time or (window.max_timestamp(), (key, namespace)) in timers
        panes.put(window.start, key, value, fired=not waits)


def into_windows(
    state: OperatorState,
    contents: SingleContents,
    size_ms: int,
    event_time: bool,
    scoped_key: Callable[[bytes], bytes],
    cleanup_ms: Callable[[Any], int],
) -> None:
    """What ``PaneOperator`` left, as contents and timers of windows."""
    left = state.inherited(WINDOW_STATE_NAME)
    if left is None:
        return
    size_ms = pane_size_ms(left.stored.window) or size_ms
    timers = state.event_timers if event_time else state.processing_timers
    current = state.key
    for name, value in left.entries.items():
        start, key, fired = pane_entry(name)
        window = TimeWindow(start, start + size_ms)
        namespace = encode_time_window(window)
        state.key = key
        contents.put(scoped_key(namespace), decode_value(value))
        state.key = key
        last, gone = window.max_timestamp(), cleanup_ms(window)
        if not fired:
            timers.register(last, namespace)
        if last < gone < MAX_WATERMARK:  # a timer for the last instant would fire it again
            timers.register(gone, namespace)
    state.key = current


def refuse(state: OperatorState) -> None:
    """:raises StateError: panes were left to windows that merge."""
    left = state.inherited(WINDOW_STATE_NAME)
    if left is not None and left.entries:
        raise _other_windows(state, "that do not merge", "that do")


def _other_windows(state: OperatorState, stored: str, declared: str) -> StateError:
    return StateError(
        f"State {WINDOW_STATE_NAME!r} was stored for windows {stored}, and the operator now has windows "
        f"{declared}.",
        hint="give the operator another uid: it begins with no window open",
        uid=state.uid,
    )
