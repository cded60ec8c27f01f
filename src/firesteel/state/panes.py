"""State of time windows that do not merge: for each pane one value for each key.

A pane is identified by an integer, the start of its window. Within a key group, entries are sorted by pane
and not by key, as timers are: ``group (2) | 0 | column id | start (8) | length | typed key``, followed by
``f`` for values that have fired and are kept for late elements. The window operator therefore needs no timers
for them: it knows which panes are open, and reads a pane in one piece when it fires. A pane that begins and
ends within one epoch leaves no trace in any file.

That a value has fired must be stored: after a restore the watermark starts over, and such a value fires again
only with a new element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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
    PLAIN,
    TOMBSTONE,
    decode_value,
    encode_all,
    encode_value,
    is_atom,
    to_cached,
)
from firesteel.state.catalog import CatalogEntry
from firesteel.state.keys import raw_key
from firesteel.state.kinds import KINDS, Place, StateKind
from firesteel.state.rows import Entry, RowsOf, StoredRow, beside

if TYPE_CHECKING:
    from firesteel.state._core import StateCore

__all__ = [
    "PANES",
    "Pane",
    "PaneColumn",
    "PaneEntry",
    "decode_value",
    "encode_value",
    "is_atom",
    "pane_entry",
    "pane_size_ms",
    "pane_windows",
    "to_cached",
]

_BIAS: Final = 1 << 63  # makes signed instants sort as unsigned bytes
_HEAD: Final = 3 + COLUMN_ID_BYTES  # group, 0, column id
_FIRED: Final = b"f"


class Pane:
    """The values of one pane by key. ``values`` holds objects as functions gave them, and bytes for what is
    still encoded; an object of type bytes is never put in as it is (``to_cached``)."""

    __slots__ = ("dirty", "mark", "stored", "values", "whole")

    def __init__(self, mark: bytes = b"", whole: bool = True) -> None:
        self.mark = mark  # follows the keys of its entries
        self.values: dict[CanonicalKey, Any] = {}
        self.dirty: set[CanonicalKey] = set()
        self.stored: set[CanonicalKey] = set()  # keys that the committed state has, as far as is known
        self.whole = whole  # true if ``values`` holds the complete pane


class PaneEntry(NamedTuple):
    """What the key of an entry says."""

    start: int
    key: CanonicalKey
    fired: bool


def pane_entry(name: bytes) -> PaneEntry:
    start = int.from_bytes(name[_HEAD : _HEAD + 8], "big") - _BIAS
    rest = b"\0\0" + name[_HEAD + 8 :]
    end = key_end(rest)
    return PaneEntry(start, canonical_of(key_data(rest, end)), rest[end:] == _FIRED)


def pane_windows(size_ms: int) -> str:
    """What the catalog says of the windows of panes: an entry has their start alone."""
    return f"TimeWindow of {size_ms} ms"


def pane_size_ms(window: str) -> int | None:
    """The inverse; None: the size was not recorded."""
    words = window.split()
    return int(words[2]) if len(words) == 4 else None


class PaneColumn(Column):
    """All panes of one operator, by start. The operator works on them directly: it may change the values of
    a pane, and then adds the key to ``dirty``. A key is in one of the two at most.

    :ivar open: panes whose values fire when their time comes.
    :ivar fired: what has fired, and is kept for late elements.
    """

    kind = "panes"

    def __init__(self, core: StateCore, uid: str, name: str) -> None:
        super().__init__(core, uid, name)
        self.open: dict[int, Pane] = {}
        self.fired: dict[int, Pane] = {}
        self._gone: set[bytes] = set()

    # ---- the operator's side

    def pane(self, start: int) -> Pane:
        """The open pane of a start; a new one when there is none."""
        pane = self.open.get(start)
        if pane is None:
            pane = self.open[start] = Pane()
        if start in self.fired:
            pane.whole = False
        return pane

    def fired_pane(self, start: int) -> Pane:
        """The same of those that have fired."""
        pane = self.fired.get(start)
        if pane is None:
            pane = self.fired[start] = Pane(_FIRED)
        return pane

    def missed(self, start: int, pane: Pane, key: CanonicalKey) -> Any:
        """The value of a key that a pane which is not whole does not hold; None: there is none. What has
        fired goes back to the open pane that asks for it."""
        stored = self._core.overlay.get(self._entry_key(start, pane, key))
        if stored is not None and stored != TOMBSTONE:
            pane.stored.add(key)
            return decode_value(stored)
        fired = self.fired.get(start)
        return None if fired is None or fired is pane else self._take_back(start, fired, key)

    def close(self, start: int) -> list[tuple[CanonicalKey, Any]]:
        """Remove an open pane; what it held, decoded, in an order that depends on the keys alone."""
        held = self._removed(self.open, start)
        return [(key, _decoded(held[key])) for key in in_order(held)]

    def fire(self, start: int) -> list[tuple[CanonicalKey, Any]]:
        """What ``close`` gives; the pane is kept as one that has fired. Nobody else has the objects that are
        given."""
        held = self._removed(self.open, start)
        if start in self.fired:
            self._put_back(start, held)
        kept = self.fired_pane(start)
        if PLAIN.issuperset(map(type, held.values())):
            kept.values.update(held)
        else:
            kept.values.update({key: v if type(v) is bytes else to_cached(v) for key, v in held.items()})
        kept.dirty.update(held)
        return [(key, _decoded(held[key])) for key in in_order(held)]

    def drop_fired(self, start: int) -> set[CanonicalKey]:
        """Remove a pane that has fired; the keys that it had."""
        return set(self._removed(self.fired, start))

    def put(self, start: int, key: CanonicalKey, value: bytes, fired: bool) -> None:
        """Add a value, encoded, that was stored in another way before."""
        pane = self.fired_pane(start) if fired else self.pane(start)
        pane.values[key] = value
        pane.dirty.add(key)

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        if key[2]:
            return  # of a key and window: the operator takes it over (``SubtaskState.inherited``)
        start, canonical, fired = pane_entry(key)
        panes = self.fired if fired else self.open
        pane = panes.get(start)
        if pane is None:
            pane = panes[start] = Pane(_FIRED if fired else b"")
        if fired and not self._core.complete:
            pane.whole = False  # hardly anybody will ask for it: it stays where it is
        elif value != TOMBSTONE:
            pane.values[canonical] = value
            pane.stored.add(canonical)
            return
        pane.values.pop(canonical, None)
        pane.stored.discard(canonical)
        if not pane.values and pane.whole:
            del panes[start]

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        return  # entries beside the keys are loaded at the start

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        keys += self._gone
        values += [TOMBSTONE] * len(self._gone)
        self._gone.clear()
        for start, pane in self._all():
            if pane.dirty:
                dirty = list(pane.dirty)
                self._core.group_keys.meet(dirty)
                keys += [self._entry_key(start, pane, key) for key in dirty]
                held = map(pane.values.__getitem__, dirty)
                # What is bytes is encoded already.
                values += encode_all([v if type(v) is bytes else to_cached(v) for v in held])
                pane.stored |= pane.dirty
                pane.dirty.clear()

    def drop(self) -> None:
        self.open.clear()
        self.fired.clear()
        self._gone.clear()

    def drop_key(self, key: CanonicalKey) -> None:
        for _, pane in self._all():
            pane.values.pop(key, None)
            pane.dirty.discard(key)
            pane.stored.discard(key)

    def changed(self) -> int:
        return len(self._gone) + sum(len(pane.dirty) for _, pane in self._all())

    def cached(self) -> int:
        return sum(len(pane.values) for _, pane in self._all())

    def evict(self, share: float) -> None:
        """What has fired goes first, then the oldest panes: hardly anything is added to them, and each is
        read whole when it fires."""
        rest = int(self.cached() * share) + 1
        for panes in (self.fired, self.open):
            for start in sorted(panes):
                if rest <= 0:
                    return
                pane = panes[start]
                rest -= len(pane.values)
                pane.values.clear()
                pane.stored.clear()
                pane.whole = False

    def cached_keys(self) -> set[CanonicalKey]:
        return {key for _, pane in self._all() for key in pane.values}

    # ---- how

    def _all(self) -> Iterator[tuple[int, Pane]]:
        return chain(self.open.items(), self.fired.items())

    def _entry_key(self, start: int, pane: Pane, key: CanonicalKey) -> bytes:
        head = self._core.group_keys[key]
        return head[:2] + b"\0" + self.id + (start + _BIAS).to_bytes(8, "big") + head[2:] + pane.mark

    def _removed(self, panes: dict[int, Pane], start: int) -> dict[CanonicalKey, Any]:
        """Remove a pane; all that it held."""
        pane = panes.pop(start)
        if not pane.whole:
            self._complete(start, pane)
        self._gone.update([self._entry_key(start, pane, key) for key in pane.stored])
        return pane.values

    def _complete(self, start: int, pane: Pane) -> None:
        """Read what a pane does not hold; what it holds is newer."""
        rest = b"\0" + self.id + (start + _BIAS).to_bytes(8, "big")
        for group in self._core.group_keys.key_groups:
            for name, value in self._core.overlay.scan(group.to_bytes(2, "big") + rest).items():
                entry = pane_entry(name)
                if entry.fired is (pane.mark == _FIRED):
                    pane.stored.add(entry.key)
                    pane.values.setdefault(entry.key, value)
        pane.whole = True

    def _take_back(self, start: int, fired: Pane, key: CanonicalKey) -> Any:
        """Remove the value of a key from a pane that has fired; None: it has none."""
        held = fired.values.pop(key, None)
        if held is None and not fired.whole:
            held = self._core.overlay.get(self._entry_key(start, fired, key))
            if held is None or held == TOMBSTONE:
                return None
            fired.stored.add(key)
        if key in fired.stored:
            fired.stored.remove(key)
            self._gone.add(self._entry_key(start, fired, key))
        fired.dirty.discard(key)
        return _decoded(held)

    def _put_back(self, start: int, keys: Iterable[CanonicalKey]) -> None:
        """What was taken back from a pane that has fired comes to it again: its entries are not gone."""
        fired = self.fired[start]
        for key in keys:
            name = self._entry_key(start, fired, key)
            if name in self._gone:
                self._gone.remove(name)
                fired.stored.add(key)


def _decoded(value: Any) -> Any:
    return decode_value(value) if type(value) is bytes else value


# ---- the kind


def _rows(state: CatalogEntry) -> RowsOf:
    size_ms = pane_size_ms(state.window)

    def rows(entries: Iterable[Entry]) -> Iterator[StoredRow]:
        for name, value in entries:
            start, key, _ = beside(name)
            end = None if size_ms is None else start + size_ms
            yield StoredRow(raw_key(key), (start, end), None, decode_value(value))

    return rows


PANES: Final = KINDS.register(
    StateKind(
        name=PaneColumn.kind,
        place=Place.TIME,
        rows=_rows,
        takes_over=frozenset(("value",)),
        time_windows=True,
    )
)
