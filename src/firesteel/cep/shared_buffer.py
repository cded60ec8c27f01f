"""The events and partial matches of one key, while they are worked on.

An event is one object, however many partial matches have it. A partial match is a state and the *node* of its
last event; a node knows the node before it, so partial matches that begin alike share their beginning. What
no partial match reaches any more is gone by itself. (Flink has the same as a buffer with version numbers and
locks: ``SharedBuffer``.)
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from firesteel.state.columns import decode_value, to_cached

__all__ = ["KeyMatches", "MatchedEvent", "Node", "PartialMatch", "StoredMatches"]


class MatchedEvent:
    """An event that a partial match has.

    :ivar sequence: rises with each event of the key that is kept.
    :ivar timestamp: in epoch ms; in processing time, when it was processed.
    """

    __slots__ = ("_cached", "_value", "sequence", "timestamp")

    def __init__(self, sequence: int, timestamp: int, cached: Any) -> None:
        self.sequence = sequence
        self.timestamp = timestamp
        self._cached = cached  # as caches of state hold it: bytes are an encoded value
        self._value: Any = None

    @staticmethod
    def of(sequence: int, timestamp: int, value: Any) -> MatchedEvent:
        event = MatchedEvent(sequence, timestamp, to_cached(value))
        event._value = value
        return event

    @property
    def cached(self) -> Any:
        return self._cached

    @property
    def value(self) -> Any:
        """The event, for conditions: always the same object."""
        if self._value is None:
            self._value = self.copy()
        return self._value

    def copy(self) -> Any:
        """The event as an object that nobody else has, unless it cannot be changed."""
        cached = self._cached
        return decode_value(cached) if type(cached) is bytes else cached


class Node:
    """An event in its place in a match.

    :ivar first: the first event of the match.
    """

    __slots__ = ("event", "first", "parent", "stage")

    def __init__(self, stage: str, event: MatchedEvent, parent: Node | None) -> None:
        self.stage = stage
        self.event = event
        self.parent = parent
        self.first: MatchedEvent = event if parent is None else parent.first

    def by_stage(self) -> dict[str, list[MatchedEvent]]:
        """The events up to here by stage, both in the order in which they were taken."""
        path: list[Node] = []
        node: Node | None = self
        while node is not None:
            path.append(node)
            node = node.parent
        result: dict[str, list[MatchedEvent]] = {}
        for node in reversed(path):
            result.setdefault(node.stage, []).append(node.event)
        return result


#: The number of its state, and its last event.
PartialMatch: TypeAlias = tuple[int, Node]


class KeyMatches:
    """What a key has: the state of its automaton.

    :ivar partial: by first event, then in the order in which they came to be.
    :ivar completed: matches that wait for partial matches which began before them, as ``_heap`` orders them.
    :ivar sequence: of the next event.
    """

    __slots__ = ("completed", "partial", "sequence")

    def __init__(self) -> None:
        self.partial: list[PartialMatch] = []
        self.completed: list[Node] = []
        self.sequence = 0

    @property
    def is_empty(self) -> bool:
        return not self.partial and not self.completed


class StoredMatches(NamedTuple):
    """The same as it is read, where states still have the names under which they are stored."""

    sequence: int
    partial: list[tuple[str, Node]]
    completed: list[Node]
