"""Where matches are kept between epochs: the partial matches of each key, and events that wait for their
time.

Partial matches lie with the other state of their key. An entry has the names of states and stages, so that a
pattern may change, then events, nodes and partial matches by number. When a key has many events, those that
an epoch adds are an entry of their own, which is written once and goes when the last of them does.

Waiting events lie beside the keys and are loaded whole: an epoch writes those that are left of its input, one
entry for each key group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from firesteel.cep.shared_buffer import KeyMatches, MatchedEvent, Node
from firesteel.common.errors import StateError
from firesteel.state.columns import (
    TOMBSTONE,
    CanonicalKey,
    Column,
    canonical_of,
    decode_elements,
    encode_elements,
    key_data,
)
from firesteel.state.kinds import KINDS, StateKind
from firesteel.state.rows import Entry, rows_by_key

if TYPE_CHECKING:
    from firesteel.state._core import StateCore

__all__ = ["MATCHES", "MatchColumn", "StateNames"]

#: A key with more events than this keeps those that an epoch adds in an entry of their own.
INLINE_EVENTS: Final = 16

_HEAD: Final = b"m"
_EVENTS: Final = b"e"  # followed by the sequence of its first event, 8 bytes

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder().decode

#: Entries of a key: what follows the column id -> value.
Entries = dict[bytes, bytes]


class StateNames:
    """The states of an automaton, by the names under which they are stored."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            raise StateError(
                f"The state {name!r} of a partial match does not exist in the pattern.",
                detail=f"the pattern has the states {', '.join(self.names)}",
                hint="a pattern that goes on with old partial matches keeps their stages; otherwise give the "
                "operator another uid, and restore with allow_non_restored_state",
            )
        return number


# ---- the form of entries


class _Head(NamedTuple):
    """What is stored of a key beside the events that have entries of their own."""

    sequence: int
    names: list[str]
    events: list[Any]  # sequences, timestamps, encoded elements
    nodes: list[int]  # stage, sequence of the event, number of the node before plus 1; and so on
    partial: list[int]  # state, node; and so on
    completed: list[int]


def _numbered(matches: KeyMatches) -> tuple[dict[Node, int], dict[int, MatchedEvent]]:
    """The nodes that matches reach, each after the one before it, and their events by sequence."""
    numbers: dict[Node, int] = {}
    events: dict[int, MatchedEvent] = {}
    for end in [node for _, node in matches.partial] + matches.completed:
        path = []
        node: Node | None = end
        while node is not None and node not in numbers:
            path.append(node)
            node = node.parent
        for node in reversed(path):
            numbers[node] = len(numbers)
            events[node.event.sequence] = node.event
    return numbers, events


def _packed_events(events: list[MatchedEvent]) -> list[Any]:
    return [
        [event.sequence for event in events],
        [event.timestamp for event in events],
        encode_elements([event.cached for event in events]),
    ]


def _unpacked_events(stored: list[Any]) -> Iterator[MatchedEvent]:
    sequences, stamps, elements = stored
    return map(MatchedEvent, sequences, stamps, decode_elements(elements))


def encoded(matches: KeyMatches, names: StateNames, stored: Entries) -> Entries:
    """The entries of a key; those of *stored* that still hold are among them as they are."""
    if matches.is_empty:
        return {}
    nodes, events = _numbered(matches)
    entries, rest = _kept_chunks(events, stored)
    fresh = [event for sequence, event in sorted(events.items()) if sequence in rest]
    if len(fresh) > INLINE_EVENTS:
        entries[_EVENTS + fresh[0].sequence.to_bytes(8, "big")] = _pack(_packed_events(fresh))
        fresh = []
    numbers: dict[str, int] = {}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers))

    flat_nodes: list[int] = []
    for node in nodes:
        before = 0 if node.parent is None else nodes[node.parent] + 1
        flat_nodes += (number(node.stage), node.event.sequence, before)
    partial: list[int] = []
    for state, node in matches.partial:
        partial += (number(names.names[state]), nodes[node])
    completed = [nodes[node] for node in matches.completed]
    head = _Head(matches.sequence, list(numbers), _packed_events(fresh), flat_nodes, partial, completed)
    entries[_HEAD] = _pack(head)
    return entries


def _kept_chunks(events: dict[int, MatchedEvent], stored: Entries) -> tuple[Entries, set[int]]:
    """The entries of events that are still needed, and the events that are in none of them."""
    entries: Entries = {}
    rest = set(events)
    for name, value in stored.items():
        if name.startswith(_EVENTS):
            held = rest.intersection(_unpack(value)[0])
            if held:
                entries[name] = value
                rest -= held
    return entries, rest


