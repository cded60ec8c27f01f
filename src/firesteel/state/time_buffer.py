"""Elements of a key in the order of their timestamps, for as long as something may still be found in them.

An element is found by a range of timestamps in O(log n), and is gone when the watermark has come to its
timestamp plus the *reach* of the buffer. Nothing happens for each element then: those of a key that is used
are cut off at its next use, and for the others a key has one deadline, at the end of its newest element.

What an epoch adds to a key is stored as *chunks* under a rising number (of the epoch on the line, then of
the chunk), as in a list state; a chunk is deleted when all of it is gone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from firesteel.state._column import CanonicalKey, Column, canonical_of, key_data
from firesteel.state._list_state import CHUNK_BITS, CHUNK_ELEMENTS
from firesteel.state._value_codec import (
    ATOMS,
    TOMBSTONE,
    decode_elements,
    decode_value,
    encode_elements,
    pack,
    to_cached,
    unpack,
)
from firesteel.state.catalog import CatalogEntry
from firesteel.state.deadlines import Deadlines
from firesteel.state.kinds import KINDS, StateKind
from firesteel.state.rows import Entry, RowsOf, StoredRow, key_of_entry

if TYPE_CHECKING:
    from firesteel.state._core import StateCore

__all__ = ["TIME_BUFFER", "TimeBufferColumn"]

_MIN: Final = -(2**63)
_MAX: Final = 2**63 - 1
_OLD: Final = 0
_FRESH: Final = 1

Found = tuple[list[int], list[Any]]


class _Cell:
    """The elements of one key: three columns in the order of (timestamp, arrival)."""

    __slots__ = ("chunks", "counted", "fresh", "pending", "stamps", "start", "swept", "values")

    def __init__(self, swept: int, known: bool) -> None:
        self.start = 0  # what comes before is gone
        self.stamps: list[int] = []
        self.values: list[Any] = []  # as caches of state hold them: atoms, everything else encoded
        self.fresh = bytearray()  # _FRESH: no chunk holds the element yet
        self.swept = swept  # the watermark up to which gone elements were cut off
        # Number and last timestamp of the stored chunks that are in the columns; None: not known here.
        self.chunks: deque[tuple[bytes, int]] | None = deque() if known else None
        self.pending: dict[bytes, bytes] = {}  # stored chunks that are not in the columns yet
        self.counted = 0  # what the column has counted of this cell

    def insert(self, stamp: int, value: Any, fresh: int) -> None:
        """Insert an element after those with the same timestamp."""
        at = bisect_right(self.stamps, stamp, self.start)
        self.stamps.insert(at, stamp)
        self.values.insert(at, value)
        self.fresh.insert(at, fresh)

    def extend(self, stamps: list[int], values: list[Any]) -> None:
        """Insert elements of a chunk, which are in order."""
        if not self.stamps or (stamps and self.stamps[-1] <= stamps[0]):
            self.stamps += stamps
            self.values += values
            self.fresh += bytes(len(stamps))
        else:
            for stamp, value in zip(stamps, values, strict=True):
                self.insert(stamp, value, _OLD)

    def cut(self, limit: int) -> None:
        """Cut off what is not after ``limit``."""
        stamps, start = self.stamps, self.start
        if start == len(stamps) or stamps[start] > limit:
            return
        start = bisect_right(stamps, limit, start)
        if 2 * start >= len(stamps):  # moving the rest is paid by what was cut off since the last time
            del stamps[:start], self.values[:start], self.fresh[:start]
            start = 0
        self.start = start

    def take(self) -> Found:
        """Empty the columns; what was in them."""
        found = self.stamps[self.start :], self.values[self.start :]
        self.start, self.stamps, self.values, self.fresh = 0, [], [], bytearray()
        return found

    def take_fresh(self) -> Found:
        """The elements that no chunk holds, which count as stored from now on."""
        found: Found = [], []
        at = self.fresh.find(_FRESH, self.start)
        while at >= 0:
            found[0].append(self.stamps[at])
            found[1].append(self.values[at])
            self.fresh[at] = _OLD
            at = self.fresh.find(_FRESH, at + 1)
        return found

    @property
    def has_fresh(self) -> bool:
        return self.fresh.find(_FRESH, self.start) >= 0

    @property
    def is_empty(self) -> bool:
        return self.start == len(self.stamps)


class TimeBufferColumn(Column):
    """Timestamps, the watermark and the reach are in milliseconds.

    An element goes when the watermark *comes to* its end: one that is added at or after its end, because its
    timestamp is the watermark, stays until the watermark moves (as it would with a timer for each element).
    """

    kind = "time buffer"

    def __init__(self, core: StateCore, uid: str, name: str, reach_ms: int, deadlines: Deadlines) -> None:
        super().__init__(core, uid, name)
        self._reach = max(0, reach_ms)
        self._deadlines = deadlines
        self._due = deadlines.due
        self._cells: dict[CanonicalKey, _Cell] = {}
        self._dirty: dict[CanonicalKey, _Cell] = {}
        self._gone: dict[bytes, None] = {}  # the entries of stored chunks to delete
        self._size = 0
        self._stand_at(_MIN)

    # ---- the operator's side

    def add(self, key: CanonicalKey, stamp: int, value: Any) -> None:  # hot
        cell = self._cells.get(key)
        if cell is None:
            cell = self._new_cell(key)
        elif cell.swept != self._watermark or cell.pending:
            self._settle(key, cell)
        self._dirty[key] = cell
        cached = value if type(value) in ATOMS else to_cached(value)
        stamps = cell.stamps
        if stamps and stamp < stamps[-1]:
            cell.insert(stamp, cached, _FRESH)
        else:
            stamps.append(stamp)
            cell.values.append(cached)
            cell.fresh.append(_FRESH)
        if key not in self._due and not self._core.limits.batch:
            self._deadlines.set(key, self._end(stamp))

    def between(self, key: CanonicalKey, first: int, last: int) -> Found | None:  # hot
        """Timestamps and values of the elements from ``first`` to ``last``, both inclusive, in the order of
        (timestamp, arrival); None when there are none."""
        cell = self._cells.get(key)
        if cell is None:
            if self._core.complete:
                return None
            cell = self._new_cell(key)
        if cell.chunks is None or cell.swept != self._watermark or cell.pending:
            self._settle(key, cell, read=True)
        stamps = cell.stamps
        start = bisect_left(stamps, first, cell.start)
        stop = bisect_right(stamps, last, start)
        if start == stop:
            return None
        values = cell.values[start:stop]
        return stamps[start:stop], [decode_value(v) if type(v) is bytes else v for v in values]

    def advance(self, watermark: int) -> None:
        """The watermark moves: what ends by then is gone."""
        self._stand_at(watermark)
        for key in self._deadlines.take(watermark):
            self._look_after(key)

    def reset_watermark(self, watermark: int) -> None:
        """Where the watermark stands as an epoch begins.

        It goes back when the epoch that moved it is lost. One that changed no entry of the state leaves no
        other trace of that, and what it cut off is needed again.
        """
        if watermark < self._watermark:
            for key, cell in list(self._cells.items()):
                if cell.swept > watermark:
                    self._read_again(key)
        self._stand_at(watermark)

    # ---- how

    def _stand_at(self, watermark: int) -> None:
        self._watermark = watermark
        self._limit = watermark - self._reach if watermark < _MAX else _MAX

    def _read_again(self, key: CanonicalKey) -> None:
        self._forget(key)
        cell = self._new_cell(key)
        cell.chunks = deque()
        cell.pending = self._core.fetch_all(key, self.id)
        self._count(cell)

    def _end(self, stamp: int) -> int:
        return min(stamp + self._reach, _MAX)

    def _look_after(self, key: CanonicalKey) -> None:
        """The deadline of a key has come: forget it, or give it a new deadline."""
        cell = self._cells.get(key)
        if cell is None:
            if self._core.complete:
                return
            cell = self._new_cell(key)
        self._settle(key, cell, read=True)
        if cell.is_empty:
            self._forget(key)
        else:
            self._deadlines.set(key, self._end(cell.stamps[-1]))

    def _new_cell(self, key: CanonicalKey) -> _Cell:
        cell = self._cells[key] = _Cell(self._watermark, self._core.complete)
        return cell

    def _forget(self, key: CanonicalKey) -> None:
        self._size -= self._cells.pop(key).counted
        self._dirty.pop(key, None)

    def _settle(self, key: CanonicalKey, cell: _Cell, read: bool = False) -> None:
        """Bring a cell to the watermark; with ``read`` it knows all that is stored, too."""
        if read and cell.chunks is None:
            cell.chunks = deque()
            cell.pending = self._core.fetch_all(key, self.id)
        if cell.swept != self._watermark:
            cell.swept = self._watermark
            cell.cut(self._limit)
            chunks = cell.chunks
            while chunks and chunks[0][1] <= self._limit:
                self._delete(key, chunks.popleft()[0])
        if cell.pending:
            # What was added to a cell before it was read came after all that is stored.
            fresh = cell.take() if cell.has_fresh else None
            self._unpack(key, cell)
            if fresh is not None:
                for stamp, value in zip(*fresh, strict=True):
                    cell.insert(stamp, value, _FRESH)
            self._count(cell)

    def _unpack(self, key: CanonicalKey, cell: _Cell) -> None:
        """Merge the pending chunks, in the order in which they were made."""
        assert cell.chunks is not None
        for number in sorted(cell.pending):
            written, stamps, values = _decode(cell.pending[number])
            start = 0
            if written != self._watermark:  # the watermark has moved since: what had ended by now is gone
                start = bisect_right(stamps, self._limit)
                if start == len(stamps):
                    self._delete(key, number)
                    continue
            cell.chunks.append((number, stamps[-1]))
            cell.extend(stamps[start:], values[start:])
        cell.pending = {}

    def _delete(self, key: CanonicalKey, number: bytes) -> None:
        self._gone[self._core.group_keys[key] + self.id + number] = None

    def _count(self, cell: _Cell) -> None:
        size = len(cell.stamps) + len(cell.pending)
        self._size += size - cell.counted
        cell.counted = size

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        current = canonical_of(key_data(key, end))
        cell = self._cells.get(current)
        if cell is None:
            if not self._core.complete:
                return
            cell = self._new_cell(current)
        assert cell.chunks is not None, "an epoch does not begin with cells that were only added to"
        number = key[end + len(self.id) :]
        if value != TOMBSTONE:
            cell.pending[number] = value
        elif cell.pending.pop(number, None) is None:
            cell.chunks = deque(chunk for chunk in cell.chunks if chunk[0] != number)
        if not cell.pending and not cell.chunks:
            self._forget(current)
        else:
            self._count(cell)

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        known = {key for key, cell in self._cells.items() if cell.chunks is not None}
        cut = len(self.id)
        for key, end, value in entries:
            current = canonical_of(key_data(key, end))
            if current not in known:
                cell = self._cells.get(current) or self._new_cell(current)
                cell.pending[key[end + cut :]] = value
        for cell in self._cells.values():
            if cell.chunks is None:
                cell.chunks = deque()
                self._count(cell)

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        core = self._core
        first = core.sequence << CHUNK_BITS
        core.group_keys.meet(self._dirty)
        for key, cell in self._dirty.items():
            self._settle(key, cell)
            stamps, elements = cell.take_fresh()
            head = core.group_keys[key] + self.id
            for index, start in enumerate(range(0, len(stamps), CHUNK_ELEMENTS)):
                number = (first + index).to_bytes(8, "big")
                part = slice(start, start + CHUNK_ELEMENTS)
                keys.append(head + number)
                values.append(pack((self._watermark, stamps[part], encode_elements(elements[part]))))
                if cell.chunks is not None:
                    cell.chunks.append((number, stamps[part][-1]))
            if cell.chunks is None:  # its elements are stored now, and what else there is was never read
                del self._cells[key]
            else:
                self._count(cell)
        self._dirty.clear()
        keys += self._gone
        values += [TOMBSTONE] * len(self._gone)
        self._gone.clear()

    def drop(self) -> None:
        self._cells.clear()
        self._dirty.clear()
        self._gone.clear()
        self._size = 0

    def drop_key(self, key: CanonicalKey) -> None:
        if key in self._cells:
            self._forget(key)

    def changed(self) -> int:
        return len(self._dirty) + len(self._gone)

    def cached(self) -> int:
        return len(self._cells) + self._size

    def evict(self, share: float) -> None:
        for key in list(islice(self._cells, int(len(self._cells) * share) + 1)):
            self._forget(key)

    def cached_keys(self) -> set[CanonicalKey]:
        return {key for key, cell in self._cells.items() if cell.pending or not cell.is_empty}


def _decode(chunk: bytes) -> tuple[int, list[int], list[Any]]:
    """The watermark when it was written, timestamps, and values as the cache holds them."""
    written, stamps, values = unpack(chunk)
    return written, stamps, decode_elements(values)


# ---- the kind


def _rows(state: CatalogEntry) -> RowsOf:
    return _element_rows


def _element_rows(entries: Iterable[Entry]) -> Iterator[StoredRow]:
    for name, chunk in entries:
        key = key_of_entry(name)
        _, stamps, elements = _decode(chunk)
        for stamp, element in zip(stamps, elements, strict=True):
            yield StoredRow(key, None, stamp, decode_value(element) if type(element) is bytes else element)


TIME_BUFFER: Final = KINDS.register(StateKind(name=TimeBufferColumn.kind, rows=_rows, stamped=True))
