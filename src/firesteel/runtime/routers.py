"""Routers: from the records of an edge to the buffers of its target subtasks.

A router keeps one pending buffer for each target. Watermarks are broadcast to all targets, lazily: a
buffer takes the newest watermark just before its next record, or at the end of the epoch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from firesteel.common._coercion import untouched
from firesteel.common._map_all import map_all
from firesteel.common._shown import shown
from firesteel.common.errors import RecordTooLargeError
from firesteel.common.options.firesteel import MAX_RECORD_BYTES
from firesteel.graph.distribution import pointwise_consumers, pointwise_producers, subtask_named
from firesteel.program.functions.base import Function, function_behind
from firesteel.program.key_coercion import compile_key_coercion
from firesteel.program.transformations import PartitionKind
from firesteel.runtime.batch import END, IDLE, MIN_WATERMARK, NO_TIMESTAMP, Batch, Mark
from firesteel.runtime.combiner import Combiner, Holder
from firesteel.runtime.dealing import FEW_TARGETS, dealer
from firesteel.runtime.program import OutEdge
from firesteel.runtime.sizes import rough_size, too_large
from firesteel.runtime.wire import (
    FIRST_BUFFER_RECORDS,
    MAX_BUFFER_RECORDS,
    TARGET_BUFFER_BYTES,
    RowKind,
    WireRow,
    channel_id,
    encode_batch,
)
from firesteel.state.key_groups import KeyTargets
from firesteel.state.keys import SELF_CANONICAL, canonical_keys, settled

RowSink = Callable[[WireRow], None]
_LARGEST_BUFFER_BYTES: Final = 4 * TARGET_BUFFER_BYTES  # a larger one is cut, down to a single record
_MOST_AT_ONCE_BYTES: Final = 8 << 20  # of several records: how large they are is known when they are encoded
Targets = Sequence[int] | int | None  # one for each record, one for all, or None: all targets

_RECORDS_FOR_A_SEGMENT: Final = 8  # shorter stretches between two marks are not worth a pass of their own


def channels_of(partitioning: PartitionKind, producers: int, consumers: int, consumer: int) -> list[int]:
    """The producers whose channels reach ``consumer``: the watermark valve waits for these."""
    match partitioning:
        case PartitionKind.FORWARD:
            return [consumer]
        case PartitionKind.RESCALE:
            return list(pointwise_producers(consumer, producers, consumers))
        case _:
            return list(range(producers))


def targets_of(partitioning: PartitionKind, subtask: int, producers: int, consumers: int) -> Sequence[int]:
    """The consumers that a producer reaches: the other side of ``channels_of``."""
    match partitioning:
        case PartitionKind.FORWARD:
            return (subtask,)
        case PartitionKind.RESCALE:
            return pointwise_consumers(subtask, producers, consumers)
        case _:
            return range(consumers)


class _Pending:
    """The records on their way to one target."""

    __slots__ = ("has_stamps", "keys", "marks", "ord", "stamps", "target", "values", "watermark")

    def __init__(self, target: int) -> None:
        self.target = target
        self.ord = 0
        self.watermark = MIN_WATERMARK
        self.clear()

    def clear(self) -> None:
        self.values: list[Any] = []
        self.stamps: list[int] = []
        self.keys: list[Any] = []
        self.marks: list[tuple[int, Mark]] = []
        self.has_stamps = False


class Router:
    """One outgoing edge of one subtask; how targets are chosen is a table of functions."""

    def __init__(
        self, edge: OutEdge, subtask: int, parallelism: int, max_record_bytes: int = MAX_RECORD_BYTES
    ) -> None:
        self.edge = edge
        self._max_record_bytes = max_record_bytes
        self._subtask = subtask
        self._channel = channel_id(edge.edge, subtask)
        self._n = edge.consumers
        kind = edge.partitioning.kind
        self._select = edge.partitioning.key_selector
        self._keyed = kind is PartitionKind.HASH
        self._coerce_keys = compile_key_coercion(edge.partitioning.key_type) if self._keyed else None
        self._plain_keys = frozenset((untouched(edge.partitioning.key_type),)) & SELF_CANONICAL
        self.reached = targets_of(kind, subtask, parallelism, self._n)
        self._targets = _TARGETS[kind]
        what = edge.pre_aggregation
        self._holder = Holder(what) if what is not None and Holder.serves(what) else None
        self._combiner = None if what is None or self._holder is not None else Combiner(what)
        self._next = 0  # round robin position, carried from epoch to epoch
        self._key_targets = KeyTargets.of(edge.consumer_max_parallelism, self._n)
        self._random: random.Random
        self._send: RowSink
        self._limit = FIRST_BUFFER_RECORDS
        self._most = _MOST_AT_ONCE_BYTES  # records in one piece
        self._watermark = MIN_WATERMARK
        self._was_idle = False
        self._pending: dict[int, _Pending] = {}
        self._sent = 0
        self.bytes = 0  # of the buffers that have left in this epoch

    def functions(self) -> Iterator[Function]:
        """The key selector and the partitioner that are function objects, which have a life."""
        for call in (self._select, self.edge.partitioning.partition):
            function = function_behind(call)
            if function is not None:
                yield function

    def begin_epoch(self, epoch: int, send: RowSink) -> None:
        # Everything that affects bytes is reset in each epoch: what a worker process happens to remember must
        # not change what crosses the exchange.
        self._send = send
        self._sent = self.bytes = 0
        self._limit = FIRST_BUFFER_RECORDS
        self._most = _MOST_AT_ONCE_BYTES
        self._pending = {t: _Pending(t) for t in self.reached}
        if self._holder is not None:
            self._holder.drop()
        for pending in self._pending.values():
            pending.watermark = self._watermark
        if self.edge.partitioning.kind is PartitionKind.SHUFFLE:
            self._random = random.Random((epoch << 32) ^ self._channel)

    def consume(self, batch: Batch) -> None:
        marks, values = batch.marks, batch.values
        if values:  # two of a batch say how many may wait for a buffer, and be encoded, at once
            size = max(rough_size(values[0]), rough_size(values[-1]), 1)
            self._most = max(1, min(_MOST_AT_ONCE_BYTES // size, self._most * 2))
            self._limit = min(self._limit, self._most)
        if not marks:
            self._records(batch, 0, len(batch.values))
        elif len(marks) * _RECORDS_FOR_A_SEGMENT > len(batch.values) > 1:
            self._interleaved(batch)
        else:
            for start, stop, mark in batch.segments():
                if stop > start:
                    self._records(batch, start, stop)
                if mark is not None:
                    self._mark(mark)

    def _interleaved(self, batch: Batch) -> None:  # hot
        """Marks between most records (a punctuated generator): targets for all at once, then one by one."""
        values, stamps = batch.values, batch.timestamps
        keys, targets = self._place(values)
        shipped = keys if self._keyed else None
        at = targets if isinstance(targets, Sequence) else [targets] * len(values)
        marks = iter(batch.marks)
        position, mark = next(marks)
        for i, value in enumerate(values):
            while position <= i:
                self._mark(mark)
                position, mark = next(marks, (len(values) + 1, END))
            target = at[i]
            reached = self._pending.values() if target is None else (self._pending[target],)
            for pending in reached:
                self._append(
                    pending,
                    (value,),
                    None if stamps is None else (stamps[i],),
                    None if shipped is None else (shipped[i],),
                )
        while position <= len(values):
            self._mark(mark)
            position, mark = next(marks, (len(values) + 1, END))

    def _mark(self, mark: Mark) -> None:
        if self._holder is not None:
            self._send_held()  # it stands behind what came before it
        if type(mark) is int:
            self._watermark = mark
        else:
            self._status(mark)

    def _status(self, mark: Mark) -> None:
        self._was_idle = self._was_idle or mark == IDLE
        for pending in self._pending.values():
            self._catch_up(pending)
            pending.marks.append((len(pending.values), mark))

    def _catch_up(self, pending: _Pending) -> None:
        if pending.watermark != self._watermark:
            pending.watermark = self._watermark
            pending.marks.append((len(pending.values), self._watermark))

    def _records(self, batch: Batch, start: int, stop: int) -> None:  # hot
        values, stamps = batch.values, batch.timestamps
        if stop - start != len(values):
            values = values[start:stop]
            stamps = None if stamps is None else stamps[start:stop]
        step = MAX_BUFFER_RECORDS  # a long batch is cut, so that buffers keep their size
        for at in range(0, len(values), step):
            if len(values) > step:
                self._route(values[at : at + step], stamps and stamps[at : at + step])
            else:
                self._route(values, stamps)

    def _route(self, values: list[Any], stamps: Sequence[int] | None) -> None:  # hot
        keys: list[Any] | None
        if self._holder is not None:
            self._holder.add(values, stamps, *self._keys_of(values))
            if self._holder.is_full:
                self._send_held()
            return
        if self._combiner is not None:
            values, stamps, keys, targets = self._combined(values, stamps)
        else:
            keys, targets = self._place(values)
        self._send_all(values, stamps, keys, targets)

    def _send_held(self) -> None:
        assert self._holder is not None
        values, stamps, keys, canon = self._holder.take()
        for at in range(0, len(values), MAX_BUFFER_RECORDS):
            part = slice(at, at + MAX_BUFFER_RECORDS)
            targets = self._targets(self, values[part], canon[part])
            self._send_all(values[part], stamps and stamps[part], keys[part], targets)

    def _send_all(
        self, values: list[Any], stamps: Sequence[int] | None, keys: list[Any] | None, targets: Targets
    ) -> None:  # hot
        shipped = keys if self._keyed else None
        if isinstance(targets, int):
            self._append(self._pending[targets], values, stamps, shipped)
        elif targets is None:  # broadcast
            for pending in self._pending.values():
                self._append(pending, values, stamps, shipped)
        else:
            deal = dealer(targets, self._n)
            dealt_stamps = None if stamps is None else deal(stamps)
            dealt_keys = None if shipped is None else deal(shipped)
            for target, part in enumerate(deal(values)):
                if part:
                    self._append(
                        self._pending[target],
                        part,
                        None if dealt_stamps is None else dealt_stamps[target],
                        None if dealt_keys is None else dealt_keys[target],
                    )

    def _place(self, values: list[Any]) -> tuple[list[Any] | None, Targets]:
        """The keys of records, and their targets."""
        keys, canon = (None, None) if self._select is None else self._keys_of(values)
        return keys, self._targets(self, values, canon)

    def _keys_of(self, values: list[Any]) -> tuple[list[Any], list[Any]]:  # hot
        """The keys of records, and, where the edge is keyed, their identities."""
        assert self._select is not None
        keys = map_all(self._select, values)
        if not self._keyed:
            return keys, keys
        if self._plain_keys and self._plain_keys.issuperset(map(type, keys)):
            return keys, keys
        if self._coerce_keys is not None:
            keys = self._coerce_keys(keys)
        canon = canonical_keys(keys)
        return keys if canon is keys else settled(keys, canon), canon

    def _combined(
        self, values: list[Any], stamps: Sequence[int] | None
    ) -> tuple[list[Any], Sequence[int] | None, list[Any], Targets]:
        assert self._combiner is not None
        keys, canon = self._keys_of(values)
        values, stamps, keys = self._combiner.combine(
            values, stamps, keys, canon, self._watermark, self._was_idle
        )
        return values, stamps, keys, self._targets(self, values, canonical_keys(keys))

    def _append(
        self,
        pending: _Pending,
        values: Sequence[Any],
        stamps: Sequence[int] | None,
        keys: Sequence[Any] | None,
    ) -> None:
        self._catch_up(pending)
        if stamps:
            if not pending.has_stamps:
                pending.has_stamps = True
                pending.stamps.extend([NO_TIMESTAMP] * len(pending.values))
            pending.stamps.extend(stamps)
        elif pending.has_stamps:
            pending.stamps.extend([NO_TIMESTAMP] * len(values))
        pending.values.extend(values)
        if keys is not None:
            pending.keys.extend(keys)
        if len(pending.values) >= self._limit:
            self._flush(pending)

    def _flush(self, pending: _Pending) -> None:
        values = pending.values
        count = len(values)
        if not count and not pending.marks:
            return
        size = self._encode(pending, 0, count)
        if count:  # aim the next buffers at the wanted size
            wanted = TARGET_BUFFER_BYTES * count // max(1, size)
            self._limit = max(1, min(MAX_BUFFER_RECORDS, wanted, self._limit * 2))
        pending.clear()

    def _encode(self, pending: _Pending, start: int, stop: int) -> int:
        """Send the records ``start``..``stop`` in as many buffers as their size asks for; their bytes."""
        last = stop == len(pending.values)
        if stop - start > self._most:
            middle = (start + stop) // 2
            return self._encode(pending, start, middle) + self._encode(pending, middle, stop)
        body = encode_batch(
            pending.values[start:stop],
            pending.stamps[start:stop] if pending.has_stamps else None,
            [(at - start, m) for at, m in pending.marks if start <= at and (at < stop or last)],
            pending.keys[start:stop] if self._keyed else None,
        )
        if len(body) > _LARGEST_BUFFER_BYTES:
            if stop - start > 1:
                middle = (start + stop) // 2
                return self._encode(pending, start, middle) + self._encode(pending, middle, stop)
            if len(body) > self._max_record_bytes:
                raise self._too_large(pending, start, len(body))
        self._send(WireRow(pending.target, self._channel, pending.ord, RowKind.DATA, body))
        pending.ord += 1
        self._sent += stop - start
        self.bytes += len(body)
        return len(body)

    def _too_large(self, pending: _Pending, at: int, size: int) -> RecordTooLargeError:
        record = pending.values[at]
        key = f"its key is {shown(pending.keys[at])}" if self._keyed else f"it begins {shown(record)}"
        kind = f"a {type(record).__name__}; {key}"
        return too_large("A record", size, self._max_record_bytes, "an exchange", kind)

    def send_marker(self, target: int, body: bytes) -> None:
        """Send a latency marker to a target, after what was sent to it before: with the number of that, so
        that buffers have the same numbers as without markers."""
        number = self._pending[target].ord - 1
        self._send(WireRow(target, self._channel, number, RowKind.LATENCY, body))

    @property
    def sent(self) -> dict[int, int]:
        """How many records have left in this epoch, by channel."""
        return {self._channel: self._sent}

    def flush(self) -> None:
        """Send what waits, with the newest watermark."""
        if self._holder is not None:
            self._send_held()
        for pending in self._pending.values():
            self._catch_up(pending)
            self._flush(pending)

    def snapshot(self) -> Any:
        return self._next, self._watermark, self._was_idle

    def restore(self, carry: Any) -> None:
        fresh = self._subtask, MIN_WATERMARK, False
        self._next, self._watermark, self._was_idle = fresh if carry is None else carry

    # How targets are chosen: one int for all records, None for all targets, or one int for each record.

    def _to_self(self, values: list[Any], keys: Any) -> int:
        return self._subtask

    def _to_first(self, values: list[Any], keys: Any) -> int:
        return 0

    def _to_all(self, values: list[Any], keys: Any) -> None:
        return None

    def _round_robin(self, values: list[Any], keys: Any) -> list[int] | int:
        reached = self.reached
        n = len(reached)
        first = self._next
        self._next = (first + len(values)) % n
        return [reached[(first + i) % n] for i in range(len(values))]

    def _shuffled(self, values: list[Any], keys: Any) -> list[int]:
        return self._random.choices(self.reached, k=len(values))

    def _by_key(self, values: list[Any], keys: list[Any]) -> Sequence[int] | int:
        if self._n == 1:
            return 0
        targets = self._key_targets.of_all(keys)
        return bytes(targets) if self._n <= FEW_TARGETS else targets

    def _custom(self, values: list[Any], keys: list[Any]) -> list[int]:
        partition, n = self.edge.partitioning.partition, self._n
        assert partition is not None
        targets = [partition(k, n) for k in keys]
        for i, (target, key) in enumerate(zip(targets, keys, strict=True)):
            if type(target) is not int or not 0 <= target < n:
                targets[i] = subtask_named(target, key, n)
        return targets


_TARGETS: Final[dict[PartitionKind, Callable[..., Targets]]] = {
    PartitionKind.FORWARD: Router._to_self,
    PartitionKind.GLOBAL: Router._to_first,
    PartitionKind.BROADCAST: Router._to_all,
    PartitionKind.REBALANCE: Router._round_robin,
    PartitionKind.RESCALE: Router._round_robin,
    PartitionKind.SHUFFLE: Router._shuffled,
    PartitionKind.HASH: Router._by_key,
    PartitionKind.CUSTOM: Router._custom,
}
