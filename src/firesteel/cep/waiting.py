"""Events that wait until the watermark has come to them: they are matched in the order of their timestamps.

What waits of the input of an epoch is written at its end, one entry for each key group, under the number of
the epoch; an entry goes, or is written again, when some of its events are taken. They are always in memory.

Where the splits of a source are apart, most of an epoch waits while watermarks come, one after the other. So
events lie in *runs* in the order of their timestamps, and what a watermark takes is the first part of each.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from firesteel.state.catalog import CatalogEntry
from firesteel.state.columns import (
    TOMBSTONE,
    CanonicalKey,
    Column,
    canonical_of,
    decode_elements,
    decode_value,
    encode_elements,
    to_cached,
    typed_bytes,
)
from firesteel.state.keys import raw_key
from firesteel.state.kinds import KINDS, Place, StateKind
from firesteel.state.rows import Entry, RowsOf, StoredRow

if TYPE_CHECKING:
    from firesteel.state._core import StateCore

__all__ = ["WAITING", "Taken", "WaitingColumn"]

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder().decode

_MANY: Final = 4096  # events that are taken are held no longer than until there are as many

#: Key group and number of an entry.
_Chunk = tuple[int, bytes]


class Taken(NamedTuple):
    """Events as columns; those of one key and one timestamp in the order of their arrival."""

    timestamps: list[int]
    keys: list[CanonicalKey]
    values: list[Any]


class _Run:
    """Events in the order of their timestamps, those of the same in the order of their arrival.

    :ivar first: before it all are taken.
    """

    __slots__ = ("first", "keys", "stamps", "values")

    def __init__(self, stamps: list[int], keys: list[CanonicalKey], values: list[Any]) -> None:
        self.first = 0
        ordered = sorted(stamps)
        if ordered != stamps:
            order = sorted(range(len(stamps)), key=stamps.__getitem__)
            stamps, keys, values = ordered, _at(order, keys), _at(order, values)
        self.stamps = stamps
        self.keys = keys
        self.values = values

    def __len__(self) -> int:
        return len(self.stamps) - self.first

    @property
    def first_ms(self) -> int:
        return self.stamps[self.first]

    @property
    def rest(self) -> Taken:
        """What is not taken."""
        place = slice(self.first, None)
        return Taken(self.stamps[place], self.keys[place], self.values[place])

    def append(self, other: _Run) -> bool:
        """Take in events that have come later, if they are later."""
        if other.stamps[0] < self.stamps[-1]:
            return False
        self.stamps += other.stamps
        self.keys += other.keys
        self.values += other.values
        return True

    def take(self, until_ms: int, into: Taken) -> None:  # hot
        """Move the events at or before an instant."""
        start = self.first
        stop = bisect_right(self.stamps, until_ms, start)
        into.timestamps.extend(self.stamps[start:stop])
        into.keys.extend(self.keys[start:stop])
        into.values.extend(self.values[start:stop])
        self.first = stop
        if stop > _MANY and 2 * stop > len(self.stamps):
            self.stamps, self.keys, self.values = self.rest
            self.first = 0


class WaitingColumn(Column):
    """Timestamps are epoch ms. Events that come in an epoch and are taken in it leave no trace."""

    kind = "waiting events"

    def __init__(self, core: StateCore, uid: str, name: str) -> None:
        super().__init__(core, uid, name)
        self._fresh: list[_Run] = []  # what has come in this epoch, in the order of arrival
        self._chunks: dict[_Chunk, _Run] = {}  # what was stored before; values as caches of state hold them
        self._touched: set[_Chunk] = set()
        self._first: int | None = None  # no event in the chunks is before it

    # ---- the operator's side

    def add(self, stamps: Sequence[int], keys: Sequence[CanonicalKey], values: Sequence[Any]) -> None:
        run = _Run(list(stamps), list(keys), list(values))
        if len(run) and not (self._fresh and self._fresh[-1].append(run)):
            self._fresh.append(run)

    def next_ms(self) -> int | None:
        """The earliest timestamp; None: nothing waits."""
        first = min((run.first_ms for run in self._fresh), default=None)
        stored = self._first_stored()
        return stored if first is None else first if stored is None else min(first, stored)

    def _first_stored(self) -> int | None:
        if self._first is None and self._chunks:
            self._first = min(run.first_ms for run in self._chunks.values())
        return self._first

    def take(self, until_ms: int) -> Taken:  # hot
        """Remove the events at or before an instant."""
        taken = Taken([], [], [])
        self._take_stored(until_ms, taken)
        for run in self._fresh:
            run.take(until_ms, taken)
        self._fresh = [run for run in self._fresh if run]
        return taken

    def _take_stored(self, until_ms: int, taken: Taken) -> None:
        first = self._first_stored()
        if first is None or first > until_ms:
            return
        for chunk in sorted(self._chunks, key=lambda chunk: chunk[1]):  # by epoch: in the order of arrival
            run = self._chunks[chunk]
            if run.first_ms <= until_ms:
                self._touched.add(chunk)
                run.take(until_ms, taken)
                if not run:
                    del self._chunks[chunk]
        taken.values[:] = [decode_value(v) if type(v) is bytes else v for v in taken.values]
        self._first = None

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        chunk = int.from_bytes(key[:2], "big"), key[end + len(self.id) :]
        self._first = None
        if value == TOMBSTONE:
            self._chunks.pop(chunk, None)
        else:
            self._chunks[chunk] = _Run(*_columns_of(value))

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        return  # always complete

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        number = self._core.sequence.to_bytes(8, "big")
        heads = self._core.group_keys
        rows: dict[bytes, Taken] = {}
        for run in self._fresh:
            for stamp, key, value in zip(*run.rest, strict=True):
                group = heads[key][:2]
                of_group = rows.get(group)
                if of_group is None:
                    of_group = rows[group] = Taken([], [], [])
                of_group.timestamps.append(stamp)
                of_group.keys.append(key)
                of_group.values.append(to_cached(value))
        self._fresh = []
        for group, of_group in rows.items():
            chunk = int.from_bytes(group, "big"), number
            self._chunks[chunk] = _Run(*of_group)
            self._touched.add(chunk)
        for chunk in self._touched:
            left = self._chunks.get(chunk)
            keys.append(chunk[0].to_bytes(2, "big") + b"\0" + self.id + chunk[1])
            values.append(TOMBSTONE if left is None else _packed(left.rest))
        self._touched.clear()
        self._first = None

    def drop(self) -> None:
        self._fresh = []
        self._chunks.clear()
        self._touched.clear()
        self._first = None

    def drop_key(self, key: CanonicalKey) -> None:
        left = []
        for run in self._fresh:
            rest = run.rest
            kept = [i for i, each in enumerate(rest.keys) if each != key]
            if kept:
                left.append(_Run(*(_at(kept, column) for column in rest)))
        self._fresh = left

    def changed(self) -> int:
        return sum(map(len, self._fresh)) + len(self._touched)

    def cached(self) -> int:
        return 0  # what waits is never evicted

    def evict(self, share: float) -> None:
        return

    def cached_keys(self) -> set[CanonicalKey]:
        return {key for run in (*self._fresh, *self._chunks.values()) for key in run.rest.keys}


def _at(places: list[int], column: Sequence[Any]) -> list[Any]:
    return [column[place] for place in places]


def _packed(events: Taken) -> bytes:
    stamps, keys, values = events
    return _pack((stamps, list(map(typed_bytes, keys)), encode_elements(values)))


def _columns_of(entry: bytes) -> Taken:
    stamps, keys, values = _unpack(entry)
    return Taken(stamps, list(map(canonical_of, keys)), list(decode_elements(values)))


# ---- the kind


def _rows(state: CatalogEntry) -> RowsOf:
    return _event_rows


def _event_rows(entries: Iterable[Entry]) -> Iterator[StoredRow]:
    for _, entry in entries:
        for stamp, key, value in zip(*_columns_of(entry), strict=True):
            yield StoredRow(raw_key(key), None, stamp, decode_value(value) if type(value) is bytes else value)


WAITING: Final = KINDS.register(
    StateKind(name=WaitingColumn.kind, place=Place.TIME, rows=_rows, stamped=True, keys_in_values=True)
)
