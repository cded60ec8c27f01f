"""How partial matches and waiting events are stored."""

from __future__ import annotations

import enum
from typing import Any

import msgspec
import pytest

from firesteel.cep.kept import INLINE_EVENTS, StateNames, decoded, encoded
from firesteel.cep.shared_buffer import KeyMatches, MatchedEvent, Node
from firesteel.cep.waiting import WaitingColumn
from firesteel.common.errors import StateError
from firesteel.state.keys import canonical
from firesteel.state.untrusted import class_in_key

NAMES = StateNames(["$endState$", "b", "a"])


class Colour(enum.Enum):
    RED = 1


def chain(length: int, start: int = 0, before: Node | None = None) -> Node:
    node = before
    for sequence in range(start, start + length):
        node = Node("a", MatchedEvent.of(sequence, 10 * sequence, {"n": sequence}), node)
    assert node is not None
    return node


def matches(*nodes: Node) -> KeyMatches:
    found = KeyMatches()
    found.partial = [(1, node) for node in nodes]
    found.sequence = 1 + max(node.event.sequence for node in nodes)
    return found


def shown(found: KeyMatches) -> list[Any]:
    return [[e.copy() for e in node.by_stage()["a"]] for _, node in found.partial]


def test_what_two_matches_share_is_stored_once() -> None:
    common = chain(3)
    found = matches(chain(1, 3, common), chain(1, 4, common))
    entries = encoded(found, NAMES, {})
    again = decoded(entries, NAMES)
    assert shown(again) == shown(found)
    one, two = (node for _, node in again.partial)
    assert one.parent is two.parent
    assert sum(value.count(b"n") for value in entries.values()) < 12


@pytest.mark.parametrize("stamps", [[7], [1_700_000_000_000, 1_700_000_000_001], [-(2**63), 0, 2**63 - 1]])
def test_times_of_events_are_kept(stamps: list[int]) -> None:
    node = None
    for sequence, stamp in enumerate(stamps):
        node = Node("a", MatchedEvent.of(sequence, stamp, "x"), node)
    assert node is not None
    ((_, again),) = decoded(encoded(matches(node), NAMES, {}), NAMES).partial
    assert [event.timestamp for event in again.by_stage()["a"]] == stamps


def test_events_with_whole_times_are_read_too() -> None:
    """As they were stored at first."""
    node = chain(2)
    (name, value) = next(iter(encoded(matches(node), NAMES, {}).items()))
    sequence, names, (sequences, _, elements, _), *rest = msgspec.msgpack.decode(value)
    old = {name: msgspec.msgpack.encode([sequence, names, [sequences, [0, 10], elements], *rest])}
    ((_, again),) = decoded(old, NAMES).partial
    assert [event.timestamp for event in again.by_stage()["a"]] == [0, 10]


def test_events_of_a_large_key_are_written_once_and_go_together() -> None:
    first = chain(INLINE_EVENTS + 5)
    before = encoded(matches(first), NAMES, {})
    chunk = next(name for name in before if name != b"m")
    last = chain(3, INLINE_EVENTS + 5, first)
    after = encoded(matches(last), NAMES, before)
    assert after[chunk] is before[chunk]
    assert shown(decoded(after, NAMES)) == shown(matches(last))
    assert set(encoded(matches(chain(2, 90)), NAMES, after)) == {b"m"}


def test_nothing_is_stored_of_a_key_without_matches() -> None:
    assert encoded(KeyMatches(), NAMES, {b"m": b"x"}) == {}


def test_a_state_that_is_gone_is_an_error() -> None:
    entries = encoded(matches(chain(1)), NAMES, {})
    with pytest.raises(StateError, match="'b' of a partial match does not exist"):
        decoded(entries, StateNames(["$endState$", "c"]))


def test_keys_that_name_classes_are_found_in_waiting_events() -> None:
    from firesteel.cep.waiting import WAITING, _packed

    assert WAITING.keys_in_values
    assert class_in_key(_packed([(1, canonical(Colour.RED), "v")])) is not None
    assert class_in_key(_packed([(1, canonical("text"), "v"), (2, 5, 7)])) is None
    assert WAITING.name == WaitingColumn.kind
