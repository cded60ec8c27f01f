"""One row of plain fields for each key, in arrays: the accumulators of aggregates and their like.

A key has a *slot*, and each field is an array over the slots, so that what a batch does to many keys is one
operation of NumPy. An entry of a key is the tuple of its fields, as a value state has it.
``state.column_keys`` says what keys are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from firesteel.common.columns import objects
from firesteel.sql.operators.row_entries import EntryForm, Field, FieldsForm
from firesteel.state._ttl import Ttl, written_ms
from firesteel.state.column_keys import (
    entry_keys,
    identity_in,
    identity_of_canonical,
)
from firesteel.state.columns import (
    TOMBSTONE,
    CanonicalKey,
    Column,
    canonical_of,
    key_data,
    key_end,
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
_FIRST_SLOTS: Final = 256
_OBJECT: Final = np.dtype(object)


def ttl_of(ttl_ms: int) -> Ttl | None:
    """The time to live of state in table programs: since the last write, never seen after (Flink: the default
    of ``StateTtlConfig``)."""
    return Ttl(ms=ttl_ms, gone_ms=ttl_ms) if ttl_ms > 0 else None


class RowsColumn(Column):
    """Rows by key.

    :param form: what entries are; None: the tuple of the fields.

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
        form: EntryForm | None = None,
    ) -> None:
        super().__init__(core, uid, name, ttl)
        self.type = json.dumps(["OTHER", shape or ", ".join(f.dtype for f in fields)])
        self._of = tuple(fields)
        #: Counts how often what is held may have changed by other hands than the operator's.
        self.generation = 0
        self.form: EntryForm = form or FieldsForm(self._of)
        self._reset()

    def _reset(self) -> None:
        self.generation += 1
        self.slots: dict[Any, int] = {}
        self._encoded: dict[bytes, bytes] = {}  # entries that nobody has asked for yet
        self._used = 0  # slots from here on have never been taken
        self._free: list[int] = []
        self._left: list[int] = []  # slots whose rows others have written: free as soon as they are reset
        capacity = _FIRST_SLOTS
        self.fields: list[Array] = [np.full(capacity, f.initial, f.dtype) for f in self._of]
        self.alive = np.zeros(capacity, bool)
        self._dirty = np.zeros(capacity, bool)
        self._stored = np.zeros(capacity, bool)
        self._written = np.zeros(capacity, np.int64)
        self._names = np.full(capacity, None, object)
        self._codes = np.zeros(capacity, np.uint32)  # the hash codes of keys whose entries are not named yet
        #: The keys of entries; None: not made yet. Many keys of windows come and go within an epoch, and need
        #: none.
        self._keys = np.full(capacity, None, object)
        self._changes = 0
        self._tidy()

    def _tidy(self) -> None:
        self.form.tidy(self.fields, self.alive)

    # ---- the operator's side

    def find(self, identities: Sequence[Any], codes: Array) -> Array:  # hot
        """The slots of keys, new ones where there were none; *codes* are the hash codes of the keys."""
        if isinstance(identities, np.ndarray):
            identities = identities.tolist()  # numbers of NumPy are slow as keys, and slower to be encoded
        slots = np.fromiter(map(self.slots.get, identities, repeat(-1)), np.int64, len(identities))
        missing = np.flatnonzero(slots < 0)
        if len(missing) == len(slots):
            slots = self._made(identities, codes)
        elif len(missing):
            slots[missing] = self._made([identities[i] for i in missing.tolist()], codes[missing])
        if self.ttl is not None and len(slots):
            self._expire(slots)
        return slots

    def _made(self, names: Sequence[Any], codes: Array) -> Array:
        """Slots for keys that have none."""
        if self._core.complete and not self._encoded:
            slots = self._placed(names)
            self._codes[slots] = codes
            return slots
        keys = self._entry_keys_of(names, codes)
        entries = self._taken(keys)
        slots = self._placed(names)
        self._keys[slots] = objects(keys)
        found = [entry for entry in entries if entry is not None]
        if found:
            self._decode(slots[[entry is not None for entry in entries]], found)
        return slots

    def _entry_keys_of(self, names: Sequence[Any], codes: Array) -> list[bytes]:
        return entry_keys(self._core.group_keys, self.id, names, codes)

    def _entry_keys(self, slots: Array) -> list[bytes]:
        """The keys of the entries of slots."""
        held: list[bytes | None] = self._keys[slots].tolist()
        if None in held:
            missing = slots[[key is None for key in held]]
            names: list[Any] = self._names[missing].tolist()
            self._keys[missing] = objects(self._entry_keys_of(names, self._codes[missing]))
        keys: list[bytes] = self._keys[slots].tolist()
        return keys

    def _taken(self, keys: list[bytes]) -> list[bytes | None]:
        """What is committed under keys of entries, for keys that will have slots."""
        core, encoded = self._core, self._encoded
        if not core.complete:
            known = sum(map(encoded.__contains__, keys))
            core.expect_misses(len(keys) - known)  # which may complete the cache
        found = list(map(self._encoded.pop, keys, repeat(None)))
        if not core.complete:
            get = core.overlay.get
            found = [get(key) if entry is None else entry for key, entry in zip(keys, found, strict=True)]
        return found

    def _decode(self, at: Array, entries: list[bytes]) -> None:
        if self.ttl is not None:
            self._written[at] = [written_ms(entry) for entry in entries]
            entries = [entry[8:] for entry in entries]
        for field, values in zip(self.fields, self.form.decode(entries), strict=True):
            field[at] = objects(values) if field.dtype == _OBJECT else values
        self.alive[at] = self._stored[at] = True
        self._tidy()

    def _placed(self, names: Sequence[Any]) -> Array:
        """Slots for new names, as they are for keys without a row."""
        if self._left:
            self._release(self._left)
            self._left = []
        free, count = self._free, len(names)
        kept = max(len(free) - count, 0)
        again = free[kept:][::-1]
        del free[kept:]
        first = self._used
        self._used += count - len(again)
        self._grow(self._used)
        slots = np.concatenate([np.array(again, np.int64), np.arange(first, self._used)])
        self.slots.update(zip(names, slots.tolist(), strict=True))
        self._names[slots] = objects(names)
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
        self._names, self._keys = _grown(self._names, capacity, None), _grown(self._keys, capacity, None)
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
        self._tidy()

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
        encoded, self._encoded = self._encoded, {}
        if encoded:
            keys = list(encoded)
            slots = self._placed([identity_in(key, key_end(key)) for key in keys])
            self._keys[slots] = objects(keys)
            self._decode(slots, list(encoded.values()))

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
        slot = self.slots.pop(identity_in(key, end), None) if self.slots else None
        if slot is not None:
            self.alive[slot] = False
            self._left.append(slot)
        if value == TOMBSTONE:
            self._encoded.pop(key, None)
        elif slot is not None or self._core.complete or key in self._encoded:
            self._encoded[key] = value

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        held = np.fromiter(self.slots.values(), np.int64, len(self.slots))
        known = self._encoded.keys() | set(self._entry_keys(held))
        self._encoded.update((key, value) for key, _, value in entries if key not in known)

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:  # hot
        if not self._changes:
            return
        slots = np.flatnonzero(self._dirty)
        alive = self.alive[slots]
        live, dead = slots[alive], slots[~alive]
        keys += self._entry_keys(live)
        values += self._entries(live)
        self._stored[live] = True
        stored = dead[self._stored[dead]]
        keys += self._entry_keys(stored)
        values += [TOMBSTONE] * len(stored)
        self._dirty[slots] = False
        self._changes = 0
        self._forget(dead.tolist())

    def _entries(self, slots: Array) -> list[bytes]:
        entries = self.form.encode([field[slots] for field in self.fields], len(slots))
        if self.ttl is not None:
            stamps = self._written[slots].tolist()
            return [
                stamp.to_bytes(8, "big", signed=True) + entry
                for stamp, entry in zip(stamps, entries, strict=True)
            ]
        return entries

    def _release(self, slots: list[int]) -> None:
        at = np.asarray(slots, np.int64)
        for field, of in zip(self.fields, self._of, strict=True):
            field[at] = of.initial
        for flags in (self.alive, self._dirty, self._stored):
            flags[at] = False
        self._names[at] = self._keys[at] = None
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
        if self._encoded:
            self._encoded.pop(self._core.group_keys[key] + self.id, None)
        slot = self.slots.pop(identity_of_canonical(key), None)
        if slot is not None:
            self._release([slot])

    def changed(self) -> int:
        return self._changes

    def cached(self) -> int:
        return len(self.slots) + len(self._encoded)

    def evict(self, share: float) -> None:
        self.generation += 1
        rest = int(self.cached() * share) + 1
        for key in list(islice(self._encoded, rest)):
            del self._encoded[key]
            rest -= 1
        self._forget(list(islice(self.slots.values(), max(rest, 0))))
        self._tidy()

    def cached_keys(self) -> set[CanonicalKey]:
        slots = np.fromiter(self.slots.values(), np.int64, len(self.slots))
        here = self._entry_keys(slots[self.alive[slots]])
        return {canonical_of(key_data(key, key_end(key))) for key in (*here, *self._encoded)}


def _grown(array: Array, capacity: int, initial: Any) -> Array:
    grown = np.full(capacity, initial, array.dtype)
    grown[: len(array)] = array
    return grown


def rows_state(
    state: OperatorState,
    name: str,
    fields: Sequence[Field],
    shape: str = "",
    ttl_ms: int = 0,
    form: EntryForm | None = None,
) -> RowsColumn:
    """The rows of an operator under a name.

    :param shape: what the fields mean, as text: a stored state of another shape is refused.
    :param form: what entries are, where the state is asked for the first time.
    """
    ttl = ttl_of(ttl_ms)
    return state.engine_state(
        name, ROWS, lambda core, uid, name: RowsColumn(core, uid, name, fields, shape, ttl, form), ttl
    )


ROWS: Final = KINDS.register(StateKind(name=RowsColumn.kind, rows=rows_by_key(single), recoding=recoding))
