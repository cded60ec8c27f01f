"""What a process keeps of a subtask's state: the columns of its operators, with the committed entries and the
changes of the running epoch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from firesteel.state._column import (
    COLUMN_ID_BYTES,
    OPERATOR_PREFIX,
    CanonicalKey,
    Column,
    canonical_of,
    column_of,
    in_order,
    key_data,
    key_end,
)
from firesteel.state._core import StateCore
from firesteel.state._merge import Slice
from firesteel.state._migration import Migrations
from firesteel.state._stored_states import Inherited, StoredStates
from firesteel.state._ttl import Expiry
from firesteel.state._value_codec import TOMBSTONE
from firesteel.state._value_state import ValueColumn
from firesteel.state.catalog import CatalogEntry
from firesteel.state.keys import split_canonical
from firesteel.state.kinds import Place, kind_of
from firesteel.state.line import OPERATOR_GROUP


class Caches:
    """The columns of a subtask. What they do not hold is read through ``core.overlay``.

    :param key_groups: the key groups that the subtask owns.
    :param states: what is stored about the states, for lines that are a part of others; None: the line says.
    """

    def __init__(
        self, core: StateCore, key_groups: range, states: Mapping[bytes, CatalogEntry] | None
    ) -> None:
        self._core = core
        self._key_groups = key_groups
        self._columns: dict[bytes, Column] = {}
        self._value_caches: dict[bytes, dict[CanonicalKey, Any]] = {}  # of the value columns
        self._stored = StoredStates(states)
        self._unclaimed: dict[bytes, dict[bytes, bytes]] = {}  # of states nobody has asked for yet
        core.complete_cache = self._complete

    # ---- loading

    def start_over(self) -> None:
        """Drop everything, and learn which states there are before anything of them is read: their types may
        be others now."""
        self.drop()
        self._unclaimed.clear()
        core = self._core
        core.overlay.will_open()
        core.overlay.migrate(Migrations({}))
        self._stored.start_over(core.overlay.scan_all(OPERATOR_GROUP, OPERATOR_GROUP))
        for column in self._columns.values():
            self._stored.agree(column, core.now_ms)
        core.overlay.migrate(self._stored.migrations)

    def load_operators(self) -> None:
        """What belongs to operators, and to no key."""
        self._load_groups(OPERATOR_GROUP, OPERATOR_GROUP)

    def load_all(self) -> None:
        """What belongs to keys, all of it."""
        self._load_groups(self._key_groups.start, self._key_groups.stop - 1)

    def load_beside_keys(self) -> None:
        """What belongs to key groups, not to keys: timers, windows by time."""
        if any(kind_of(stored).is_loaded_whole for stored in self._stored.entries):
            for group in self._key_groups:
                entries = self._core.overlay.scan(group.to_bytes(2, "big") + b"\0")
                self.load(entries, entries.values())

    def load_inherited(self) -> None:
        """What is stored of states that were of another kind."""
        for name, left in self._stored.inherited.items():
            self._read_inherited(name, left)

    def _load_groups(self, first: int, last: int) -> None:
        entries = self._core.overlay.scan_all(first, last)
        self.load(entries, entries.values())

    def _complete(self) -> None:
        """So many keys were missed that reading the whole state is cheaper than reading on one by one."""
        core = self._core
        core.miss_limit = sys.maxsize
        of_column: dict[bytes, list[tuple[bytes, int, bytes]]] = {name: [] for name in self._columns}
        entries = core.overlay.scan_all(self._key_groups.start, self._key_groups.stop - 1)
        for key, value in entries.items():
            length = key[2]
            if length:
                end = 3 + length if length != 0xFF else key_end(key)
                name = key[end : end + COLUMN_ID_BYTES]
                if name in of_column:
                    of_column[name].append((key, end, value))
                else:
                    self._unclaimed.setdefault(name, {})[key] = value
        for name, found in of_column.items():
            self._columns[name].absorb(found)
        core.complete = True

    def load(self, keys: Iterable[bytes], values: Iterable[bytes]) -> None:  # hot
        """Take committed entries in. What ``ValueColumn.load`` does is done in place here."""
        columns = self._columns
        value_caches = self._value_caches
        complete = self._core.complete
        for key, value in zip(keys, values, strict=True):
            length = key[2]
            if not 0 < length < 0xFF:
                self._load_other(key, value)
                continue
            end = 3 + length
            cache = value_caches.get(key[end:])
            if cache is None:
                column = columns.get(key[end : end + COLUMN_ID_BYTES])
                if column is not None:
                    column.load(key, end, value)
                else:
                    self._load_other(key, value)
                continue
            tag = key[3]
            name: CanonicalKey
            if tag == 0x73:
                name = key[4:end].decode("utf-8", "surrogatepass")
            elif tag == 0x69 and 0 < key[4] < 0xFF:
                name = int.from_bytes(key[5:end], "big", signed=True)
            else:
                name = canonical_of(key[3:end])
            if complete and value == TOMBSTONE:
                cache.pop(name, None)
            else:
                cache[name] = value

    def _load_other(self, key: bytes, value: bytes) -> None:
        if key[2]:
            end = key_end(key)
            name = key[end : end + COLUMN_ID_BYTES]
        elif self._stored.load(key, value):
            return
        else:
            end = 4 if key.startswith(OPERATOR_PREFIX) else 3
            name = key[end : end + COLUMN_ID_BYTES]
        column = self._columns.get(name)
        if column is not None:
            column.load(key, end, value)
        elif self._core.complete or not key[2]:
            unclaimed = self._unclaimed.setdefault(name, {})
            if value == TOMBSTONE:
                unclaimed.pop(key, None)
            else:
                unclaimed[key] = value

    # ---- changes, size

    def take_changes(self) -> Callable[[], dict[bytes, bytes]]:
        """Regard what the epoch has changed as committed, and return what makes its entries, which may be
        called once, in any thread."""
        keys: list[bytes] = []
        values: list[bytes] = []
        late: list[Iterator[Slice]] = []
        for column in self._columns.values():
            changed = column.changed()
            slices = column.late()
            if slices is None:
                before = len(keys)
                column.collect(keys, values)
                changed = len(keys) - before
            elif changed:
                late.append(slices)
            column.clean(changed)
            if changed:
                self._stored.add(column)
        self._stored.collect(keys, values)
        return partial(_all_entries, keys, values, late)

    @property
    def changed(self) -> int:
        """About how many entries the running epoch has changed."""
        return sum(column.changed() for column in self._columns.values())

    @property
    def size(self) -> int:
        """About how many entries are held."""
        return sum(column.cached() for column in self._columns.values())

    def evict(self, share: float) -> None:
        """Forget about this share of the unchanged entries; what is left is not all there is."""
        self._core.complete = False
        for column in self._columns.values():
            column.evict(share)
        self._unclaimed = {name: _beside_keys(entries) for name, entries in self._unclaimed.items()}

    def drop(self) -> None:
        for column in self._columns.values():
            column.drop()

    def drop_key(self, key: CanonicalKey) -> None:
        for column in self._columns.values():
            column.drop_key(key)

    @property
    def expiry(self) -> Expiry:
        return Expiry(self._columns.values(), self._core.now_ms)

    # ---- states of operators

    @property
    def catalog(self) -> tuple[CatalogEntry, ...]:
        """The states that the committed state holds."""
        return tuple(self._stored.entries)

    def add(self, column: Column) -> None:
        """A state is used for the first time here."""
        name = column.id
        unclaimed = self._unclaimed.pop(name, {})
        if self._stored.agree(column, self._core.now_ms):
            migrations = self._stored.migrations
            self._core.overlay.migrate(migrations)
            recode = migrations.last_step(name)
            unclaimed = {key: recode(value) for key, value in unclaimed.items()}
        self._columns[name] = column
        if isinstance(column, ValueColumn):
            self._value_caches[name] = column.cache
        for key, value in unclaimed.items():
            if value != TOMBSTONE:
                column.load(key, key_end(key) if key[2] else 3, value)
        left = self._stored.inherited.get(name)
        if left is not None:
            self._read_inherited(name, left)

    def _read_inherited(self, column: bytes, left: Inherited) -> None:
        beside_keys = kind_of(left.stored).place is Place.TIME
        for group in self._key_groups:
            for key, value in self._core.overlay.scan_all(group, group).items():
                if beside_keys is not bool(key[2]) and column_of(key) == column:
                    left.entries[key] = value

    def inherited(self, column: Column) -> Inherited | None:
        """What is stored of a state that was of another kind until this epoch."""
        return self._stored.inherited.get(column.id)

    def keys_of(self, column: Column, is_there: Callable[[CanonicalKey], bool]) -> list[CanonicalKey]:
        """All keys that have state in a column, this epoch's changes included, in a fixed order."""
        core = self._core
        keys = column.cached_keys()
        if not core.complete:
            for key in core.overlay.scan_all(self._key_groups.start, self._key_groups.stop - 1):
                if key[2] and key.startswith(column.id, key_end(key)):
                    keys.add(canonical_of(key_data(key, key_end(key))))
        if not core.complete or column.ttl is not None:
            keys = set(filter(is_there, keys))
        return in_order(key for key in keys if split_canonical(key)[1] is None)


def _all_entries(
    keys: list[bytes], values: list[bytes], late: Iterable[Iterable[Slice]]
) -> dict[bytes, bytes]:
    entries = dict(zip(keys, values, strict=True))
    for slices in late:
        for some_keys, some_values in slices:
            entries.update(zip(some_keys, some_values, strict=True))
    return entries


def _beside_keys(entries: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return {key: value for key, value in entries.items() if not key[2]}
