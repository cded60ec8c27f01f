"""What lists and maps have in common: a collection for each key, whose parts are entries of their own.

So a large collection costs what is touched of it. What is cached of one is a *cell*. A small one is taken
into its cell whole when it is read; a large one is read through, some parts at a time, whenever it is read.
Both give the parts in the order of their names' bytes, which depends on the content alone, and
as they are when the reading begins: a cell that is being read is copied before it is changed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from firesteel.state._column import CanonicalKey, Column, canonical_of, in_order, key_data
from firesteel.state._merge import Slice, merged, without_tombstones
from firesteel.state._ttl import STAMP_BYTES, Round, Ttl, shrink
from firesteel.state._value_codec import TOMBSTONE, encode_cached

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState

#: The largest collection, in parts and in bytes, that is cached completely when it is read.
WHOLE_PARTS: Final = 1000
WHOLE_BYTES: Final = 1 << 20

#: The name of a part, and what is cached of it or stored.
Part = tuple[CanonicalKey, Any]
#: Opens the parts of a collection as they are, as often as it is called.
Parts = Callable[[], Iterable[Part]]


class Cell:
    """The collection of one key, as far as it is known."""

    __slots__ = ("cleared", "complete", "counted", "data", "dirty", "large", "lent", "ordered")

    def __init__(self, complete: bool) -> None:
        self.data: dict[CanonicalKey, Any] = {}  # by name; a tombstone: it is not there (never when complete)
        self.dirty: set[CanonicalKey] = set()  # names that the epoch has changed
        self.complete = complete  # data has all there is
        self.large = False  # too large to be taken in whole
        self.cleared = False  # nothing is left of what is committed
        self.ordered = True  # data is in the order of iteration
        self.lent = -1  # the epoch in which ``data`` is being iterated and must not change
        self.counted = 0  # parts that the column has counted

    def own(self, epoch: int) -> dict[CanonicalKey, Any]:
        """``data``, to change it."""
        if self.lent == epoch:
            self.data = self.data.copy()
        self.lent = -1
        return self.data

    def has_parts(self) -> bool:
        """Whether the cell knows of parts of the collection."""
        return any(map(_is_there, self.data.values()))


def _is_there(cached: Any) -> bool:
    return type(cached) is not bytes or cached != TOMBSTONE


C = TypeVar("C", bound=Cell)


class CellColumn(Column, Generic[C]):
    """A cell for each key that is known."""

    #: Whether some parts of a collection are worth keeping when the others are not known.
    _keeps_parts = True

    def __init__(self, core: StateCore, operator: OperatorState, name: str, ttl: Ttl | None = None) -> None:
        super().__init__(core, operator.uid, name, ttl)
        self._operator = operator
        self._cells: dict[CanonicalKey, C] = {}
        self._dirty: dict[CanonicalKey, C] = {}
        self._size = 0  # parts in the cache, brought up to date at the end of an epoch
        self._round = Round(self._look_for_gone, ttl)

    @staticmethod
    @abstractmethod
    def _rest_of(key: CanonicalKey) -> bytes:
        """With what the entry key of a part goes on that has this name."""

    @staticmethod
    @abstractmethod
    def _name_of(data: bytes) -> CanonicalKey:
        """The inverse of ``_rest_of``."""

    @staticmethod
    @abstractmethod
    def _make_cell(complete: bool) -> C: ...

    @property
    def core(self) -> StateCore:
        return self._core

    # ---- reading

    def _parts(self, current: CanonicalKey) -> Parts:
        """What the collection holds now, in order."""
        cell = self._known(current)
        if cell is None:
            return _no_parts
        if self._is_whole(current, cell):
            return self._lend(cell).items
        return partial(self._stream, current, self._changes(cell))

    def _has_any(self, current: CanonicalKey) -> bool:
        """Whether the collection holds anything; reads next to nothing."""
        cell = self._known(current)
        if cell is None:
            return False
        whole, ttl, now_ms = self._is_whole(current, cell), self.ttl, self._core.now_ms
        if whole and ttl is None:
            return bool(cell.data)
        parts = cell.data.values() if whole else self._unordered(current, cell)
        return any(_is_there(part) and (ttl is None or ttl.visible(part, now_ms)) for part in parts)

    def _unordered(self, current: CanonicalKey, cell: C) -> Iterator[Any]:
        """What is cached or stored of a large collection: first what costs nothing."""
        yield from map(cell.data.get, cell.dirty)
        for _, stored in self._stream(current, self._changes(cell)):
            yield stored

    def _is_whole(self, current: CanonicalKey, cell: C) -> bool:
        """Whether the cell has all there is; a small collection is taken in whole."""
        if cell.complete or cell.large:
            return cell.complete
        changes = self._changes(cell)
        slices = self._slices(current, changes)
        if cell.complete:
            return True  # enough keys were missed for the whole cache to be completed
        taken: list[Slice] = []
        parts = size = 0
        for slice in slices:
            taken.append(slice)
            parts += len(slice[0])
            size += sum(map(len, slice[1]))
            if parts > WHOLE_PARTS or size > WHOLE_BYTES:
                cell.large = True
                return False
        cell.data = dict(self._named(taken))
        cell.complete = cell.ordered = True
        self._count(cell)
        return True

    def _stream(self, current: CanonicalKey, changes: Slice) -> Iterator[Part]:
        return self._named(self._slices(current, changes))

    def _slices(self, current: CanonicalKey, changes: Slice) -> Iterator[Slice]:
        """What is committed, with changes in their place."""
        slices = self._core.entries(current, self.id)
        return without_tombstones(merged((slices, [changes]))) if changes[0] else slices

    def _named(self, slices: Iterable[Slice]) -> Iterator[Part]:
        for rests, values in slices:
            yield from zip(map(self._name_of, rests), values, strict=True)

    def _changes(self, cell: C) -> Slice:
        """What the epoch has changed so far, in order, as it is stored."""
        stored = {self._rest_of(name): encode_cached(cell.data.get(name)) for name in cell.dirty}
        rests = sorted(stored)
        return rests, [stored[rest] for rest in rests]

    def _lend(self, cell: C) -> dict[CanonicalKey, Any]:
        """The data of a complete cell, in order; it stays as it is."""
        data = cell.data
        if not cell.ordered:
            if len(data) > 1:
                data = cell.data = {name: data[name] for name in in_order(data)}
            cell.ordered = True
        cell.lent = self._core.epoch
        return data

    def live(self, current: CanonicalKey, name: CanonicalKey, stored: bytes, ttl: Ttl) -> bytes | None:
        """The bytes of a part if they may be seen; what has expired is deleted, what is read is refreshed."""
        core = self._core
        if ttl.expired(stored, core.now_ms):
            if self._is_newest(current, name, stored):
                self.remove_part(current, name)
            return stored[STAMP_BYTES:] if ttl.visible(stored, core.now_ms) else None
        value = stored[STAMP_BYTES:]
        if (
            ttl.refresh_on_read
            and stored[:STAMP_BYTES] != core.ttl_stamp
            and self._is_newest(current, name, stored)
        ):
            self._set(current, name, core.ttl_stamp + value)
        return value

    def _is_newest(self, current: CanonicalKey, name: CanonicalKey, stored: bytes) -> bool:
        """Whether a part still is what was read: a reader may lag behind the changes."""
        cell = self._cells.get(current)
        if cell is None or not (cell.complete or name in cell.dirty):
            return True
        return bool(cell.data.get(name) == stored)

    # ---- changing

    def clear(self) -> None:
        current = self._operator.key
        cell = self._known(current)
        if cell is None:
            return
        if cell.complete:
            cell.dirty.update(cell.data)
        else:  # what is committed gets its tombstones at the end of the epoch, unread
            cell.cleared = cell.complete = True
            cell.dirty.clear()
        cell.data = {}
        cell.ordered = True
        cell.lent = -1
        if cell.cleared or cell.dirty:
            self._dirty[current] = cell

    def _set(self, current: CanonicalKey, name: CanonicalKey, cached: Any) -> None:
        cell = self._cells.get(current) or self._new_cell(current)
        data = cell.own(self._core.epoch)
        if name not in data:
            cell.ordered = False
        data[name] = cached
        cell.dirty.add(name)
        self._dirty[current] = cell

    def remove_part(self, current: CanonicalKey, name: CanonicalKey) -> None:
        cell = self._known(current)
        if cell is None or (cell.complete and name not in cell.data):
            return
        data = cell.own(self._core.epoch)
        if cell.complete:
            del data[name]
        else:
            data[name] = TOMBSTONE
        cell.dirty.add(name)
        self._dirty[current] = cell

    def _known(self, current: CanonicalKey) -> C | None:
        """The cell of a key; None: it is certain that there is nothing."""
        cell = self._cells.get(current)
        if cell is None and not self._core.complete:
            return self._new_cell(current)
        return cell

    def _new_cell(self, key: CanonicalKey) -> C:
        cell = self._cells[key] = self._make_cell(self._core.complete)
        return cell

    def _count(self, cell: C) -> None:
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
        if not (cell.complete or self._keeps_parts):
            return
        name = self._name_of(key[end + len(self.id) :])
        if value != TOMBSTONE or not cell.complete:
            cell.data[name] = value
            cell.ordered = False
        else:
            cell.data.pop(name, None)
        self._count(cell)
        self._drop_if_empty(current, cell)

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        known = {key for key, cell in self._cells.items() if cell.complete}
        cut = len(self.id)
        for key, end, value in entries:
            current = canonical_of(key_data(key, end))
            if current not in known:
                cell = self._cells.get(current) or self._new_cell(current)
                cell.data.setdefault(self._name_of(key[end + cut :]), value)
        for current, cell in self._cells.items():
            if current not in known:
                cell.data = {name: cached for name, cached in cell.data.items() if _is_there(cached)}
                cell.complete = True
                cell.ordered = False
                self._count(cell)

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        self._core.group_keys.meet(self._dirty)
        for key, cell in self._dirty.items():
            head = self._core.group_keys[key] + self.id
            changed = [head + self._rest_of(name) for name in cell.dirty]
            if cell.cleared:
                self._collect_cleared(head, set(changed), keys, values)
                cell.cleared = False
            keys += changed
            values += [encode_cached(cell.data.get(name)) for name in cell.dirty]
            cell.dirty.clear()
            if cell.complete or self._keeps_parts:
                self._count(cell)
                self._drop_if_empty(key, cell)
            else:
                self._forget(key)
        self._dirty.clear()

    def _collect_cleared(self, head: bytes, kept: set[bytes], keys: list[bytes], values: list[bytes]) -> None:
        for found, _ in self._core.overlay.stream(head):
            gone = [key for key in found if key not in kept]
            keys += gone
            values += [TOMBSTONE] * len(gone)

    def _drop_if_empty(self, key: CanonicalKey, cell: C) -> None:
        if self._core.complete and not cell.data:
            self._cells.pop(key, None)

    def clean(self, changed: int) -> None:
        self._round.go(changed)

    def _look_for_gone(self) -> Iterator[int]:
        core, ttl = self._core, self.ttl
        assert ttl is not None
        keys = list(self._cells)
        for key in keys:
            cell = self._cells.get(key)
            names = list(cell.data) if cell is not None else []
            for name in names:
                if cell is None or self._cells.get(key) is not cell:
                    break  # forgotten meanwhile
                stored = cell.data.get(name)
                if stored is not None and stored != TOMBSTONE and ttl.gone(stored, core.now_ms):
                    del cell.data[name]
                    self._count(cell)
                    self._drop_if_empty(key, cell)
                yield 1
            yield 1
        shrink(self._cells, len(keys))

    def drop(self) -> None:
        self._cells.clear()
        self._dirty.clear()
        self._size = 0
        self._round.reset()

    def drop_key(self, key: CanonicalKey) -> None:
        if key in self._cells:
            self._forget(key)
        self._dirty.pop(key, None)

    def changed(self) -> int:
        return sum(len(cell.dirty) for cell in self._dirty.values())

    def cached(self) -> int:
        return len(self._cells) + self._size

    def evict(self, share: float) -> None:
        for key in list(islice(self._cells, int(len(self._cells) * share) + 1)):
            self._forget(key)

    def _forget(self, key: CanonicalKey) -> None:
        self._size -= self._cells.pop(key).counted

    def cached_keys(self) -> set[CanonicalKey]:
        return {key for key, cell in self._cells.items() if cell.has_parts()}


def _no_parts() -> Iterable[Part]:
    return ()
