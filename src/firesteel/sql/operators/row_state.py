"""One row of plain fields for each key, in arrays: the accumulators of aggregates and their like.

A key has a *slot*, and each field is an array over the slots, so that what a batch does to many keys is one
operation of NumPy. An entry of a key is the tuple of its fields, as a value state has it.
``state.column_keys`` says what keys are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np

from firesteel.state._ttl import Ttl, written_ms
from firesteel.state._value_codec import encode_value
from firesteel.state.column_keys import canonical_column_keys, identity_of_canonical
from firesteel.state.columns import (
    TOMBSTONE,
    CanonicalKey,
    Column,
    canonical_of,
    decode_value,
    key_data,
    recoding,
    rows_by_key,
    single,
)
from firesteel.state.kinds import KINDS, StateKind

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState

__all__ = ["ROWS", "Field", "RowsColumn", "rows_state", "ttl_of"]

Array = np.ndarray[Any, Any]
_pack: Final = msgspec.msgpack.Encoder().encode
_FIRST_SLOTS: Final = 256
_OBJECT: Final = np.dtype(object)


class Field(NamedTuple):
    """A field of the rows: its NumPy type and what it is for a key that has no row.

    :ivar packs: whether the objects of an ``object`` field are such that msgpack gives them back as they are.
    :ivar encode: what is stored of an object that goes on changing. :ivar decode: the inverse.
    """

    dtype: str
    initial: Any = 0
    packs: bool = False
    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None


def ttl_of(ttl_ms: int) -> Ttl | None:
    """The time to live of state in table programs: since the last write, never seen after (Flink: the default
    of ``StateTtlConfig``)."""
    return Ttl(ms=ttl_ms, gone_ms=ttl_ms) if ttl_ms > 0 else None


class RowsColumn(Column):
    """Rows by key.

    :ivar fields: the arrays, over slots.
    :ivar alive: which slots hold a row. A key without one keeps its slot until the epoch is cut.
    """

    kind = "table rows"

    def __init__(
        self,
        core: StateCore,
        uid: str,
        name: str,
        fields: Sequence[Field],
        shape: str = "",
        ttl: Ttl | None = None,
    ) -> None:
        super().__init__(core, uid, name, ttl)
        self.type = json.dumps(["OTHER", shape or ", ".join(f.dtype for f in fields)])
        self._of = tuple(fields)
        #: Counts how often what is held may have changed by other hands than the operator's.
        self.generation = 0
        self._plain = all(f.packs or np.dtype(f.dtype) != _OBJECT for f in fields)
        self._reset()

    def _reset(self) -> None:
        self.generation += 1
        self.slots: dict[Any, int] = {}
        self._encoded: dict[Any, tuple[CanonicalKey, bytes]] = {}  # what nobody has asked for yet
        self._names: list[Any] = []  # by slot
        #: The same; None: not made yet. Many keys of windows come and go within an epoch, and need none.
        self._keys: list[CanonicalKey | None] = []
        self._free: list[int] = []
        capacity = _FIRST_SLOTS
        self.fields: list[Array] = [np.full(capacity, f.initial, f.dtype) for f in self._of]
        self.alive = np.zeros(capacity, bool)
        self._dirty = np.zeros(capacity, bool)
        self._stored = np.zeros(capacity, bool)
        self._written = np.zeros(capacity, np.int64)
        self._codes = np.zeros(capacity, np.uint32)  # the hash codes of keys that are not made yet
        self._changes = 0

    # ---- the operator's side

    def find(self, identities: list[Any], codes: Array) -> Array:  # hot
        """The slots of keys, new ones where there were none; *codes* are the hash codes of the keys."""
        get = self.slots.get
        slots = np.array([get(name, -1) for name in identities], np.int64)
        missing = np.flatnonzero(slots < 0)
        if len(missing):
            names = [identities[i] for i in missing.tolist()]
            keys: list[Any] = [None] * len(names)
            if not self._core.complete:  # they are looked for by their keys
                keys = canonical_column_keys(names, codes[missing])
                self._core.group_keys.learn(keys, codes[missing])
            slots[missing] = made = self._made(names, keys)
            self._codes[made] = codes[missing]
        if self.ttl is not None and len(slots):
            self._expire(slots)
        return slots

    def _made(self, names: list[Any], keys: list[Any]) -> list[int]:
        """Slots for keys that have none. *keys* are there where the cache is not complete."""
        slots = self._take_slots(len(names))
        entries = self._entries_of(names, keys)
        for name, key, slot in zip(names, keys, slots, strict=True):
            self.slots[name] = slot
            self._names[slot] = name
            self._keys[slot] = key
        self._put_initial(slots)
        found = [(slot, entry) for slot, entry in zip(slots, entries, strict=True) if entry is not None]
        if found:
            self._decode([slot for slot, _ in found], [entry for _, entry in found])
        return slots

    def _canonical(self, slots: list[int]) -> list[Any]:
        """The canonical keys of slots."""
        keys, names = self._keys, self._names
        missing = [slot for slot in slots if keys[slot] is None]
        if missing:
            codes = self._codes[missing]
            made = canonical_column_keys([names[slot] for slot in missing], codes)
            self._core.group_keys.learn(made, codes)
            for slot, key in zip(missing, made, strict=True):
                keys[slot] = key
        return [keys[slot] for slot in slots]

    def _entries_of(self, names: list[Any], keys: list[Any]) -> list[bytes | None]:
        """What is committed of keys; those that are held encoded take their place in *keys*."""
        core, column, encoded = self._core, self.id, self._encoded
        entries: list[bytes | None] = [None] * len(names)
        if core.complete and not encoded:
            return entries
        for i, name in enumerate(names):
            held = encoded.pop(name, None)
            if held is not None:
                keys[i], entries[i] = held
            elif not core.complete:
                stored = core.fetch(keys[i], column)  # which may complete the cache
                encoded.pop(name, None)
                entries[i] = None if stored == TOMBSTONE else stored
        return entries

    def _decode(self, slots: list[int], entries: list[bytes]) -> None:
        at = np.array(slots, np.int64)
        if self.ttl is not None:
            self._written[at] = [written_ms(entry) for entry in entries]
            entries = [entry[8:] for entry in entries]
        rows = list(map(decode_value, entries))
        for field, of, column in zip(self.fields, self._of, zip(*rows, strict=True), strict=True):
            values = column if of.decode is None else tuple(map(of.decode, column))
            if field.dtype == _OBJECT:
                for slot, value in zip(slots, values, strict=True):
                    field[slot] = value
            else:
                field[at] = values
        self.alive[at] = self._stored[at] = True

    def _put_initial(self, slots: Sequence[int]) -> None:
        at = np.asarray(slots, np.int64)
        for field, of in zip(self.fields, self._of, strict=True):
            field[at] = of.initial
        for flags in (self.alive, self._dirty, self._stored):
            flags[at] = False

    def _take_slots(self, count: int) -> list[int]:
        free = self._free
        slots = [free.pop() for _ in range(min(count, len(free)))]
        rest = count - len(slots)
        first = len(self._keys)
        if rest:
            self._keys.extend([None] * rest)
            self._names.extend([None] * rest)
            self._grow(len(self._keys))
            slots.extend(range(first, first + rest))
        return slots

    def _grow(self, wanted: int) -> None:
        capacity = len(self.alive)
        if wanted <= capacity:
            return
        capacity = max(wanted, 2 * capacity)
        self.fields = [
            _grown(field, capacity, of.initial) for field, of in zip(self.fields, self._of, strict=True)
        ]
        self.alive, self._dirty = _grown(self.alive, capacity, False), _grown(self._dirty, capacity, False)
        self._stored = _grown(self._stored, capacity, False)
        self._written = _grown(self._written, capacity, 0)
        self._codes = _grown(self._codes, capacity, 0)

    def _expire(self, slots: Array) -> None:
        assert self.ttl is not None
        gone = slots[self.alive[slots] & (self._written[slots] + self.ttl.ms <= self._core.now_ms)]
        if len(gone):
            self.remove(gone)

    def put(self, slots: Array, values: Sequence[Array]) -> None:
        """Set the rows of slots, each of which occurs once."""
        for field, column in zip(self.fields, values, strict=True):
            field[slots] = column
        self.alive[slots] = True
        self.touch(slots)

    def touch(self, slots: Array) -> None:
        """The rows of slots have been changed in place."""
        self._dirty[slots] = True
        self._changes += len(slots)
        if self.ttl is not None:
            self._written[slots] = self._core.now_ms

    def remove(self, slots: Array) -> None:
        """Delete the rows of slots; they have initial values again."""
        for field, of in zip(self.fields, self._of, strict=True):
            field[slots] = of.initial
        self.alive[slots] = False
        self._dirty[slots] = True
        self._changes += len(slots)

    def name_of(self, slot: int) -> Any:
        """The identity of the key of a slot."""
        return self._names[slot]

    def load_all(self) -> None:
        """Decode what is committed, so that all rows are in slots."""
        if not self._core.complete:
            self._core.complete_cache()
        if self._encoded:
            self._made(list(self._encoded), [key for key, _ in self._encoded.values()])

    def items(self) -> tuple[list[Any], Array]:
        """The keys that have a row, and their slots."""
        self.load_all()
        slots = np.fromiter(self.slots.values(), np.int64, len(self.slots))
        if self.ttl is not None and len(slots):
            self._expire(slots)
        alive = self.alive[slots]
        return [name for name, is_alive in zip(self.slots, alive.tolist(), strict=True) if is_alive], slots[
            alive
        ]

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        self.generation += 1
        canonical = canonical_of(key_data(key, end))
        name = identity_of_canonical(canonical)
        slot = self.slots.pop(name, None)
        if slot is not None:
            self.alive[slot] = False  # the rest is reset when the slot is given out again
            self._free.append(slot)
        if value == TOMBSTONE:
            self._encoded.pop(name, None)
        elif slot is not None or self._core.complete:
            self._encoded[name] = canonical, value

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        for key, end, value in entries:
            canonical = canonical_of(key_data(key, end))
            name = identity_of_canonical(canonical)
            if name not in self.slots:
                self._encoded.setdefault(name, (canonical, value))

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:  # hot
        if not self._changes:
            return
        slots = np.flatnonzero(self._dirty)
        alive = self.alive[slots]
        live, dead = slots[alive], slots[~alive]
        heads, column = self._core.group_keys, self.id
        keys += [heads[key] + column for key in self._canonical(live.tolist())]
        values += self._entries(live)
        self._stored[live] = True
        stored = dead[self._stored[dead]].tolist()
        keys += [heads[key] + column for key in self._canonical(stored)]
        values += [TOMBSTONE] * len(stored)
        for slot in dead.tolist():
            del self.slots[self._names[slot]]
        self._release(dead.tolist())
        self._dirty[slots] = False
        self._changes = 0

    def _entries(self, slots: Array) -> list[bytes]:
        columns = [
            field[slots].tolist() if of.encode is None else list(map(of.encode, field[slots].tolist()))
            for field, of in zip(self.fields, self._of, strict=True)
        ]
        rows = zip(*columns, strict=True) if columns else iter([()] * len(slots))
        entries = list(map(_pack if self._plain else encode_value, rows))
        if self.ttl is not None:
            stamps = self._written[slots].tolist()
            return [
                stamp.to_bytes(8, "big", signed=True) + entry
                for stamp, entry in zip(stamps, entries, strict=True)
            ]
        return entries

    def _release(self, slots: list[int]) -> None:
        self._put_initial(slots)
        self._free += slots

    def clean(self, changed: int) -> None:
        if self.ttl is None:
            return
        gone = np.flatnonzero(self.alive & (self._written + self.ttl.gone_ms <= self._core.now_ms))
        self._forget(gone.tolist())

    def _forget(self, slots: list[int]) -> None:
        for slot in slots:
            del self.slots[self._names[slot]]
        self._release(slots)

    def drop(self) -> None:
        self._reset()

    def drop_key(self, key: CanonicalKey) -> None:
        name = identity_of_canonical(key)
        self._encoded.pop(name, None)
        slot = self.slots.pop(name, None)
        if slot is not None:
            self._release([slot])

    def changed(self) -> int:
        return self._changes

    def cached(self) -> int:
        return len(self.slots) + len(self._encoded)

    def evict(self, share: float) -> None:
        self.generation += 1
        rest = int(self.cached() * share) + 1
        for name in list(islice(self._encoded, rest)):
            del self._encoded[name]
            rest -= 1
        self._forget(list(islice(self.slots.values(), max(rest, 0))))

    def cached_keys(self) -> set[CanonicalKey]:
        live = set(self._canonical([slot for slot in self.slots.values() if self.alive[slot]]))
        return live | {key for key, _ in self._encoded.values()}


def _grown(array: Array, capacity: int, initial: Any) -> Array:
    grown = np.full(capacity, initial, array.dtype)
    grown[: len(array)] = array
    return grown


def rows_state(
    state: OperatorState, name: str, fields: Sequence[Field], shape: str = "", ttl_ms: int = 0
) -> RowsColumn:
    """The rows of an operator under a name.

    :param shape: what the fields mean, as text: a stored state of another shape is refused.
    """
    ttl = ttl_of(ttl_ms)
    return state.engine_state(
        name, ROWS, lambda core, uid, name: RowsColumn(core, uid, name, fields, shape, ttl), ttl
    )


ROWS: Final = KINDS.register(StateKind(name=RowsColumn.kind, rows=rows_by_key(single), recoding=recoding))
