"""In which form the partial matches of a key are kept between epochs.

A key has one *cell*: its events and where its matches stand, in one piece. When a key has many events, those
that an epoch adds are a *chunk* of their own, which is written once and goes when the last of them does.

Both begin with the length and the bytes of the first event's timestamp. MessagePack follows:
``[events, *differences of the other timestamps, *numbers]``. A chunk has no numbers. Those of a cell are how
many nodes there are, then one for each node and one for each end of a match: what it says is put together by
multiplication, so that it takes one byte or two. Names are numbers of the ``NameTable`` of the key group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, count
from operator import sub
from typing import Any, Final

import msgspec

from firesteel.cep.kept_as_lists import EVENTS, HEAD, events_of_list, matches_of_lists
from firesteel.cep.name_table import NameTable
from firesteel.cep.shared_buffer import KeyMatches, MatchedEvent, Node, StoredMatches
from firesteel.common.errors import StateError
from firesteel.state.columns import encode_elements

__all__ = ["Entries", "StateNames", "decoded", "encoded", "is_packed", "shown"]

#: A key with more events than this keeps those that an epoch adds in a chunk of their own.
INLINE_EVENTS: Final = 16

_CELL: Final = b"p"
_CHUNK: Final = b"f"  # followed by the sequences of its first event and after its last one, 8 bytes each

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


# ---- writing


def encoded(
    matches: KeyMatches, names: StateNames, table: NameTable, stored: Entries
) -> tuple[Entries, NameTable]:  # hot
    """The entries of a key; those of *stored* that still hold are among them as they are.

    :returns: the entries, and the table of names that they need: *table*, or one with more names.
    """
    if matches.is_empty:
        return {}, table
    nodes, events = _numbered(matches)
    # Nothing but chunks is beside the cell.
    entries, held = _kept_chunks(events, stored) if len(stored) > 1 else ({}, None)
    # The order of events is all that their sequences say, so those in no chunk get new ones without gaps, and
    # nothing of them is stored. They are younger than all events in chunks.
    first, start = (min(held), max(held) + 1) if held else (0, 0)
    fresh = [events[sequence] for sequence in sorted(events.keys() - held if held else events)]
    span = start - first + len(fresh)
    if len(fresh) > INLINE_EVENTS:
        entries[_chunk_name(start, start + len(fresh))] = _packed(fresh, [])
        inline = []
    else:
        inline = fresh
    places = {event.sequence: place for place, event in enumerate(fresh, start - first)}
    for sequence in held or ():
        places[sequence] = sequence - first
    try:
        numbers = _places(matches, names.names, table.numbers, nodes, places, span)
    except KeyError:  # a name that the group has not had yet
        states = (names.names[state] for state, _ in matches.partial)
        table = table.with_names({*states, *(node.stage for node in nodes)})
        numbers = _places(matches, names.names, table.numbers, nodes, places, span)
    entries[_CELL] = _packed(inline, numbers)
    return entries, table


def _places(
    matches: KeyMatches,
    states: Sequence[str],
    of_name: Mapping[str, int],
    nodes: Mapping[Node, int],
    places: Mapping[int, int],
    span: int,
) -> list[int]:
    """The numbers of a cell.

    :param places: of the events, by sequence; they are below *span*.
    """
    size = len(nodes)
    numbers = [size]
    for node in nodes:
        parent = node.parent
        before = 0 if parent is None else nodes[parent] + 1
        numbers.append((of_name[node.stage] * span + places[node.event.sequence]) * size + before)
    for state, node in matches.partial:
        numbers.append((of_name[states[state]] + 1) * size + nodes[node])
    for node in matches.completed:
        numbers.append(nodes[node])
    return numbers


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


def _kept_chunks(events: Mapping[int, MatchedEvent], stored: Entries) -> tuple[Entries, set[int]]:
    """The chunks of which events are still needed, and the sequences of all events in them."""
    entries: Entries = {}
    held: set[int] = set()
    for name, value in stored.items():
        if name.startswith((_CHUNK, EVENTS)):
            sequences = _sequences(name, value)
            if not events.keys().isdisjoint(sequences):
                entries[name] = value
                held.update(sequences)
    return entries, held


def _chunk_name(start: int, stop: int) -> bytes:
    return _CHUNK + start.to_bytes(8, "big") + stop.to_bytes(8, "big")


def _sequences(name: bytes, value: bytes) -> Collection[int]:
    """Those of the events of a chunk."""
    if name.startswith(EVENTS):
        return {event.sequence for event in events_of_list(value)}
    return range(int.from_bytes(name[1:9], "big"), int.from_bytes(name[9:], "big"))


def _packed(events: Sequence[MatchedEvent], numbers: list[int]) -> bytes:
    """A cell or a chunk."""
    elements = msgspec.Raw(encode_elements([event.cached for event in events]))
    if not events:
        return b"\0" + _pack([elements, *numbers])
    begin = events[0].timestamp
    if len(events) > 1:
        stamps = [event.timestamp for event in events]
        numbers = [*map(sub, stamps[1:], stamps), *numbers]
    length = (begin.bit_length() + 8) >> 3  # with a place for the sign
    return bytes((length,)) + begin.to_bytes(length, "big", signed=True) + _pack([elements, *numbers])


# ---- reading


def decoded(entries: Entries, names: StateNames, table: NameTable) -> KeyMatches:
    stored = _stored(entries, table)
    matches = KeyMatches()
    matches.sequence = stored.sequence
    matches.partial = [(names.number(state), node) for state, node in stored.partial]
    matches.completed = stored.completed
    return matches


def _stored(entries: Mapping[bytes, bytes], table: NameTable) -> StoredMatches:  # hot
    cell = entries.get(_CELL)
    if cell is None or len(entries) > 1:
        chunks = [entry for entry in entries.items() if entry[0].startswith((_CHUNK, EVENTS))]
        events = {event.sequence: event for entry in chunks for event in _chunk(*entry)}
        if cell is None:
            return matches_of_lists(entries[HEAD], events)
        first, start = min(events), max(events) + 1
        inline, (size, *numbers) = _unpacked(cell, start)
        events.update(zip(count(start), inline))
        sequence = start + len(inline)
        of_place: Mapping[int, MatchedEvent] = {held - first: event for held, event in events.items()}
        span = sequence - first
    else:
        inline, (size, *numbers) = _unpacked(cell, 0)
        sequence = span = len(inline)
        of_place = dict(enumerate(inline))
    nodes: list[Node] = []
    for number in numbers[:size]:
        rest, before = divmod(number, size)
        stage, place = divmod(rest, span)
        nodes.append(Node(table.names[stage], of_place[place], nodes[before - 1] if before else None))
    partial: list[tuple[str, Node]] = []
    completed: list[Node] = []
    for number in numbers[size:]:
        state, node = divmod(number, size)
        if state:
            partial.append((table.names[state - 1], nodes[node]))
        else:
            completed.append(nodes[node])
    return StoredMatches(sequence, partial, completed)


def _unpacked(data: bytes, sequence: int) -> tuple[list[MatchedEvent], list[int]]:
    """The events of a cell or a chunk, which are numbered from *sequence* on, and its numbers."""
    body = 1 + data[0]
    elements, *numbers = _unpack(data[body:])
    if not elements:
        return [], numbers
    begin = int.from_bytes(data[1:body], "big", signed=True)
    others = len(elements) - 1
    if not others:
        return [MatchedEvent(sequence, begin, elements[0])], numbers
    stamps = accumulate(numbers[:others], initial=begin)
    return list(map(MatchedEvent, count(sequence), stamps, elements)), numbers[others:]


def _chunk(name: bytes, value: bytes) -> Iterable[MatchedEvent]:
    if name.startswith(EVENTS):
        return events_of_list(value)
    return _unpacked(value, int.from_bytes(name[1:9], "big"))[0]


def is_packed(entries: Mapping[bytes, bytes]) -> bool:
    """Whether the names of states and stages are in a table."""
    return _CELL in entries


def shown(entries: Mapping[bytes, bytes], table: NameTable) -> dict[str, Any]:
    """What a key has, for readers of state: its partial matches, each with its state and its events by stage,
    and matches that wait for partial ones."""
    if _CELL not in entries and HEAD not in entries:
        return {"partial_matches": [], "completed_matches": []}
    stored = _stored(entries, table)

    def events(node: Node) -> dict[str, list[Any]]:
        return {stage: [event.copy() for event in found] for stage, found in node.by_stage().items()}

    return {
        "partial_matches": [
            {"state": state, "since": node.first.timestamp, "events": events(node)}
            for state, node in stored.partial
        ],
        "completed_matches": [events(node) for node in stored.completed],
    }
