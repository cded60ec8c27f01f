"""Windows as the namespace of state and timers, in bytes."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from operator import index
from struct import Struct, error
from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.program.windows.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
)
from firesteel.state.instants import MAX_INSTANT, MIN_INSTANT, check_window, window_outside_time

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]

_BIAS: Final = 1 << 63  # in the order of their start, as bytes too
_TIMES: Final = Struct(">QQ")
_COUNT: Final = Struct(">Q")


def encode_time_window(window: TimeWindow) -> bytes:
    try:
        return _TIMES.pack(window.start + _BIAS, window.end + _BIAS)
    except (error, TypeError, OverflowError):
        return _encode_checked(window)


def _encode_checked(window: TimeWindow) -> bytes:
    """A window of numbers that are not ints, or not within the instants."""
    try:
        start, end = index(window.start), index(window.end)
    except TypeError as cause:
        raise ProgramError(
            "A window must begin and end at whole numbers of epoch milliseconds",
            detail=f"got {window!r}",
            hint="convert them with int(...) in assign_windows()",
        ) from cause
    check_window(start, end)
    if end < MIN_INSTANT or start > MAX_INSTANT:
        raise window_outside_time(start, end)
    return _TIMES.pack(start + _BIAS, end + _BIAS)


def decode_time_window(data: bytes) -> TimeWindow:
    start, end = _TIMES.unpack(data)
    return TimeWindow(start - _BIAS, end - _BIAS)


_CODECS: Final[dict[type, tuple[Encode, Decode]]] = {
    TimeWindowSerializer: (encode_time_window, decode_time_window),
    CountWindowSerializer: (
        lambda window: _COUNT.pack(window.id),
        lambda data: CountWindow(_COUNT.unpack(data)[0]),
    ),
    GlobalWindowSerializer: (lambda window: b"", lambda data: GlobalWindow.get()),
}


def windows_of(serializer: Any) -> str:
    """What the windows of a serializer are, as it is stored with their state."""
    return type(serializer).__qualname__.removesuffix("Serializer")


def window_codec(serializer: Any) -> tuple[Encode, Decode]:
    """How the windows of an assigner become bytes, from its ``get_window_serializer()``.

    Flink's own windows have a form of ours; a serializer of the user's is asked.
    """
    own = _CODECS.get(type(serializer))  # not a subclass, which may have another form
    if own is not None:
        return own

    def encode(window: Any) -> bytes:
        stream = BytesIO()
        serializer.serialize(window, stream)
        return stream.getvalue()

    return encode, lambda data: serializer.deserialize(BytesIO(data))
