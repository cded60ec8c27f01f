"""State of time windows that do not merge: for each pane one value for each key.

A pane is named by an integer, the start of its window. Entries lie beside the keys and by pane within a key
group, as timers do: ``group (2) | 0 | column id | start (8) | length | typed key``. So the window operator
needs no timer of its own for them: which panes are open is known, and a pane is read in one piece when it
fires. What is made and fired within one epoch leaves no trace in any file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from firesteel.state._column import (
    COLUMN_ID_BYTES,
    CanonicalKey,
    Column,
    canonical_of,
    in_order,
    key_data,
    key_end,
)
from firesteel.state._value_codec import (
    TOMBSTONE,
    decode_value,
    encode_all,
    encode_value,
    is_atom,
    to_cached,
)

if TYPE_CHECKING:
    from firesteel.state._core import StateCore

__all__ = ["Pane", "PaneColumn", "decode_value", "encode_value", "is_atom", "to_cached"]

_BIAS: Final = 1 << 63  # makes signed instants sort as unsigned bytes
_HEAD: Final = 3 + COLUMN_ID_BYTES  # group, 0, column id


class Pane:
    """The values of one pane by key. ``values`` holds objects as functions gave them, and bytes for what is
    still encoded; an object of type bytes is never put in as it is (``to_cached``)."""

    __slots__ = ("dirty", "stored", "values", "whole")

    def __init__(self) -> None:
        self.values: dict[CanonicalKey, Any] = {}
        self.dirty: set[CanonicalKey] = set()
        self.stored: set[CanonicalKey] = set()  # keys that the committed state has, as far as is known
        self.whole = True  # ``values`` has all that the committed state has


class PaneColumn(Column):
    """All panes of one operator; the operator works on ``open`` directly."""

    kind = "panes"

    def __init__(self, core: StateCore, uid: str, name: str) -> None:
        super().__init__(core, uid, name)
        self.open: dict[int, Pane] = {}
        self._gone: list[bytes] = []

    # ---- the operator's side

    def pane(self, start: int) -> Pane:
        """The pane of a start; a new one when there is none."""
        pane = self.open.get(start)
        if pane is None:
            pane = self.open[start] = Pane()
        return pane

    def missed(self, start: int, pane: Pane, key: CanonicalKey) -> Any:
        """The committed value of a key that a pane which is not whole does not hold; None: there is none."""
        stored = self._core.overlay.get(self._entry_key(start, key))
        if stored is None or stored == TOMBSTONE:
            return None
        pane.stored.add(key)
        return decode_value(stored)

    def close(self, start: int) -> list[tuple[CanonicalKey, Any]]:
        """Remove a pane; what it held, decoded, in an order that depends on the keys alone (invariant I1)."""
        pane = self.open.pop(start)
        if not pane.whole:
            self._complete(start, pane)
        self._gone += [self._entry_key(start, key) for key in pane.stored]
        entries = [(key, pane.values[key]) for key in in_order(pane.values)]
        return [(key, decode_value(value) if type(value) is bytes else value) for key, value in entries]

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        start = int.from_bytes(key[_HEAD : _HEAD + 8], "big") - _BIAS
        rest = b"\0\0" + key[_HEAD + 8 :]
        canonical = canonical_of(key_data(rest, key_end(rest)))
        if value == TOMBSTONE:
            pane = self.open.get(start)
            if pane is not None:
                pane.values.pop(canonical, None)
                pane.stored.discard(canonical)
                if not pane.values and pane.whole:
                    del self.open[start]
            return
        pane = self.pane(start)
        pane.values[canonical] = value
        pane.stored.add(canonical)

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        return  # entries beside the keys are loaded at the start

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        keys += self._gone
        values += [TOMBSTONE] * len(self._gone)
        self._gone.clear()
        for start, pane in self.open.items():
            if pane.dirty:
                dirty = list(pane.dirty)
                keys += [self._entry_key(start, key) for key in dirty]
                held = map(pane.values.__getitem__, dirty)
                # What is bytes is encoded already.
                values += encode_all([v if type(v) is bytes else to_cached(v) for v in held])
                pane.stored |= pane.dirty
                pane.dirty.clear()

    def drop(self) -> None:
        self.open.clear()
        self._gone.clear()

    def drop_key(self, key: CanonicalKey) -> None:
        for pane in self.open.values():
            pane.values.pop(key, None)
            pane.dirty.discard(key)
            pane.stored.discard(key)

    def changed(self) -> int:
        return len(self._gone) + sum(len(pane.dirty) for pane in self.open.values())

    def cached(self) -> int:
        return sum(len(pane.values) for pane in self.open.values())

    def evict(self, share: float) -> None:
        """The oldest panes go first: hardly anything is added to them, and each is read whole when it
        fires."""
        rest = int(self.cached() * share) + 1
        for start in sorted(self.open):
            if rest <= 0:
                return
            pane = self.open[start]
            rest -= len(pane.values)
            pane.values.clear()
            pane.stored.clear()
            pane.whole = False

    def cached_keys(self) -> set[CanonicalKey]:
        return {key for pane in self.open.values() for key in pane.values}

    # ---- how

    def _entry_key(self, start: int, key: CanonicalKey) -> bytes:
        head = self._core.group_keys[key]
        return head[:2] + b"\0" + self.id + (start + _BIAS).to_bytes(8, "big") + head[2:]

    def _complete(self, start: int, pane: Pane) -> None:
        """Read what an evicted pane does not hold; what it holds is newer."""
        rest = b"\0" + self.id + (start + _BIAS).to_bytes(8, "big")
        for group in self._core.group_keys.key_groups:
            for name, value in self._core.overlay.scan(group.to_bytes(2, "big") + rest).items():
                head = b"\0\0" + name[_HEAD + 8 :]
                key = canonical_of(key_data(head, key_end(head)))
                pane.stored.add(key)
                pane.values.setdefault(key, value)
        pane.whole = True
