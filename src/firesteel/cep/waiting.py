"""Events that wait until the watermark has come to them: they are matched in the order of their timestamps.

What waits of the input of an epoch is written at its end, one entry for each key group, under the number of
the epoch; an entry goes, or is written again, when some of its events are taken. They are always in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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

#: Key group and number of an entry.
_Chunk = tuple[int, bytes]
#: Timestamp, key, and value as caches of state hold it.
_Row = tuple[int, CanonicalKey, Any]


class Taken(NamedTuple):
    """Events in the order of arrival, as columns."""

    timestamps: Sequence[int]
    keys: Sequence[CanonicalKey]
    values: Sequence[Any]


class WaitingColumn(Column):
    """Timestamps are epoch ms. Events that come in an epoch and are taken in it leave no trace."""

    kind = "waiting events"

    def __init__(self, core: StateCore, uid: str, name: str) -> None:
        super().__init__(core, uid, name)
        # What has come in this epoch, as columns:
        self._stamps: list[int] = []
        self._keys: list[CanonicalKey] = []
        self._values: list[Any] = []
        # What was stored before, entry by entry:
        self._chunks: dict[_Chunk, list[_Row]] = {}
        self._touched: set[_Chunk] = set()
        self._first: int | None = None  # no event in the chunks is before it

    # ---- the operator's side

    def add(self, stamps: Sequence[int], keys: Sequence[CanonicalKey], values: Sequence[Any]) -> None:
        self._stamps += stamps
        self._keys += keys
        self._values += values

    def next_ms(self) -> int | None:
        """The earliest timestamp; None: nothing waits."""
        first = self._first_stored()
        if self._stamps:
            fresh = min(self._stamps)
            return fresh if first is None else min(first, fresh)
        return first

    def _first_stored(self) -> int | None:
        if self._first is None and self._chunks:
            self._first = min(row[0] for rows in self._chunks.values() for row in rows)
        return self._first

    def take(self, until_ms: int) -> Taken:  # hot
        """Remove the events at or before an instant."""
        stored = self._take_stored(until_ms)
        stamps, keys, values = self._stamps, self._keys, self._values
        if not stamps or max(stamps) <= until_ms:
            self._stamps, self._keys, self._values = [], [], []
        else:
            due = [i for i, stamp in enumerate(stamps) if stamp <= until_ms]
            left = [i for i, stamp in enumerate(stamps) if stamp > until_ms]
            self._stamps, self._keys, self._values = _at(left, stamps), _at(left, keys), _at(left, values)
            stamps, keys, values = _at(due, stamps), _at(due, keys), _at(due, values)
        if not stored:
            return Taken(stamps, keys, values)
        return Taken(
            [row[0] for row in stored] + stamps,
            [row[1] for row in stored] + keys,
            [decode_value(row[2]) if type(row[2]) is bytes else row[2] for row in stored] + values,
        )

    def _take_stored(self, until_ms: int) -> list[_Row]:
        first = self._first_stored()
        if first is None or first > until_ms:
            return []
        taken: list[_Row] = []
        for chunk in sorted(self._chunks, key=lambda chunk: chunk[1]):  # by epoch: in the order of arrival
            rows = self._chunks[chunk]
            due = [row for row in rows if row[0] <= until_ms]
            if due:
                self._touched.add(chunk)
                taken += due
                if len(due) == len(rows):
                    del self._chunks[chunk]
                else:
                    self._chunks[chunk] = [row for row in rows if row[0] > until_ms]
        self._first = None
        return taken

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        chunk = int.from_bytes(key[:2], "big"), key[end + len(self.id) :]
        self._first = None
        if value == TOMBSTONE:
            self._chunks.pop(chunk, None)
        else:
            self._chunks[chunk] = list(_rows_of(value))

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        return  # always complete

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        number = self._core.sequence.to_bytes(8, "big")
        for stamp, key, value in zip(self._stamps, self._keys, self._values, strict=True):
            group = int.from_bytes(self._core.group_keys[key][:2], "big")
            chunk = group, number
            rows = self._chunks.get(chunk)
            if rows is None:
                rows = self._chunks[chunk] = []
            rows.append((stamp, key, to_cached(value)))
            self._touched.add(chunk)
        self._stamps, self._keys, self._values = [], [], []
        for chunk in self._touched:
            rows = self._chunks.get(chunk)
            keys.append(chunk[0].to_bytes(2, "big") + b"\0" + self.id + chunk[1])
            values.append(TOMBSTONE if rows is None else _packed(rows))
        self._touched.clear()
        self._first = None

    def drop(self) -> None:
        self._stamps, self._keys, self._values = [], [], []
        self._chunks.clear()
        self._touched.clear()
        self._first = None

    def drop_key(self, key: CanonicalKey) -> None:
        self._keep(lambda each: each != key)

    def _keep(self, is_kept: Callable[[CanonicalKey], bool]) -> None:
        left = [i for i, key in enumerate(self._keys) if is_kept(key)]
        self._stamps, self._keys, self._values = (
            _at(left, self._stamps),
            _at(left, self._keys),
            _at(left, self._values),
        )

    def changed(self) -> int:
        return len(self._stamps) + len(self._touched)

    def cached(self) -> int:
        return 0  # what waits is never evicted

    def evict(self, share: float) -> None:
        return

    def cached_keys(self) -> set[CanonicalKey]:
        return set(self._keys).union(row[1] for rows in self._chunks.values() for row in rows)


def _at(places: list[int], column: Sequence[Any]) -> list[Any]:
    return [column[place] for place in places]


def _packed(rows: list[_Row]) -> bytes:
    stamps, keys, values = zip(*rows, strict=True)
    return _pack((stamps, list(map(typed_bytes, keys)), encode_elements(list(values))))


def _rows_of(entry: bytes) -> Iterator[_Row]:
    stamps, keys, values = _unpack(entry)
    return zip(stamps, map(canonical_of, keys), decode_elements(values), strict=True)


# ---- the kind


def _rows(state: CatalogEntry) -> RowsOf:
    return _event_rows


def _event_rows(entries: Iterable[Entry]) -> Iterator[StoredRow]:
    for _, entry in entries:
        for stamp, key, value in _rows_of(entry):
            yield StoredRow(raw_key(key), None, stamp, decode_value(value) if type(value) is bytes else value)


WAITING: Final = KINDS.register(
    StateKind(name=WaitingColumn.kind, place=Place.TIME, rows=_rows, stamped=True, keys_in_values=True)
)
