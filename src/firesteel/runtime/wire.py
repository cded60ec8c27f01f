"""The wire format: what a Spark row between two levels holds.

A row is a *buffer*: ``(target, channel, ord, kind, body)``. The bytes of a buffer depend on the input of the
epoch alone (design: no attempt ids, times or random names), because Spark compares the content of a shuffle
that it had to write again. That is also why records are pickled without the memo: with it, the bytes would
depend on which records happen to share an object.
"""

from __future__ import annotations

import enum
import pickle
from array import array
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import cloudpickle

from firesteel.program.unpicklable import REFUSALS, unpicklable
from firesteel.runtime.batch import Batch, Marks
from firesteel.runtime.flat_pickle import flat_dumps
from firesteel.runtime.packing import pack, unpack

TARGET_BUFFER_BYTES: Final = 64 * 1024
MAX_BUFFER_RECORDS: Final = 4096
FIRST_BUFFER_RECORDS: Final = 512


class RowKind(enum.IntEnum):
    """What the body of a row is."""

    DATA = 0  # a buffer of records and marks
    ACK = 1  # the answer of one subtask of one vertex to the driver
    ERROR = 2  # an exception of the user's code
    LOG = 3  # what users' code logged
    OVERRUN = 4  # a task gave the epoch up: it takes far longer than it should
    LATENCY = 6  # a latency marker; in the order of the buffers of its channel
    BARRIER = 5  # an epoch ends here, of the task that sends it; in real-time mode only
    END = 7  # all that a task gets in the epoch was before it; in epochs mode, of the transport alone


#: A view where it lies in what came with others; who keeps anything of it copies it.
Body: TypeAlias = bytes | memoryview


class WireRow(NamedTuple):
    target: int
    channel: int
    ord: int
    kind: int
    body: Body


def channel_id(edge: int, producer: int) -> int:
    """One number for (edge, producer subtask), unique in the job."""
    return edge << 16 | producer


def edge_of(channel: int) -> int:
    return channel >> 16


def dumps(obj: Any) -> bytes:
    """Pickle by value, the same bytes for equal objects wherever that can be had."""
    return _fast(obj) or _thorough(obj)


def _fast(obj: Any) -> bytes | None:
    """None for what contains itself and for what only cloudpickle can take."""
    try:
        return flat_dumps(obj)
    except (ValueError, RecursionError, pickle.PicklingError, AttributeError, TypeError):
        return None


def _thorough(obj: Any) -> bytes:
    try:
        return pickle.dumps(obj, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        data: bytes = cloudpickle.dumps(obj, 5)
        return data


def encode_batch(
    values: list[Any],
    timestamps: Sequence[int] | None,
    marks: Marks,
    keys: list[Any] | None,
) -> bytes:
    stamps = None if timestamps is None else array("q", timestamps).tobytes()
    rest = (stamps, tuple(marks), keys)
    return _fast((pack(values), *rest)) or _thorough_batch(values, rest)


def _thorough_batch(values: list[Any], rest: tuple[Any, ...]) -> bytes:
    try:
        return _thorough((values, *rest))
    except REFUSALS as error:
        raise unpicklable(values, dumps, error) from error


def decode_batch(body: bytes) -> Batch:
    values, stamps, marks, keys = pickle.loads(body)
    return Batch(unpack(values), stamps and array("q", stamps), marks, keys)
