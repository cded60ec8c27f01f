"""Small numbers for each pair of a key and a value, in arrays: what DISTINCT has seen.

Pairs have slots (``pair_table``), so what a batch does to many of them is some operations of NumPy. A pair is
there while one of its numbers is not 0. Entries are those of a dictionary for each key (``map_state``): the
value is in the key of the entry, and each pair is an entry of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from firesteel.sql.operators.map_state import MAPS
from firesteel.sql.operators.pair_table import PairKeys, PairTable
from firesteel.sql.operators.pair_values import Values, ValuesForm
from firesteel.sql.operators.row_state import ttl_of
from firesteel.state._ttl import Ttl, written_ms
from firesteel.state.column_keys import CanonicalKeys, identity_of_canonical
from firesteel.state.columns import TOMBSTONE, CanonicalKey, Column, canonical_of, decode_value, key_data

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState

__all__ = ["PairsColumn", "pairs_state"]

Array = np.ndarray[Any, Any]
#: Key, where its typed key ends, value.
_Entry = tuple[bytes, int, bytes]
_pack: Final = msgspec.msgpack.Encoder().encode
#: How many entries are collected before they are taken in together.
_TOGETHER: Final = 1 << 16


class PairsColumn(Column):
    """Numbers by pair.

    A pair is told by its *owner*, the number of a key. A key that is cleared loses its number: its pairs have
    an owner that nobody can ask for, and are found for all such owners together, when the epoch is cut or
    slots run out.

    :param form: of the values.
    :param width: how many numbers a pair has; None: a single one, stored as it is.
    :param dtype: of the numbers.
    """

    kind = MAPS.name

    def __init__(
        self,
        core: StateCore,
        uid: str,
        name: str,
        form: ValuesForm,
        width: int | None,
        dtype: str = "int64",
        ttl: Ttl | None = None,
    ) -> None:
        super().__init__(core, uid, name, ttl)
        self._form = form
        self._width = width
        self._dtype = dtype
        self._reset()

    def _reset(self) -> None:
        self._coming: list[_Entry] = []  # committed, not taken in yet
        self._owner_of: dict[Any, int] = {}  # by the identity of a key
        self._names: list[Any] = []  # by owner; None: the number is free
        self._keys: list[CanonicalKey] = []
        self._free: list[int] = []
        #: By owner: whether all that is committed of the key is here, as after the cache is complete.
        self._whole = np.zeros(0, bool)
        self._cleared: list[int] = []  # owners whose pairs are to be deleted
        self._dropped: list[int] = []  # those whose pairs are to be forgotten
        self._tombstones: list[bytes] = []
        self._loses = False  # some key may have no pair any more
        self._table = PairTable(self._form.has_objects)
        self._numbers, self._dirty, self._stored, self._written = self._columns(self._table.capacity)
        self._changes = 0

    def _columns(self, capacity: int) -> tuple[Array, Array, Array, Array]:
        """Over slots: the numbers, whether they changed in this epoch, whether they are committed, and when
        they were written."""
        return (
            np.zeros((capacity, 1 if self._width is None else self._width), self._dtype),
            np.zeros(capacity, bool),
            np.zeros(capacity, bool),
            np.zeros(capacity if self.ttl is not None else 0, np.int64),
        )

    # ---- the operator's side

    def find(
        self, names: Sequence[Any], keys: Sequence[CanonicalKey], of: Array, values: Values
    ) -> Array:  # hot
        """The slots of pairs, each of which is asked for once; good until the next call of anything but
        ``numbers`` and ``put``.

        :param names: identities of keys, each of which has a pair. :param keys: their canonical forms.
        :param of: for each of *values* which key it belongs to.
        """
        self._settle()
        places = 2 * self._owners_of(names, keys)[of]
        if values.nulls is not None:
            places += values.nulls
        wanted = PairKeys(places.astype(np.int32), values.words, values.objects)
        if not self._core.complete:
            self._fetch(wanted)
        self._make_room(len(wanted))
        slots = self._table.find(wanted)
        missing = np.flatnonzero(slots < 0)
        if len(missing):
            slots[missing] = made = self._table.add(wanted.take(missing))
            self._dirty[made] = True  # if nothing is put, they go when the epoch is cut
            self._changes += len(made)
        if self.ttl is not None:
            self._expire(slots)
        return slots

    def numbers(self, slots: Array) -> Array:
        """The numbers of each pair, a row of them; 0 where there is none."""
        found: Array = self._numbers[slots].astype(np.int64, copy=False)
        return found

    def put(self, slots: Array, numbers: Array) -> None:
        """Set the numbers of pairs; a pair of zeros is deleted."""
        self._numbers[slots] = numbers
        self._changes += len(slots) - int(np.count_nonzero(self._dirty[slots]))
        self._dirty[slots] = True
        if self.ttl is not None:
            self._written[slots] = self._core.now_ms

    def clear(self, name: Any, key: CanonicalKey) -> None:
        """Delete all pairs of a key."""
        self._settle()
        core = self._core
        owner = self._owner_of.get(name)
        if not core.complete and (owner is None or not self._whole[owner]):
            rests = list(core.fetch_all(key, self.id))  # which may complete the cache
            head = core.group_keys[key] + self.id
            self._tombstones += [head + rest for rest in rests]
            self._changes += len(rests)
        owner = self._owner_of.pop(name, None)
        if owner is not None:
            self._cleared.append(owner)
            self._changes += 1
        if not core.complete:
            self._loses = True  # the owner may stay without pairs
            self._new_owner(name, key, whole=True)  # what is committed counts no more

    def _expire(self, slots: Array) -> None:
        assert self.ttl is not None
        is_there = self._numbers[slots].any(axis=1)
        gone = slots[is_there & (self._written[slots] + self.ttl.ms <= self._core.now_ms)]
        if len(gone):
            self.put(gone, np.zeros((), np.int64))

    # ---- keys

    def _owners_of(self, names: Sequence[Any], keys: Sequence[CanonicalKey]) -> Array:
        get = self._owner_of.get
        owners = np.array([get(name, -1) for name in names], np.int64)
        missing = np.flatnonzero(owners < 0)
        if len(missing):
            forms = (
                keys.made(missing) if isinstance(keys, CanonicalKeys) else [keys[i] for i in missing.tolist()]
            )
            for at, key in zip(missing.tolist(), forms, strict=True):
                name = names[at]
                owner = get(name)
                if owner is None:
                    owner = self._new_owner(name, key, self._core.complete)
                owners[at] = owner
        return owners

    def _new_owner(self, name: Any, key: CanonicalKey, whole: bool) -> int:
        if self._free:
            owner = self._free.pop()
            self._names[owner], self._keys[owner] = name, key
        else:
            owner = len(self._names)
            self._names.append(name)
            self._keys.append(key)
            if owner == len(self._whole):
                self._whole = np.append(self._whole, np.zeros(owner + 16, bool))
        self._whole[owner] = whole
        self._owner_of[name] = owner
        return owner

    def _forget_keys(self) -> None:
        """Give up the numbers of keys that have no pair."""
        owners = self._table.keys.take(self._table.slots()).owners
        counts = np.bincount(owners, minlength=len(self._names))
        for owner in np.flatnonzero(counts == 0).tolist():
            name = self._names[owner]
            if name is not None and self._owner_of.get(name) == owner:
                del self._owner_of[name]
                self._give_up(owner)

    def _give_up(self, owner: int) -> None:
        self._names[owner] = None
        self._keys[owner] = 0
        self._free.append(owner)

    # ---- slots

    def _make_room(self, count: int) -> None:
        """Make sure that *count* pairs can be added. Slots are others after that."""
        if not self._table.has_room(count):
            self._bury()
            self._rebuild(count)

    def _rebuild(self, count: int = 0) -> None:
        kept = self._table.rebuild(count)
        old = (self._numbers, self._dirty, self._stored, self._written)
        new = self._columns(self._table.capacity)
        for before, after in zip(old, new, strict=True):
            if len(after):
                after[: len(kept)] = before[kept]
        self._numbers, self._dirty, self._stored, self._written = new

    def _tidy(self) -> None:
        """After losses: forget keys without pairs, and give memory back where most of it is holes."""
        if self._loses:
            self._loses = False
            self._forget_keys()
        if 2 * self._table.holes > self._table.used:
            self._rebuild()

    def _release(self, slots: Array) -> None:
        if len(slots):
            self._loses = True
            self._table.release(slots)
            self._dirty[slots] = False

    def _bury(self) -> None:
        """Let go of the pairs of keys that are cleared or dropped."""
        if not self._cleared and not self._dropped:
            return
        slots = self._table.slots()
        owners = self._table.keys.owners[slots]
        is_gone = np.zeros(len(self._names), bool)
        is_gone[self._cleared] = True
        committed = slots[is_gone[owners] & self._stored[slots]]
        self._tombstones += self._entry_keys(committed)
        is_gone[self._dropped] = True
        self._release(slots[is_gone[owners]])
        for owner in self._cleared + self._dropped:
            self._give_up(owner)
        self._cleared, self._dropped = [], []

    # ---- entries

    def _pairs_of(self, entries: Iterable[_Entry], make: bool) -> tuple[PairKeys, list[bytes]]:
        """The pairs of entries, and what is stored of them; without keys that nobody has asked for, unless
        they are to be made."""
        cut = len(self.id)
        owners: list[int] = []
        inners: list[bytes] = []
        stored: list[bytes] = []
        head, owner = b"", -1
        for key, end, value in entries:
            if len(head) != end or not key.startswith(head):
                head = key[:end]
                owner = self._owner(canonical_of(key_data(key, end)), make)
            if owner >= 0:
                owners.append(owner)
                inners.append(key[end + cut :])
                stored.append(value)
        values = self._form.unpacked(inners)
        places = 2 * np.array(owners, np.int64)
        if values.nulls is not None:
            places += values.nulls
        return PairKeys(places.astype(np.int32), values.words, values.objects), stored

    def _owner(self, key: CanonicalKey, make: bool) -> int:
        name = identity_of_canonical(key)
        owner = self._owner_of.get(name)
        if owner is not None:
            return owner
        return self._new_owner(name, key, self._core.complete) if make else -1

    def _settle(self) -> None:
        """Take in what was loaded, all of it at once: nothing of it is older than what is here."""
        if not self._coming:
            return
        latest = {entry[0]: entry for entry in self._coming}
        self._coming = []
        gone = [entry for entry in latest.values() if entry[2] == TOMBSTONE]
        if gone:
            slots = self._table.find(self._pairs_of(gone, make=False)[0])
            self._release(slots[slots >= 0])
            for entry in gone:
                del latest[entry[0]]
        pairs, stored = self._pairs_of(latest.values(), make=self._core.complete)
        self._make_room(len(pairs))
        slots = self._table.find(pairs)
        missing = np.flatnonzero(slots < 0)
        slots[missing] = self._table.add(pairs.take(missing))
        self._put_stored(slots, stored)
        self._tidy()

    def _fetch(self, wanted: PairKeys) -> None:
        """Take in what is committed of pairs that are not here."""
        missing = np.flatnonzero(self._table.find(wanted) < 0)
        asked = wanted.take(missing[~self._whole[wanted.owners[missing]]])
        found: list[int] = []
        stored: list[bytes] = []
        owners = asked.owners.tolist()
        for at, (owner, inner) in enumerate(zip(owners, self._packed(asked), strict=True)):
            value = self._core.fetch(self._keys[owner], self.id + inner)
            if self._core.complete:
                return  # all that is committed was taken in
            if value is not None and value != TOMBSTONE:
                found.append(at)
                stored.append(value)
        if found:
            self._make_room(len(found))
            self._put_stored(self._table.add(asked.take(np.array(found))), stored)

    def _put_stored(self, slots: Array, stored: list[bytes]) -> None:
        if self.ttl is not None:
            self._written[slots] = list(map(written_ms, stored))
            stored = [value[8:] for value in stored]
        numbers = np.array(list(map(decode_value, stored)), self._dtype)
        self._numbers[slots] = numbers.reshape(len(slots), self._numbers.shape[1])
        self._stored[slots] = True

    def _packed(self, pairs: PairKeys) -> list[bytes]:
        return self._form.packed(Values(pairs.words, (pairs.places & 1).astype(bool), pairs.objects))

    def _entry_keys(self, slots: Array) -> list[bytes]:
        pairs = self._table.keys.take(slots)
        owners = pairs.owners.tolist()
        heads = self._heads(set(owners))
        return [heads[owner] + inner for owner, inner in zip(owners, self._packed(pairs), strict=True)]

    def _heads(self, owners: Collection[int]) -> dict[int, bytes]:
        """The beginning of entries, by owner."""
        keys, group_keys = self._keys, self._core.group_keys
        group_keys.meet([keys[owner] for owner in owners])
        return {owner: group_keys[keys[owner]] + self.id for owner in owners}

    def _in_order(self, slots: Array) -> Array:
        """Slots about in the order of their entries, which are sorted when they are written: that is faster
        then."""
        pairs = self._table.keys.take(slots)
        heads = self._heads(set(pairs.owners.tolist()))
        ranks = np.zeros(len(self._keys), np.int64)
        ranks[sorted(heads, key=heads.__getitem__)] = np.arange(len(heads))
        return slots[np.lexsort((pairs.words, ranks[pairs.owners]))]

    def _bodies(self, slots: Array) -> list[bytes]:
        """What is stored of pairs."""
        numbers = self._numbers[slots]
        rows = numbers[:, 0].tolist() if self._width is None else map(tuple, numbers.tolist())
        bodies = list(map(_pack, rows))
        if self.ttl is None:
            return bodies
        stamps = self._written[slots].tolist()
        return [
            stamp.to_bytes(8, "big", signed=True) + body for stamp, body in zip(stamps, bodies, strict=True)
        ]

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        self._coming.append((key, end, value))
        if len(self._coming) >= _TOGETHER:
            self._settle()

    def absorb(self, entries: list[_Entry]) -> None:
        self._settle()
        pairs, stored = self._pairs_of(entries, make=True)
        self._make_room(len(pairs))
        unknown = (self._table.find(pairs) < 0) & ~self._whole[pairs.owners]
        taken = np.flatnonzero(unknown)
        self._put_stored(self._table.add(pairs.take(taken)), [stored[i] for i in taken.tolist()])
        self._whole[:] = True

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:  # hot
        if self._changes:
            self._collect(keys, values)
        self._tidy()

    def _collect(self, keys: list[bytes], values: list[bytes]) -> None:
        self._bury()
        keys += self._tombstones
        values += [TOMBSTONE] * len(self._tombstones)
        self._tombstones = []
        changed = np.flatnonzero(self._dirty[: self._table.used])
        is_there = self._numbers[changed].any(axis=1)
        live, dead = self._in_order(changed[is_there]), changed[~is_there]
        keys += self._entry_keys(live)  # behind tombstones of the same pairs, which were cleared before
        values += self._bodies(live)
        deleted = dead[self._stored[dead]]
        keys += self._entry_keys(deleted)
        values += [TOMBSTONE] * len(deleted)
        self._stored[live] = True
        self._dirty[changed] = False
        self._changes = 0
        self._release(dead)

    def clean(self, changed: int) -> None:
        if self.ttl is None:
            return
        self._settle()
        slots = self._table.slots()
        gone = slots[self._written[slots] + self.ttl.gone_ms <= self._core.now_ms]
        self._release(gone)
        self._tidy()

    def drop(self) -> None:
        self._reset()

    def drop_key(self, key: CanonicalKey) -> None:
        self._settle()
        owner = self._owner_of.pop(identity_of_canonical(key), None)
        if owner is not None:
            self._dropped.append(owner)

    def changed(self) -> int:
        return self._changes

    def cached(self) -> int:
        return len(self._table) + len(self._owner_of) + len(self._coming)

    def evict(self, share: float) -> None:
        self._settle()
        slots = self._table.slots()
        gone = slots[: int(len(slots) * share) + 1]  # the oldest
        self._whole[self._table.keys.owners[gone]] = False
        self._release(gone)
        self._tidy()

    def cached_keys(self) -> set[CanonicalKey]:
        self._settle()
        slots = self._table.slots()
        there = slots[self._numbers[slots].any(axis=1)]
        is_gone = set(self._cleared) | set(self._dropped)
        owners = set(self._table.keys.owners[there].tolist())
        return {self._keys[owner] for owner in owners - is_gone}


def pairs_state(
    state: OperatorState,
    name: str,
    form: ValuesForm,
    width: int | None,
    dtype: str = "int64",
    ttl_ms: int = 0,
) -> PairsColumn:
    """The pairs of an operator under a name; parameters as ``PairsColumn`` has them."""
    ttl = ttl_of(ttl_ms)
    return state.engine_state(
        name, MAPS, lambda core, uid, name: PairsColumn(core, uid, name, form, width, dtype, ttl), ttl
    )
