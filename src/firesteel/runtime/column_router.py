"""The router of an edge that carries columns.

Targets are found for all rows of a batch at once, from hashes of its key columns; each target takes its rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns, columns_in
from firesteel.common.errors import TypeMismatchError, UnsupportedFeatureError
from firesteel.common.options.firesteel import MAX_RECORD_BYTES
from firesteel.program.column_keys import ColumnKeys
from firesteel.program.functions.base import Function
from firesteel.program.transformations import PartitionKind
from firesteel.runtime.batch import MIN_WATERMARK, Batch, Mark
from firesteel.runtime.column_wire import encode_columns
from firesteel.runtime.program import OutEdge
from firesteel.runtime.routers import RowSink, targets_of
from firesteel.runtime.sizes import too_large
from firesteel.runtime.wire import RowKind, WireRow, channel_id
from firesteel.state.column_keys import hash_codes
from firesteel.state.hash_codes import groups_of_codes

__all__ = ["ColumnRouter"]

#: What an operator on columns does for a batch costs the same for few rows as for some thousands, so buffers
#: are larger than those of objects: of this many bytes, more where there are few targets.
TARGET_BYTES: Final = 256 * 1024
_MOST_BYTES: Final = 1 << 20
_ALL_TARGETS_BYTES: Final = 4 << 20
MAX_ROWS: Final = 1 << 15
_ROW_BYTES: Final = 16  # the least that a row is counted for
_SOME_MARKS: Final = 4  # fewer marks are dealt one by one

Array = np.ndarray[Any, Any]
Targets = Array | int | None  # one for each row, one for all, or None: all targets


class _Pending:
    """The rows on their way to one target."""

    __slots__ = ("marks", "ord", "parts", "rows", "size", "target", "watermark")

    def __init__(self, target: int) -> None:
        self.target = target
        self.ord = 0
        self.watermark = MIN_WATERMARK
        self.clear()

    def clear(self) -> None:
        self.parts: list[Columns] = []
        self.marks: list[tuple[int, Mark]] = []
        self.rows = 0
        self.size = 0.0


class ColumnRouter:
    """One outgoing edge of one subtask. As ``Router``, of rows as columns."""

    def __init__(
        self, edge: OutEdge, subtask: int, parallelism: int, max_record_bytes: int = MAX_RECORD_BYTES
    ) -> None:
        self.edge = edge
        assert edge.columns is not None
        self._types = list(edge.columns.schema.types)
        self._nothing = Columns([pa.array([], kind) for kind in self._types], 0)
        self._max_record_bytes = max_record_bytes
        self._subtask = subtask
        self._channel = channel_id(edge.edge, subtask)
        self._n = edge.consumers
        self._max_parallelism = edge.consumer_max_parallelism
        kind = edge.partitioning.kind
        if kind not in _TARGETS:
            raise UnsupportedFeatureError(
                f"A stream of columns cannot be partitioned {kind.value}.",
                hint="convert it to rows before the partitioner",
            )
        keys = edge.partitioning.key_selector
        self._keys = keys.indices if isinstance(keys, ColumnKeys) else ()
        self.reached = targets_of(kind, subtask, parallelism, self._n)
        share = _ALL_TARGETS_BYTES // max(1, len(self.reached))
        self._buffer_bytes = max(TARGET_BYTES, min(_MOST_BYTES, share))
        self._targets = _TARGETS[kind]
        self._next = 0
        self._random: np.random.Generator
        self._send: RowSink
        self._watermark = MIN_WATERMARK
        self._pending: dict[int, _Pending] = {}
        self._sent = 0
        self.bytes = 0

    def functions(self) -> Iterator[Function]:
        return iter(())

    def begin_epoch(self, epoch: int, send: RowSink) -> None:
        self._send = send
        self._sent = self.bytes = 0
        self._pending = {t: _Pending(t) for t in self.reached}
        for pending in self._pending.values():
            pending.watermark = self._watermark
        if self.edge.partitioning.kind is PartitionKind.SHUFFLE:
            seed = random.Random((epoch << 32) ^ self._channel).getrandbits(64)
            self._random = np.random.Generator(np.random.PCG64(seed))

    def consume(self, batch: Batch) -> None:  # hot
        if not len(batch.values):
            for _, mark in batch.marks:
                self._mark(mark)
            return
        columns = columns_in(batch.values)
        targets = self._targets(self, columns)
        size = max(_ROW_BYTES, sum(a.nbytes for a in columns.arrays) / len(columns))
        marks = batch.marks
        if isinstance(targets, np.ndarray):
            numbered = _numbered(marks)
            for target, pending in self._pending.items():
                rows = np.flatnonzero(targets == target)
                if not len(rows):
                    part = columns[:0]  # much cheaper than to take none
                else:
                    part = columns if len(rows) == len(columns) else columns.take(rows)
                if numbered is not None:
                    places, watermarks = numbered
                    self._deal_watermarks(pending, len(part), np.searchsorted(rows, places), watermarks)
                    self._take_in(pending, part, size)
                    continue
                here = np.searchsorted(rows, [at for at, _ in marks]).tolist() if marks else ()
                self._deal(pending, part, [(at, m) for at, (_, m) in zip(here, marks, strict=True)], size)
        else:
            for pending in self._pending.values():
                if targets is None or pending.target == targets:
                    self._deal(pending, columns, marks, size)
                else:
                    self._deal(pending, columns[:0], [(0, m) for _, m in marks], size)
        for _, mark in marks:
            if type(mark) is int:
                self._watermark = mark

    def _deal(self, pending: _Pending, part: Columns, marks: Sequence[tuple[int, Mark]], size: float) -> None:
        """Append rows with the marks between them: of watermarks those that have a row behind them."""
        base, watermark, done = pending.rows, self._watermark, 0
        for at, mark in marks:
            if at > done:  # rows are in front of it, which take the newest watermark before them
                self._catch_up(pending, base + done, watermark)
                done = at
            if type(mark) is int:
                watermark = mark
            else:
                self._catch_up(pending, base + at, watermark)
                pending.marks.append((base + at, mark))
        if len(part) > done:
            self._catch_up(pending, base + done, watermark)
        self._take_in(pending, part, size)

    def _deal_watermarks(self, pending: _Pending, count: int, places: Array, watermarks: Array) -> None:
        """Append what ``_deal`` would, where all marks are watermarks: in front of *count* rows."""
        if not count:
            return
        base = pending.rows
        if places[0]:
            self._catch_up(pending, base, self._watermark)
        is_last = np.append(places[1:] != places[:-1], True)  # of those in one place
        chosen = is_last & (places < count)
        places, watermarks = places[chosen], watermarks[chosen]
        if not len(places):
            return
        is_new = watermarks != np.concatenate([[pending.watermark], watermarks[:-1]])
        pending.marks += zip((base + places[is_new]).tolist(), watermarks[is_new].tolist(), strict=True)
        pending.watermark = int(watermarks[-1])

    def _take_in(self, pending: _Pending, part: Columns, size: float) -> None:
        """Append rows, behind the marks in front of and among them."""
        if len(part):
            pending.parts.append(part)
            pending.rows += len(part)
            pending.size += size * len(part)
            if pending.size >= self._buffer_bytes or pending.rows >= MAX_ROWS:
                self._flush(pending)

    def _mark(self, mark: Mark) -> None:
        if type(mark) is int:
            self._watermark = mark
            return
        for pending in self._pending.values():
            self._catch_up(pending, pending.rows, self._watermark)
            pending.marks.append((pending.rows, mark))

    @staticmethod
    def _catch_up(pending: _Pending, at: int, watermark: int) -> None:
        if pending.watermark != watermark:
            pending.watermark = watermark
            pending.marks.append((at, watermark))

    def _flush(self, pending: _Pending) -> None:
        if not pending.rows and not pending.marks:
            return
        if not pending.rows:
            self._body(pending, self._nothing, pending.marks)
        else:
            columns = Columns.concat(pending.parts)
            self._check(columns)
            rows = len(columns)
            pieces = max(-(-rows // MAX_ROWS), min(rows, round(pending.size / self._buffer_bytes)))
            for i in range(pieces):
                start, stop = rows * i // pieces, rows * (i + 1) // pieces
                marks = [
                    (at - start, m) for at, m in pending.marks if start <= at and (at < stop or stop == rows)
                ]
                self._body(pending, columns[start:stop] if pieces > 1 else columns, marks)
        pending.clear()

    def _check(self, columns: Columns) -> None:
        """The schema does not travel, so that what is not of it would be read as something else."""
        types = [array.type for array in columns.arrays]
        if types != self._types:
            raise TypeMismatchError(
                "An operator gives columns of other types than its plan says.",
                detail=f"{[str(kind) for kind in types]}, declared are {[str(kind) for kind in self._types]}",
            )

    def _body(self, pending: _Pending, columns: Columns, marks: Sequence[tuple[int, Mark]]) -> None:
        body = encode_columns(columns, marks)
        rows = len(columns)
        if len(body) > self._max_record_bytes:
            if rows <= 1:
                detail = f"a row of {len(columns.arrays)} columns"
                raise too_large("A record", len(body), self._max_record_bytes, "an exchange", detail)
            middle = rows // 2
            self._body(pending, columns[:middle], [(at, m) for at, m in marks if at < middle])
            rest = [(at - middle, m) for at, m in marks if at >= middle]
            self._body(pending, columns[middle:], rest)
            return
        self._send(WireRow(pending.target, self._channel, pending.ord, RowKind.DATA, body))
        pending.ord += 1
        self._sent += rows
        self.bytes += len(body)

    def send_marker(self, target: int, body: bytes) -> None:
        """Send a latency marker to a target, after what was sent to it before: with the number of that, so
        that buffers have the same numbers as without markers."""
        number = self._pending[target].ord - 1
        self._send(WireRow(target, self._channel, number, RowKind.LATENCY, body))

    @property
    def sent(self) -> dict[int, int]:
        """How many rows have left in this epoch, by channel."""
        return {self._channel: self._sent}

    def flush(self) -> None:
        """Send what waits, with the newest watermark."""
        for pending in self._pending.values():
            self._catch_up(pending, pending.rows, self._watermark)
            self._flush(pending)

    def snapshot(self) -> Any:
        return self._next, self._watermark

    def restore(self, carry: Any) -> None:
        self._next, self._watermark = (self._subtask, MIN_WATERMARK) if carry is None else carry

    # How targets are chosen.

    def _to_self(self, columns: Columns) -> int:
        return self._subtask

    def _to_first(self, columns: Columns) -> int:
        return 0

    def _to_all(self, columns: Columns) -> None:
        return None

    def _round_robin(self, columns: Columns) -> Array | int:
        reached = np.asarray(self.reached)
        first = self._next
        self._next = (first + len(columns)) % len(reached)
        if len(reached) == 1:
            return int(reached[0])
        return reached[(first + np.arange(len(columns))) % len(reached)]

    def _shuffled(self, columns: Columns) -> Array:
        return self._random.integers(0, self._n, len(columns))

    def _by_key(self, columns: Columns) -> Array | int:
        if self._n == 1:
            return 0
        codes = hash_codes([columns.arrays[i] for i in self._keys], len(columns))
        return groups_of_codes(codes, self._max_parallelism) * self._n // self._max_parallelism


def _numbered(marks: Sequence[tuple[int, Mark]]) -> tuple[Array, Array] | None:
    """The places of watermarks, and the watermarks; None: there are none, or other marks, too."""
    if len(marks) < _SOME_MARKS or not all(type(mark) is int for _, mark in marks):
        return None
    both = np.array(marks, np.int64)
    return both[:, 0], both[:, 1]


_TARGETS: Final[dict[PartitionKind, Callable[..., Targets]]] = {
    PartitionKind.FORWARD: ColumnRouter._to_self,
    PartitionKind.GLOBAL: ColumnRouter._to_first,
    PartitionKind.BROADCAST: ColumnRouter._to_all,
    PartitionKind.REBALANCE: ColumnRouter._round_robin,
    PartitionKind.RESCALE: ColumnRouter._round_robin,
    PartitionKind.SHUFFLE: ColumnRouter._shuffled,
    PartitionKind.HASH: ColumnRouter._by_key,
}
