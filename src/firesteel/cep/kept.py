"""In which form the partial matches of a key are kept between epochs.

An entry has the names of states and stages, so that a pattern may change, then events, nodes and partial
matches by number. When a key has many events, those that an epoch adds are an entry of their own, which is
written once and goes when the last of them does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from firesteel.cep.shared_buffer import KeyMatches, MatchedEvent, Node
from firesteel.common.errors import StateError
from firesteel.state.columns import decode_elements, encode_elements

__all__ = ["Entries", "StateNames", "decoded", "encoded", "shown"]

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
    events: list[Any]  # sequences, timestamps, encoded elements, perhaps the base of the timestamps
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
    """Several events have their times as differences from the first one's, which follows then."""
    sequences = [event.sequence for event in events]
    stamps = [event.timestamp for event in events]
    elements = encode_elements([event.cached for event in events])
    if len(events) < 2:
        return [sequences, stamps, elements]
    return [sequences, [stamp - stamps[0] for stamp in stamps], elements, stamps[0]]


def _unpacked_events(stored: list[Any]) -> Iterator[MatchedEvent]:
    sequences, stamps, elements, *base = stored
    if base:
        stamps = [base[0] + stamp for stamp in stamps]
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


def _nodes(entries: Mapping[bytes, bytes], head: _Head) -> Iterator[Node]:
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


def shown(entries: Mapping[bytes, bytes]) -> dict[str, Any]:
    """What a key has, for readers of state: its partial matches, each with its state and its events by stage,
    and matches that wait for partial ones."""
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
