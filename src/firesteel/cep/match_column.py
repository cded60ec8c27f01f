"""The column of partial matches: those of each key, of one automaton or of several.

An automaton has a *part* of the column, with a tag in front of its entries. Entries with the tag of a part
that is not there any more count for nothing. They go when their key is next looked at, and at once where they
are in memory: to give up an automaton does not mean to read the state of all keys.

Beside the keys of a key group lies what they have numbers for: the names of the states and stages of each
part (``name_table``). These are always in memory, and go at once with their part.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from firesteel.cep.kept import Entries, StateNames, decoded, encoded, is_packed, shown
from firesteel.cep.name_table import NO_NAMES, NameTable, read_names, written_names
from firesteel.cep.shared_buffer import KeyMatches
from firesteel.state.columns import TOMBSTONE, CanonicalKey, Column, canonical_of, key_data
from firesteel.state.kinds import KINDS, StateKind
from firesteel.state.rows import Entry, rows_by_key_in_group

if TYPE_CHECKING:
    from firesteel.state._core import StateCore

__all__ = ["MATCHES", "TAGGED_MATCHES", "MatchColumn", "MatchPart", "tag_of"]

_TAG_BYTES: Final = 4
_NO_TAG: Final = b""
_NAMES: Final = b"n"  # follows the tag in the entries of tables of names


def tag_of(number: int) -> bytes:
    """The tag of the entries of the part *number*, where there are several."""
    return number.to_bytes(_TAG_BYTES, "big")


class MatchPart:
    """What an automaton has in the column. ``live``: of the keys that the epoch has used."""

    __slots__ = ("_column", "_names", "live", "tag")

    def __init__(self, column: MatchColumn, tag: bytes, names: StateNames) -> None:
        self._column = column
        self._names = names
        self.tag = tag
        self.live: dict[CanonicalKey, KeyMatches] = {}

    # ---- the operator's side

    def get(self, key: CanonicalKey) -> KeyMatches | None:  # hot
        """The matches of a key; None: it has none. Who changes them calls ``changed_key``."""
        live = self.live.get(key)
        if live is not None:
            return live
        entries = self._of_part(self._column.stored(key))
        if not entries:
            return None
        live = self.live[key] = decoded(entries, self._names, self._column.table(key, self.tag))
        return live

    def make(self, key: CanonicalKey) -> KeyMatches:
        """Matches for a key that has none, to be put into."""
        matches = self.live[key] = KeyMatches()
        return matches

    def changed_key(self, key: CanonicalKey) -> None:
        self._column.changed_key(key)

    # ---- the column's side

    def entries(self, key: CanonicalKey, stored: Entries) -> Entries:
        """What is to be stored of a key, where *stored* is there."""
        tag, live = self.tag, self.live.get(key)
        entries = self._of_part(stored)
        if live is not None:
            table = self._column.table(key, tag)
            entries, grown = encoded(live, self._names, table, entries)
            if grown is not table:
                self._column.put_table(key, tag, grown)
        return {tag + name: value for name, value in entries.items()} if tag else entries

    def has(self, key: CanonicalKey, stored: Entries) -> bool:
        live = self.live.get(key)
        return bool(self._of_part(stored)) if live is None else not live.is_empty

    def _of_part(self, stored: Entries) -> Entries:
        tag = self.tag
        if not tag:
            return stored
        return {name[_TAG_BYTES:]: value for name, value in stored.items() if name.startswith(tag)}


class MatchColumn(Column):
    """
    :ivar loads: how often a key was asked for that had to be read; ``hits``: that had not.
    """

    kind = "partial matches"

    def __init__(self, core: StateCore, uid: str, name: str) -> None:
        super().__init__(core, uid, name)
        self._parts: dict[bytes, MatchPart] = {}
        self._cells: dict[CanonicalKey, Entries] = {}  # as they are stored; empty: there is nothing
        self._dirty: set[CanonicalKey] = set()
        self._tables: dict[bytes, NameTable] = {}  # key group (2 bytes) and tag -> names
        self._grown: set[bytes] = set()  # those of them that the epoch has changed
        self._has_stale_tables = False  # perhaps
        self.loads = self.hits = 0

    # ---- parts

    def whole(self, names: StateNames) -> MatchPart:
        """The part of the only automaton that there is."""
        return self.part(_NO_TAG, names)

    def part(self, tag: bytes, names: StateNames) -> MatchPart:
        part = self._parts[tag] = MatchPart(self, tag, names)
        return part

    def end(self, part: MatchPart) -> None:
        """Give up an automaton with all that it has."""
        del self._parts[part.tag]
        self._has_stale_tables = True
        self._dirty.update(key for key, entries in self._cells.items() if self._has_stale(entries))

    def stored(self, key: CanonicalKey) -> Entries:  # hot
        """The entries of a key as they are stored, of all parts."""
        entries = self._cells.get(key)
        if entries is None:
            if self._core.complete:
                return {}
            entries = self._cells[key] = self._core.fetch_all(key, self.id)
            self.loads += 1
        else:
            self.hits += 1
        if self._has_stale(entries):
            self._dirty.add(key)
        return entries

    def changed_key(self, key: CanonicalKey) -> None:
        self._dirty.add(key)

    def table(self, key: CanonicalKey, tag: bytes) -> NameTable:
        """The names by which the entries of a key are stored."""
        return self._tables.get(self._core.group_keys[key][:2] + tag, NO_NAMES)

    def put_table(self, key: CanonicalKey, tag: bytes, table: NameTable) -> None:
        place = self._core.group_keys[key][:2] + tag
        self._tables[place] = table
        self._grown.add(place)

    def _has_stale(self, entries: Entries) -> bool:
        parts = self._parts
        return _NO_TAG not in parts and any(name[:_TAG_BYTES] not in parts for name in entries)

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        if not key[2]:
            self._load_table(key[:2] + key[end + len(self.id) : -len(_NAMES)], value)
            return
        current = canonical_of(key_data(key, end))
        entries = self._cells.get(current)
        if entries is None:
            if not self._core.complete:
                return
            entries = self._cells[current] = {}
        name = key[end + len(self.id) :]
        if value == TOMBSTONE:
            entries.pop(name, None)
        else:
            entries[name] = value
        if not entries and self._core.complete:
            del self._cells[current]

    def _load_table(self, place: bytes, value: bytes) -> None:
        if value == TOMBSTONE:
            self._tables.pop(place, None)
        else:
            self._tables[place] = read_names(value)
            self._has_stale_tables = self._has_stale_tables or place[2:] not in self._parts

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        known = set(self._cells)
        cut = len(self.id)
        for key, end, value in entries:
            current = canonical_of(key_data(key, end))
            if current not in known:
                self._cells.setdefault(current, {})[key[end + cut :]] = value
        for current in [key for key, held in self._cells.items() if not held]:
            del self._cells[current]

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        self._core.group_keys.meet(self._dirty)
        for key in self._dirty:
            # Of a key that was not asked for nothing is stored: a match begins with ``get``.
            stored = self._cells.get(key) or {}
            entries: Entries = {}
            for part in self._parts.values():
                entries |= part.entries(key, stored)
            head = self._core.group_keys[key] + self.id
            for name, value in entries.items():
                if stored.get(name) != value:
                    keys.append(head + name)
                    values.append(value)
            gone = [name for name in stored if name not in entries]
            keys += [head + name for name in gone]
            values += [TOMBSTONE] * len(gone)
            if entries or not self._core.complete:
                self._cells[key] = entries
            else:
                self._cells.pop(key, None)
        self._collect_tables(keys, values)
        self._forget_epoch()

    def _collect_tables(self, keys: list[bytes], values: list[bytes]) -> None:
        tables, parts = self._tables, self._parts
        gone: list[bytes] = []
        if self._has_stale_tables:
            gone = [place for place in tables if place[2:] not in parts]
            self._has_stale_tables = False
        for place in gone:
            del tables[place]
        for place in [*sorted(self._grown.intersection(tables)), *gone]:
            keys.append(place[:2] + b"\0" + self.id + place[2:] + _NAMES)
            values.append(written_names(tables[place]) if place in tables else TOMBSTONE)

    def _forget_epoch(self) -> None:
        self._grown.clear()
        self._dirty.clear()
        for part in self._parts.values():
            part.live.clear()

    def drop(self) -> None:
        self._cells.clear()
        self._tables.clear()
        self._forget_epoch()

    def drop_key(self, key: CanonicalKey) -> None:
        self._cells.pop(key, None)
        self._dirty.discard(key)
        for part in self._parts.values():
            part.live.pop(key, None)

    def changed(self) -> int:
        return len(self._dirty)

    def cached(self) -> int:
        return sum(map(len, self._cells.values()), sum(len(part.live) for part in self._parts.values()))

    def evict(self, share: float) -> None:
        for key in list(islice(self._cells, int(len(self._cells) * share) + 1)):
            del self._cells[key]

    def cached_keys(self) -> set[CanonicalKey]:
        known = set(self._cells).union(*(part.live for part in self._parts.values()))
        return {key for key in known if self._has(key)}

    def _has(self, key: CanonicalKey) -> bool:
        stored = self._cells.get(key) or {}
        return any(part.has(key, stored) for part in self._parts.values())


# ---- the kinds


def _shown(entries: Iterable[Entry], beside: Iterable[Entry]) -> dict[str, Any]:
    return shown(dict(entries), _tables_of(beside).get(_NO_TAG, NO_NAMES))


def _shown_by_pattern(entries: Iterable[Entry], beside: Iterable[Entry]) -> dict[int, dict[str, Any]]:
    """The matches of a key by the number of the part that they belong to. Where a part has packed entries and
    no names, it is gone."""
    tables = _tables_of(beside)
    parts: dict[bytes, Entries] = {}
    for name, value in entries:
        parts.setdefault(name[:_TAG_BYTES], {})[name[_TAG_BYTES:]] = value
    return {
        int.from_bytes(tag, "big"): shown(part, tables.get(tag, NO_NAMES))
        for tag, part in parts.items()
        if tag in tables or not is_packed(part)
    }


def _tables_of(beside: Iterable[Entry]) -> dict[bytes, NameTable]:
    """The tables of a key group, by tag."""
    return {name[: -len(_NAMES)]: read_names(value) for name, value in beside}


MATCHES: Final = KINDS.register(
    StateKind(name=MatchColumn.kind, rows=rows_by_key_in_group(_shown), beside_keys=True)
)
TAGGED_MATCHES: Final = KINDS.register(
    StateKind(
        name="partial matches by pattern", rows=rows_by_key_in_group(_shown_by_pattern), beside_keys=True
    )
)
