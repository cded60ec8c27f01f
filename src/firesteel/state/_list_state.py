"""ListState: adding costs the same whatever the length, because an epoch's elements are entries of their own.

The elements that one epoch adds to a key are written as *chunks* under a rising 8-byte number: the number of
the epoch on the line, then one of the chunk. No stored element is read to add one.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from firesteel.datastream.state import ListState
from firesteel.state._column import CanonicalKey, Column, canonical_of, key_data
from firesteel.state._ttl import Ttl
from firesteel.state._value_codec import ATOMS, PLAIN, TOMBSTONE, decode_value, dumps, pack, to_cached, unpack

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState

CHUNK_ELEMENTS: Final = 1024
CHUNK_BITS: Final = 24
_SIMPLE: Final = PLAIN | {bytes}


def encode_chunk(elements: list[Any]) -> bytes:
    """Elements as the cache holds them (bytes: encoded)."""
    if _SIMPLE.issuperset(map(type, elements)):
        try:
            return pack(elements)
        except (OverflowError, UnicodeEncodeError):
            return dumps(elements)
    return dumps(elements)


def decode_chunk(data: bytes) -> list[Any]:
    elements: list[Any] = pickle.loads(data) if data[0] == 0x80 else unpack(data)
    return [decode_value(e) if type(e) is bytes else e for e in elements]


class _Cell:
    """The list of one key. ``chunks`` None: the stored chunks are not known here."""

    __slots__ = ("chunks", "gone", "rewritten", "tail")

    def __init__(self, chunks: dict[bytes, bytes] | None) -> None:
        self.chunks = chunks
        self.tail: list[Any] = []  # added in this epoch, as cached
        self.gone: set[bytes] = set()  # numbers of stored chunks to delete
        self.rewritten: set[bytes] = set()  # numbers of stored chunks with a new time stamp


class ListColumn(Column, ListState[Any]):
    kind = "list"

    def __init__(self, core: StateCore, operator: OperatorState, name: str, ttl: Ttl | None = None) -> None:
        super().__init__(core, operator.uid, name, ttl.ms if ttl else 0)
        self._operator = operator
        self._ttl = ttl
        self._cells: dict[CanonicalKey, _Cell] = {}
        self._dirty: dict[CanonicalKey, _Cell] = {}
        self._size = 0  # stored chunks in the cache

    # ---- the user's side

    def add(self, value: Any) -> None:  # hot
        key = self._operator.key
        cell = self._cells.get(key)
        if cell is None:
            cell = self._new_cell(key)
        self._dirty[key] = cell
        cell.tail.append(value if type(value) in ATOMS else to_cached(value))

    def add_all(self, values: Iterable[Any]) -> None:
        key = self._operator.key
        cell = self._cells.get(key) or self._new_cell(key)
        self._dirty[key] = cell
        cell.tail += [value if type(value) in ATOMS else to_cached(value) for value in values]

    def update(self, values: Iterable[Any]) -> None:
        values = list(values)  # may be a view of this very list
        self.clear()
        if values:
            self.add_all(values)

    def get(self) -> list[Any]:
        key = self._operator.key
        cell = self._cells.get(key)
        if cell is None:
            if self._core.complete:
                return []
            cell = self._new_cell(key)
        if cell.chunks is None:
            self._read(key, cell)
        if self._ttl is not None:
            return self._get_with_ttl(key, cell, self._ttl)
        elements: list[Any] = []
        if cell.chunks:
            for number in sorted(cell.chunks):
                elements += decode_chunk(cell.chunks[number])
        elements += [decode_value(e) if type(e) is bytes else e for e in cell.tail]
        return elements

    def clear(self) -> None:
        key = self._operator.key
        cell = self._cells.get(key)
        if cell is None:
            if self._core.complete:
                return
            cell = self._new_cell(key)
        if cell.chunks is None:
            self._read(key, cell)
        assert cell.chunks is not None
        cell.gone.update(cell.chunks)
        self._size -= len(cell.chunks)
        cell.rewritten.clear()
        cell.chunks.clear()
        cell.tail.clear()
        self._dirty[key] = cell

    def _get_with_ttl(self, key: CanonicalKey, cell: _Cell, ttl: Ttl) -> list[Any]:
        core = self._core
        elements: list[Any] = []
        assert cell.chunks is not None
        for number in sorted(cell.chunks):
            chunk = cell.chunks[number]
            if ttl.expired(chunk, core.now_ms):
                del cell.chunks[number]
                self._size -= 1
                cell.rewritten.discard(number)
                cell.gone.add(number)
                self._dirty[key] = cell
                if ttl.hide_expired:
                    continue
            elif ttl.refresh_on_read and chunk[:8] != core.ttl_stamp:
                cell.chunks[number] = core.ttl_stamp + chunk[8:]
                cell.rewritten.add(number)
                self._dirty[key] = cell
            elements += decode_chunk(chunk[8:])
        elements += [decode_value(e) if type(e) is bytes else e for e in cell.tail]
        return elements

    def _new_cell(self, key: CanonicalKey) -> _Cell:
        cell = self._cells[key] = _Cell({} if self._core.complete else None)
        return cell

    def _read(self, key: CanonicalKey, cell: _Cell) -> None:
        cell.chunks = self._core.fetch_all(key, self.id)
        self._size += len(cell.chunks)

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        canonical = canonical_of(key_data(key, end))
        cell = self._cells.get(canonical)
        if cell is None:
            if not self._core.complete:
                return
            cell = self._new_cell(canonical)
        if cell.chunks is None:
            return
        number = key[end + len(self.id) :]
        if value == TOMBSTONE:
            self._size -= cell.chunks.pop(number, None) is not None
            if not cell.chunks and self._core.complete:
                del self._cells[canonical]
        else:
            self._size += number not in cell.chunks
            cell.chunks[number] = value

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        known = {key for key, cell in self._cells.items() if cell.chunks is not None}
        for key, cell in self._cells.items():
            if key not in known:
                cell.chunks = {}
        cut = len(self.id)
        for key, end, value in entries:
            current = canonical_of(key_data(key, end))
            if current in known:
                continue
            cell = self._cells.get(current) or self._cells.setdefault(current, _Cell({}))
            assert cell.chunks is not None
            cell.chunks[key[end + cut :]] = value
            self._size += 1

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        core = self._core
        stamp = core.ttl_stamp if self._ttl is not None else b""
        first = core.sequence << CHUNK_BITS
        for key, cell in self._dirty.items():
            head = core.group_keys[key] + self.id
            for number in cell.gone:
                keys.append(head + number)
                values.append(TOMBSTONE)
            for number in cell.rewritten:
                assert cell.chunks is not None
                keys.append(head + number)
                values.append(cell.chunks[number])
            for index, start in enumerate(range(0, len(cell.tail), CHUNK_ELEMENTS)):
                number = (first + index).to_bytes(8, "big")
                chunk = stamp + encode_chunk(cell.tail[start : start + CHUNK_ELEMENTS])
                keys.append(head + number)
                values.append(chunk)
                if cell.chunks is not None:
                    cell.chunks[number] = chunk
                    self._size += 1
            cell.gone.clear()
            cell.rewritten.clear()
            cell.tail = []
            if cell.chunks is None or (not cell.chunks and core.complete):
                del self._cells[key]
        self._dirty.clear()

    def drop(self) -> None:
        self._cells.clear()
        self._dirty.clear()
        self._size = 0

    def drop_key(self, key: CanonicalKey) -> None:
        cell = self._cells.pop(key, None)
        self._size -= len(cell.chunks or ()) if cell is not None else 0
        self._dirty.pop(key, None)

    def changed(self) -> int:
        return len(self._dirty)

    def cached(self) -> int:
        return len(self._cells) + self._size

    def evict(self, share: float) -> None:
        for key in list(islice(self._cells, int(len(self._cells) * share) + 1)):
            self._size -= len(self._cells.pop(key).chunks or ())

    def cached_keys(self) -> set[CanonicalKey]:
        return {key for key, cell in self._cells.items() if cell.chunks or cell.tail}
