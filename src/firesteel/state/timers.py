"""Timers: a set of (time, key, namespace), popped in time order.

Registering costs O(1) unless the instant is new. Timers are state: an entry of its own each, in time order
within a key group, and only the net change of an epoch is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final

from firesteel.state._column import COLUMN_ID_BYTES, CanonicalKey, Column, canonical_of, key_data, key_end
from firesteel.state._value_codec import TOMBSTONE
from firesteel.state.catalog import CatalogEntry
from firesteel.state.instants import instant_of
from firesteel.state.keys import raw_key
from firesteel.state.kinds import KINDS, Place, StateKind
from firesteel.state.rows import Entry, RowsOf, StoredRow, beside

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState

__all__ = ["TIMERS", "TimerQueue"]

_WHAT: Final = "The time of a timer"
_SET: Final = b"\xc3"
_BIAS: Final = 1 << 63  # makes signed instants sort as unsigned bytes
_HEAD: Final = 3 + COLUMN_ID_BYTES  # group, 0, column id

_Entry = CanonicalKey | tuple[CanonicalKey, bytes]
Timer = tuple[int, Any, CanonicalKey, bytes | None]


class TimerQueue(Column):
    """The timers of one operator in one time domain; instants are epoch milliseconds."""

    kind = "timers"

    def __init__(self, core: StateCore, operator: OperatorState, name: str) -> None:
        super().__init__(core, operator.uid, name)
        self._operator = operator
        self._buckets: dict[int, dict[_Entry, None]] = {}
        self._heap: list[int] = []  # the distinct instants
        self._orders: dict[int, list[_Entry]] = {}  # what is left of instants being popped, reversed
        self._added: set[tuple[int, _Entry]] = set()
        self._removed: set[tuple[int, _Entry]] = set()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    # ---- the runtime's side

    # Users call these two under TimerService's names (runtime.contexts): its parameter is called so too.

    def register(self, timestamp: int, namespace: bytes | None = None) -> None:  # hot
        """Set a timer of the current key; one that is set already stays one timer."""
        if type(timestamp) is not int:
            timestamp = instant_of(timestamp, _WHAT)
        key = self._operator.key
        entry: _Entry = key if namespace is None else (key, namespace)
        bucket = self._buckets.get(timestamp)
        if bucket is None:
            instant_of(timestamp, _WHAT)
            hash(entry)
            bucket = self._buckets[timestamp] = {}
            heappush(self._heap, timestamp)
        elif entry in bucket:
            return
        bucket[entry] = None
        self._size += 1
        change = (timestamp, entry)
        if change in self._removed:
            self._removed.discard(change)
        else:
            self._added.add(change)

    def delete(self, timestamp: int, namespace: bytes | None = None) -> None:
        """Take a timer of the current key back; nothing happens when there is none."""
        if type(timestamp) is not int:
            timestamp = instant_of(timestamp, _WHAT)
        key = self._operator.key
        entry: _Entry = key if namespace is None else (key, namespace)
        bucket = self._buckets.get(timestamp)
        if bucket is None:
            instant_of(timestamp, _WHAT)
            hash(entry)
        elif entry in bucket:
            del bucket[entry]
            self._forget(timestamp, entry)

    def next_ms(self) -> int | None:
        """The instant of the earliest timer, None when there is none."""
        heap = self._heap
        while heap:
            first = heap[0]
            if self._buckets[first]:
                return first
            heappop(heap)
            del self._buckets[first]
            self._orders.pop(first, None)
        return None

    def take_all(self) -> set[tuple[int, _Entry]]:
        """Take all timers back, of every key; what they were: (time, key) or (time, (key, namespace))."""
        taken = {(instant, entry) for instant, bucket in self._buckets.items() for entry in bucket}
        for instant, entry in taken:
            del self._buckets[instant][entry]
            self._forget(instant, entry)
        return taken

    def of_current_key(self, namespace: bytes | None = None) -> list[int]:
        """The instants that are set for the current key (and window), in order. Looks at all timers: for
        whoever reads state, not for a job."""
        key = self._operator.key
        entry: _Entry = key if namespace is None else (key, namespace)
        return sorted(instant for instant, bucket in self._buckets.items() if entry in bucket)

    def due(self, until_ms: int) -> Iterator[Timer]:
        """Pop the timers at or before ``until_ms``. One that was popped and is set again for the same instant
        ends it: it stays for the next time, since a trigger may do so for ever."""
        instant, popped = None, set[tuple[Any, bytes | None]]()
        while (timer := self.pop(until_ms)) is not None:
            if timer[0] != instant:
                instant = timer[0]
                popped.clear()
            entry = timer[2], timer[3]
            if entry in popped:
                self._operator.key = timer[2]
                self.register(timer[0], timer[3])
                return
            popped.add(entry)
            yield timer

    def pop(self, until_ms: int) -> Timer | None:  # hot
        """The next timer at or before ``until_ms`` as (time, user's key, canonical key, namespace), by time,
        then key bytes, then namespace. One that is registered meanwhile takes its place in this order, unless
        timers of its instant are being popped: then it comes after them."""
        first = self.next_ms()
        if first is None or first > until_ms:
            return None
        bucket = self._buckets[first]
        entry = self._next_of(first, bucket)
        del bucket[entry]
        self._forget(first, entry)
        if type(entry) is tuple:
            return first, raw_key(entry[0]), entry[0], entry[1]
        key: Any = entry
        return first, raw_key(key), key, None

    def _next_of(self, instant: int, bucket: dict[_Entry, None]) -> _Entry:
        if len(bucket) == 1 and instant not in self._orders:
            return next(iter(bucket))
        order = self._orders.get(instant)
        while order:
            entry = order.pop()
            if entry in bucket:
                return entry
        order = self._orders[instant] = sorted(bucket, key=self._sort_key, reverse=True)
        return order.pop()

    def _sort_key(self, entry: _Entry) -> tuple[bytes, bytes]:
        key, namespace = entry if isinstance(entry, tuple) else (entry, b"")
        head = self._core.group_keys[key]
        return key_data(head, key_end(head)), namespace

    def _forget(self, timestamp_ms: int, entry: _Entry) -> None:
        self._size -= 1
        change = (timestamp_ms, entry)
        if change in self._added:
            self._added.discard(change)
        else:
            self._removed.add(change)

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        instant = int.from_bytes(key[_HEAD : _HEAD + 8], "big") - _BIAS
        rest = b"\0\0" + key[_HEAD + 8 :]
        stop = key_end(rest)
        canonical = canonical_of(key_data(rest, stop))
        entry: _Entry = canonical if stop == len(rest) else (canonical, rest[stop + 1 :])
        bucket = self._buckets.get(instant)
        if value == TOMBSTONE:
            if bucket is not None and entry in bucket:
                del bucket[entry]
                self._size -= 1
            return
        if bucket is None:
            bucket = self._buckets[instant] = {}
            heappush(self._heap, instant)
        if entry not in bucket:
            bucket[entry] = None
            self._size += 1

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        return  # always complete

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        for changes, value in ((self._added, _SET), (self._removed, TOMBSTONE)):
            self._core.group_keys.meet([e[0] if isinstance(e, tuple) else e for _, e in changes])
            keys += [self._entry_key(instant, entry) for instant, entry in changes]
            values += [value] * len(changes)
            changes.clear()

    def _entry_key(self, instant: int, entry: _Entry) -> bytes:
        key, namespace = entry if isinstance(entry, tuple) else (entry, None)
        head = self._core.group_keys[key]
        start = head[:2] + b"\0" + self.id + (instant + _BIAS).to_bytes(8, "big") + head[2:]
        return start if namespace is None else start + b"n" + namespace

    def drop(self) -> None:
        self._buckets.clear()
        self._heap.clear()
        self._orders.clear()
        self._added.clear()
        self._removed.clear()
        self._size = 0

    def drop_key(self, key: CanonicalKey) -> None:
        for instant, bucket in self._buckets.items():
            for entry in [e for e in bucket if e == key or (type(e) is tuple and e[0] == key)]:
                del bucket[entry]
                self._forget(instant, entry)

    def changed(self) -> int:
        return len(self._added) + len(self._removed)

    def cached(self) -> int:
        return 0  # timers are never evicted

    def evict(self, share: float) -> None:
        return

    def cached_keys(self) -> set[CanonicalKey]:
        return {e[0] if isinstance(e, tuple) else e for b in self._buckets.values() for e in b}


# ---- the kind


def _rows(state: CatalogEntry) -> RowsOf:
    return _timer_rows


def _timer_rows(entries: Iterable[Entry]) -> Iterator[StoredRow]:
    for name, _ in entries:
        instant, key, namespace = beside(name)
        yield StoredRow(raw_key(key), namespace, instant, None)


TIMERS: Final = KINDS.register(
    StateKind(name=TimerQueue.kind, place=Place.TIME, rows=_rows, count=lambda stored: 0)
)
