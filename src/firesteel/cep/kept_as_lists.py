"""The form in which partial matches of a key were kept at first: lists, with the names of states and stages.

It is read, where a key has not changed since, and never written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from firesteel.cep.shared_buffer import MatchedEvent, Node, StoredMatches
from firesteel.state.columns import decode_elements

__all__ = ["EVENTS", "HEAD", "events_of_list", "matches_of_lists"]

HEAD: Final = b"m"
EVENTS: Final = b"e"  # followed by the sequence of its first event, 8 bytes

_unpack: Final = msgspec.msgpack.Decoder().decode


class _Head(NamedTuple):
    """What is stored of a key beside the events that have entries of their own."""

    sequence: int
    names: list[str]
    events: list[Any]  # sequences, timestamps, encoded elements, perhaps the base of the timestamps
    nodes: list[int]  # stage, sequence of the event, number of the node before plus 1; and so on
    partial: list[int]  # state, node; and so on
    completed: list[int]


def events_of_list(entry: bytes) -> Iterator[MatchedEvent]:
    """Read the events of an entry ``EVENTS``."""
    return _events(_unpack(entry))


def _events(stored: list[Any]) -> Iterator[MatchedEvent]:
    sequences, stamps, elements, *base = stored
    if base:
        stamps = [base[0] + stamp for stamp in stamps]
    return map(MatchedEvent, sequences, stamps, decode_elements(elements))


def matches_of_lists(entry: bytes, events: Mapping[int, MatchedEvent]) -> StoredMatches:
    """Read an entry ``HEAD``.

    :param events: those of the entries ``EVENTS``, by sequence.
    """
    head = _Head(*_unpack(entry))
    known = {**events, **{event.sequence: event for event in _events(head.events)}}
    nodes: list[Node] = []
    flat = iter(head.nodes)
    for stage, sequence, before in zip(flat, flat, flat, strict=True):
        nodes.append(Node(head.names[stage], known[sequence], nodes[before - 1] if before else None))
    flat = iter(head.partial)
    partial = [(head.names[state], nodes[number]) for state, number in zip(flat, flat, strict=True)]
    return StoredMatches(head.sequence, partial, [nodes[number] for number in head.completed])
