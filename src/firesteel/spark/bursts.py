"""What tasks in real time send: all that goes to one task at the same time is one Spark row, a *burst*.

Each has a *push* behind it, a row that says nothing and is as large as two buffers of Spark's:
- that of the network, which is sent when it is full, so that a burst leaves with its push, at once,
- that in which the JVM collects batches for a Python task, so that each goes at once, in few system calls.

The JVM writes a batch when it is full and there is one more row. So a batch has two rows: the push of the
burst before, which has waited in the JVM, and the burst, which goes as soon as its own push comes. For the
very first burst that push is made by one of the senders.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate
from struct import Struct
from typing import Final

import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from firesteel.runtime.inbox import InboxEnded
from firesteel.runtime.wire import Body, WireRow
from firesteel.spark.connection import Connection
from firesteel.spark.settings import PUSH_BYTES

#: Of a batch for Python.
ROWS: Final = 2
SCHEMA: Final = StructType(
    [StructField("target", IntegerType(), False), StructField("body", BinaryType(), False)]
)

_ARROW: Final = pa.struct([pa.field("target", pa.int32(), False), pa.field("body", pa.binary(), False)])
_TARGETS, _BODIES = pa.int32(), pa.binary()
_HEADER: Final = Struct("<BIiii")  # kind + 1, so that it is never 0; bytes of the body; target, channel, ord
_PUSH: Final = bytes(PUSH_BYTES)


def to_burst(rows: Sequence[WireRow], width: int) -> pa.StructArray:
    """*rows* for the next level, which has *width* tasks; a burst for each that gets some."""
    parts: dict[int, list[Body]] = {}
    for target, channel, ord, kind, body in rows:
        header = _HEADER.pack(kind + 1, len(body), target, channel, ord)
        parts.setdefault(target % width, []).extend((header, body))
    targets: list[int] = []
    lengths: list[int] = []
    pieces: list[Body] = []
    for target, found in parts.items():
        targets += (target, target)
        lengths += (sum(map(len, found)), PUSH_BYTES)
        pieces += found
        pieces.append(_PUSH)
    return _to_arrow(targets, lengths, b"".join(pieces))


def first_pushes(width: int) -> pa.StructArray:
    """What one of all tasks of a level sends before anything else."""
    return _to_arrow(list(range(width)), [PUSH_BYTES] * width, _PUSH * width)


def _to_arrow(targets: list[int], lengths: list[int], data: bytes) -> pa.StructArray:
    """Made of buffers: from lists it takes three times as long.

    :param data: the bodies, which have these *lengths*, one behind the other.
    """
    offsets = array("i", accumulate(lengths, initial=0))
    columns = (
        pa.Array.from_buffers(_TARGETS, len(targets), [None, pa.py_buffer(array("i", targets))]),
        pa.Array.from_buffers(_BODIES, len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(data)]),
    )
    return pa.Array.from_buffers(_ARROW, len(targets), [None], children=list(columns))


class BurstInbox:
    """The rows that come to a task."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: deque[WireRow] = deque()

    def take(self, wait_ms: float) -> WireRow | None:
        """See ``Inbox``."""
        if not self._rows:
            try:
                batch = self._connection.take(wait_ms)
            except EOFError:
                raise InboxEnded from None
            if batch is not None:
                self._rows += read_bursts(batch)
        return self._rows.popleft() if self._rows else None


def read_bursts(batch: pa.StructArray) -> Iterator[WireRow]:
    """The rows that came."""
    for burst in batch.field(1):
        yield from _rows_of(memoryview(burst.as_buffer()))


def _rows_of(burst: memoryview) -> Iterator[WireRow]:
    at = 0
    while at < len(burst) and burst[at]:
        kind, size, target, channel, ord = _HEADER.unpack_from(burst, at)
        at += _HEADER.size
        yield WireRow(target, channel, ord, kind - 1, burst[at : at + size].tobytes())
        at += size
