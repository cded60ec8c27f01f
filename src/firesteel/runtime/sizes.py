"""How large things are that go through the JVM in one piece, and what is said of those that are too large."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from itertools import islice
from operator import attrgetter
from typing import Any, Final

from firesteel.common._shown import shown
from firesteel.common.errors import RecordTooLargeError
from firesteel.common.options.firesteel import MAX_RECORD_SIZE
from firesteel.common.types import Row
from firesteel.runtime.program import Ack

_HINT: Final = (
    "send where the data lies in place of the data, such as a path, or raise "
    f"{MAX_RECORD_SIZE.key}; Spark's JVM must have room for several copies of it"
)
_FIELDS: Final = 32  # of a record that are looked at


def too_large(what: str, size: int, limit: int, passage: str, detail: str) -> RecordTooLargeError:
    """The error about something of *size* bytes that a *passage* does not take."""
    return RecordTooLargeError(
        f"{what} of {size:,} bytes is too large for {passage}, which takes {limit:,} at most.",
        detail=detail,
        hint=_HINT,
    )


def too_large_answer(ack: Ack, size: int, limit: int) -> tuple[str, RecordTooLargeError]:
    """The uid of the operator whose part of an answer is the largest (empty: nobody's), and the error."""
    largest, uid, detail = max(_parts(ack), default=(0, "", ""))
    detail = f"the largest part has {largest:,} bytes: {detail}" if detail else "it has many small parts"
    passage = "the way from a task to the driver"
    return uid, too_large("The answer of a subtask for one epoch", size, limit, passage, detail)


def _parts(ack: Ack) -> Iterator[tuple[int, str, str]]:
    for uid, payloads in ack.committables.items():
        for payload in payloads:
            yield len(pickle.dumps(payload, 5)), uid, f"a committable, {shown(payload)}"
    for name, value in ack.accumulators.items():
        yield len(pickle.dumps(value, 5)), "", f"the accumulator {name}"
    yield len(ack.carry or b""), "", "what operators keep from epoch to epoch beside their state"


def rough_size(value: Any) -> int:  # hot
    """About how many bytes a value has, in constant time: those of its text or array, or of its first fields
    that are such. The same in every process, as buffers are made by it."""
    kind = type(value)
    if kind in _SMALL:
        return 0
    if kind in _TEXTS:
        return len(value)
    opened = _FIELDS_OF.get(kind)
    if opened is not None:
        fields = opened(value)
    elif isinstance(value, tuple):
        fields = value
    elif hasattr(value, "nbytes"):
        return int(value.nbytes)
    else:
        fields = getattr(value, "__dict__", _NOTHING).values()
    return sum(
        [
            len(field) if type(field) in _TEXTS else getattr(field, "nbytes", 0)
            for field in islice(fields, _FIELDS)
            if type(field) not in _SMALL
        ]
    )


_NOTHING: Final[dict[str, Any]] = {}
_TEXTS: Final = frozenset((str, bytes, bytearray))
_SMALL: Final = frozenset((int, float, bool, type(None)))
_FIELDS_OF: Final[dict[type, Callable[[Any], Any]]] = {
    tuple: iter,
    list: iter,
    dict: dict.values,
    Row: attrgetter("_values"),
}