def decoded(entries: Entries, names: StateNames) -> KeyMatches:
    head = _Head(*_unpack(entries[_HEAD]))
    nodes = list(_nodes(entries, head))
    matches = KeyMatches()
    matches.sequence = head.sequence
    flat = iter(head.partial)
    matches.partial = [(names.number(head.names[s]), nodes[n]) for s, n in zip(flat, flat, strict=True)]
    matches.completed = [nodes[number] for number in head.completed]
    return matches


def _nodes(entries: Entries, head: _Head) -> Iterator[Node]:
    events = {event.sequence: event for event in _unpacked_events(head.events)}
    for name, value in entries.items():
        if name.startswith(_EVENTS):
            events.update((event.sequence, event) for event in _unpacked_events(_unpack(value)))
    made: list[Node] = []
    flat = iter(head.nodes)
    for stage, sequence, before in zip(flat, flat, flat, strict=True):
        node = Node(head.names[stage], events[sequence], made[before - 1] if before else None)
        made.append(node)
        yield node


# ---- the column


class MatchColumn(Column):
    """The partial matches of each key. ``live`` has those of the keys that the epoch has used."""

    kind = "partial matches"

    def __init__(self, core: StateCore, uid: str, name: str, names: StateNames) -> None:
        super().__init__(core, uid, name)
        self._names = names
        self._cells: dict[CanonicalKey, Entries] = {}  # as they are stored; empty: there is nothing
        self._live: dict[CanonicalKey, KeyMatches] = {}
        self._dirty: set[CanonicalKey] = set()
        #: How often a key was asked for that had to be read, and that had not.
        self.loads = self.hits = 0

    # ---- the operator's side

    def get(self, key: CanonicalKey) -> KeyMatches | None:  # hot
        """The matches of a key; None: it has none. Who changes them calls ``changed_key``."""
        live = self._live.get(key)
        if live is not None:
            return live
        entries = self._cells.get(key)
        if entries is None:
            if self._core.complete:
                return None
            entries = self._cells[key] = self._core.fetch_all(key, self.id)
            self.loads += 1
        else:
            self.hits += 1
        if not entries:
            return None
        live = self._live[key] = decoded(entries, self._names)
        return live

    def make(self, key: CanonicalKey) -> KeyMatches:
        """Matches for a key that has none, to be put into."""
        matches = self._live[key] = KeyMatches()
        return matches

    def changed_key(self, key: CanonicalKey) -> None:
        self._dirty.add(key)

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
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
        for key in self._dirty:
            stored = self._cells.get(key)
            if stored is None:
                # Of a key that was not asked for nothing is stored: a match begins with ``get``.
                stored = {}
            entries = encoded(self._live[key], self._names, stored)
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
        self._dirty.clear()
        self._live.clear()

    def drop(self) -> None:
        self._cells.clear()
        self._live.clear()
        self._dirty.clear()

    def drop_key(self, key: CanonicalKey) -> None:
        self._cells.pop(key, None)
        self._live.pop(key, None)
        self._dirty.discard(key)

    def changed(self) -> int:
        return len(self._dirty)

    def cached(self) -> int:
        return sum(map(len, self._cells.values()), len(self._live))

    def evict(self, share: float) -> None:
        for key in list(islice(self._cells, int(len(self._cells) * share) + 1)):
            del self._cells[key]

    def cached_keys(self) -> set[CanonicalKey]:
        stored = {key for key, entries in self._cells.items() if entries}
        return (stored - set(self._live)) | {key for key, live in self._live.items() if not live.is_empty}


# ---- the kind


def _shown(parts: list[Entry]) -> dict[str, Any]:
    """What a key has, for readers of state: its partial matches, each with its state and its events by stage,
    and matches that wait for partial ones."""
    entries = dict(parts)
    if _HEAD not in entries:
        return {"partial_matches": [], "completed_matches": []}
    head = _Head(*_unpack(entries[_HEAD]))
    nodes = list(_nodes(entries, head))

    def events(number: int) -> dict[str, list[Any]]:
        return {stage: [event.copy() for event in found] for stage, found in nodes[number].by_stage().items()}

    flat = iter(head.partial)
    return {
        "partial_matches": [
            {
                "state": head.names[state],
                "since": nodes[number].first.timestamp,
                "events": events(number),
            }
            for state, number in zip(flat, flat, strict=True)
        ],
        "completed_matches": [events(number) for number in head.completed],
    }


MATCHES: Final = KINDS.register(StateKind(name=MatchColumn.kind, rows=rows_by_key(_shown)))
