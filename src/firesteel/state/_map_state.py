"""MapState: each entry of a map is an entry of the state, so a large map costs what is touched of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from firesteel.datastream.state import MapState
from firesteel.state._column import CanonicalKey, Column, canonical_of, key_data
from firesteel.state._key_codec import encode_key
from firesteel.state._ttl import Ttl
from firesteel.state._value_codec import (
    ATOMS,
    NONE_VALUE,
    TOMBSTONE,
    decode_value,
    encode_cached,
    encode_value,
    is_atom,
    to_cached,
)
from firesteel.state.keys import canonical, raw_key

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState


class _Cell:
    """The map of one key, as far as it is known; all of it when ``complete``."""

    __slots__ = ("complete", "counted", "data", "dirty", "ordered")

    def __init__(self, complete: bool) -> None:
        self.data: dict[CanonicalKey, Any] = {}
        self.dirty: set[CanonicalKey] = set()
        self.complete = complete
        self.counted = 0  # entries of data that the column has counted
        self.ordered = True  # data is in the order of iteration


def _entry_bytes(key: CanonicalKey) -> bytes:
    return key if type(key) is bytes else encode_key(key)


def _present(data: dict[CanonicalKey, Any]) -> dict[CanonicalKey, Any]:
    return {name: v for name, v in data.items() if not (type(v) is bytes and v == TOMBSTONE)}


def in_order(keys: Iterable[CanonicalKey]) -> list[CanonicalKey]:
    """An order that depends on the keys alone, not on their history (invariant I1)."""
    found = list(keys)
    if len({type(key) for key in found}) > 1:
        found.sort(key=_entry_bytes)
    else:
        found.sort()
    return found


class MapColumn(Column, MapState[Any, Any]):
    """Iteration is in an order that depends on the content alone, over what was there when it began."""

    kind = "map"

    def __init__(self, core: StateCore, operator: OperatorState, name: str, ttl: Ttl | None = None) -> None:
        super().__init__(core, operator.uid, name, ttl.ms if ttl else 0)
        self._operator = operator
        self._ttl = ttl
        self._cells: dict[CanonicalKey, _Cell] = {}
        self._dirty: dict[CanonicalKey, _Cell] = {}
        self._size = 0  # entries in the cache, brought up to date at the end of an epoch

    # ---- the user's side

    def get(self, key: Any) -> Any:  # hot
        name = key if type(key) is str or type(key) is int else canonical(key)
        cached = self._lookup(name)
        if type(cached) is not bytes:
            return cached
        value = decode_value(cached)
        if self._ttl is None and value is not None and is_atom(value):
            self._cells[self._operator.key].data[name] = value
        return value

    def contains(self, key: Any) -> bool:
        return self._lookup(canonical(key)) is not None

    def put(self, key: Any, value: Any) -> None:  # hot
        current = self._operator.key
        cell = self._cells.get(current)
        if cell is None:
            cell = self._new_cell(current)
        name = key if type(key) is str or type(key) is int else canonical(key)
        if cell.ordered and name not in cell.data:
            cell.ordered = False
        if self._ttl is not None:
            cell.data[name] = self._core.ttl_stamp + (NONE_VALUE if value is None else encode_value(value))
        elif type(value) in ATOMS:
            cell.data[name] = value
        else:
            cell.data[name] = NONE_VALUE if value is None else to_cached(value)
        cell.dirty.add(name)
        self._dirty[current] = cell

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self._remove(canonical(key))

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter([(raw_key(name), value) for name, value in self._entries()])

    def keys(self) -> Iterator[Any]:
        return iter([raw_key(name) for name, _ in self._entries()])

    def values(self) -> Iterator[Any]:
        return iter([value for _, value in self._entries()])

    def is_empty(self) -> bool:
        if self._ttl is not None:
            return not self._entries()
        cell = self._whole(self._operator.key)
        return cell is None or not cell.data

    def clear(self) -> None:
        current = self._operator.key
        cell = self._whole(current)
        if cell is None:
            return
        cell.dirty.update(cell.data)
        cell.data.clear()
        cell.ordered = True
        if cell.dirty:
            self._dirty[current] = cell

    # ---- how

    def _lookup(self, name: CanonicalKey) -> Any:
        """What is cached for a map key (with a time to live: the value's bytes), None when there is none."""
        current = self._operator.key
        cell = self._cells.get(current)
        if cell is None:
            if self._core.complete:
                return None
            cell = self._new_cell(current)
        cached = cell.data.get(name)
        if cached is None:
            if cell.complete:
                return None
            stored = self._core.fetch(current, self.id + _entry_bytes(name))
            cell.data[name] = cached = TOMBSTONE if stored is None else stored
            cell.ordered = False
            self._count(cell)
        if type(cached) is bytes:
            if cached == TOMBSTONE:
                return None
            if self._ttl is not None:
                return self._live(current, cell, name, cached, self._ttl)
        return cached

    def _live(self, current: CanonicalKey, cell: _Cell, name: CanonicalKey, cached: bytes, ttl: Ttl) -> Any:
        """The value's bytes if they may be seen; what has expired is deleted, what was read is refreshed."""
        core = self._core
        if ttl.expired(cached, core.now_ms):
            self._remove(name)
            return None if ttl.hide_expired else cached[8:]
        if ttl.refresh_on_read and cached[:8] != core.ttl_stamp:
            cell.data[name] = core.ttl_stamp + cached[8:]
            cell.dirty.add(name)
            self._dirty[current] = cell
        return cached[8:]

    def _remove(self, name: CanonicalKey) -> None:
        current = self._operator.key
        cell = self._cells.get(current)
        if cell is None:
            if self._core.complete:
                return
            cell = self._new_cell(current)
        if not cell.complete:
            cell.data[name] = TOMBSTONE
        elif cell.data.pop(name, None) is None:
            return
        cell.dirty.add(name)
        self._dirty[current] = cell

    def _entries(self) -> list[tuple[CanonicalKey, Any]]:
        current = self._operator.key
        cell = self._whole(current)
        if cell is None:
            return []
        if not cell.ordered:
            data = cell.data
            ordered = [(name, data[name]) for name in in_order(data)]
            data.clear()
            data.update(ordered)
            cell.ordered = True
        found = []
        for name, cached in list(cell.data.items()):
            if type(cached) is bytes:
                if self._ttl is not None:
                    cached = self._live(current, cell, name, cached, self._ttl)
                    if cached is None:
                        continue
                cached = decode_value(cached)
            found.append((name, cached))
        return found

    def _whole(self, current: CanonicalKey) -> _Cell | None:
        """The cell of a key with all of its entries, None when the key has none."""
        cell = self._cells.get(current)
        if cell is None:
            if self._core.complete:
                return None
            cell = self._new_cell(current)
        if not cell.complete:
            data = {canonical_of(n): v for n, v in self._core.fetch_all(current, self.id).items()}
            data.update(cell.data)
            cell.data = _present(data)
            cell.complete = True
            cell.ordered = False
            self._count(cell)
        return cell

    def _new_cell(self, key: CanonicalKey) -> _Cell:
        cell = self._cells[key] = _Cell(self._core.complete)
        return cell

    def _count(self, cell: _Cell) -> None:
        self._size += len(cell.data) - cell.counted
        cell.counted = len(cell.data)

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        current = canonical_of(key_data(key, end))
        cell = self._cells.get(current)
        if cell is None:
            if not self._core.complete:
                return
            cell = self._new_cell(current)
        name = canonical_of(key[end + len(self.id) :])
        if value != TOMBSTONE or not cell.complete:
            cell.data[name] = value
            cell.ordered = False
        else:
            cell.data.pop(name, None)
            if not cell.data and self._core.complete:
                del self._cells[current]
        self._count(cell)

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        known = {key for key, cell in self._cells.items() if cell.complete}
        cut = len(self.id)
        for key, end, value in entries:
            current = canonical_of(key_data(key, end))
            if current not in known:
                cell = self._cells.get(current) or self._cells.setdefault(current, _Cell(False))
                cell.data.setdefault(canonical_of(key[end + cut :]), value)
        for current, cell in self._cells.items():
            if current not in known:
                data = cell.data
                cell.data = _present(data)
                cell.complete = True
                cell.ordered = False
                self._count(cell)

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        core = self._core
        for key, cell in self._dirty.items():
            head = core.group_keys[key] + self.id
            data = cell.data
            for entry in cell.dirty:
                keys.append(head + _entry_bytes(entry))
                values.append(encode_cached(data.get(entry)))
            cell.dirty.clear()
            self._count(cell)
            if core.complete and not data:
                del self._cells[key]
        self._dirty.clear()

    def drop(self) -> None:
        self._cells.clear()
        self._dirty.clear()
        self._size = 0

    def drop_key(self, key: CanonicalKey) -> None:
        cell = self._cells.pop(key, None)
        self._size -= cell.counted if cell is not None else 0
        self._dirty.pop(key, None)

    def changed(self) -> int:
        return sum(len(cell.dirty) for cell in self._dirty.values())

    def cached(self) -> int:
        return len(self._cells) + self._size

    def evict(self, share: float) -> None:
        for key in list(islice(self._cells, int(len(self._cells) * share) + 1)):
            self._size -= self._cells.pop(key).counted

    def cached_keys(self) -> set[CanonicalKey]:
        return {
            key
            for key, cell in self._cells.items()
            if any(not (type(v) is bytes and v == TOMBSTONE) for v in cell.data.values())
        }
