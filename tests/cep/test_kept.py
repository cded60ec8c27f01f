"""How partial matches and waiting events are stored."""

from __future__ import annotations

import enum
import random
from typing import Any

import msgspec
import pytest

from firesteel.cep.kept import INLINE_EVENTS, StateNames, decoded, encoded
from firesteel.cep.name_table import NO_NAMES, read_names, written_names
from firesteel.cep.shared_buffer import KeyMatches, MatchedEvent, Node
from firesteel.cep.waiting import WaitingColumn
from firesteel.common.errors import StateError
from firesteel.state.columns import encode_elements
from firesteel.state.keys import canonical
from firesteel.state.untrusted import class_in_key

NAMES = StateNames(["$endState$", "b", "a"])
TABLE = NO_NAMES.with_names(set(NAMES.names))
VALUES = [None, True, 5, 2**64, 1.5, "", "text", "\ud800", b"", b"bytes", (1, "x"), [1], {"n": 1}, {1, 2}]


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


def stored(found: KeyMatches, before: dict[bytes, bytes] | None = None) -> dict[bytes, bytes]:
    """The entries of a key whose group has had all names before."""
    entries, table = encoded(found, NAMES, TABLE, before or {})
    assert table is TABLE
    return entries


def test_what_two_matches_share_is_stored_once() -> None:
    common = chain(3)
    found = matches(chain(1, 3, common), chain(1, 4, common))
    entries = stored(found)
    again = decoded(entries, NAMES, TABLE)
    assert shown(again) == shown(found)
    one, two = (node for _, node in again.partial)
    assert one.parent is two.parent
    assert sum(value.count(b"n") for value in entries.values()) == 5


@pytest.mark.parametrize(
    "stamps",
    [[7], [0], [-1], [127, 128], [1_700_000_000_000, 1_700_000_000_001], [-(2**63), 0, 2**63 - 1], [9, 3]],
)
def test_times_of_events_are_kept(stamps: list[int]) -> None:
    node = None
    for sequence, stamp in enumerate(stamps):
        node = Node("a", MatchedEvent.of(sequence, stamp, "x"), node)
    assert node is not None
    ((_, again),) = decoded(stored(matches(node)), NAMES, TABLE).partial
    assert [event.timestamp for event in again.by_stage()["a"]] == stamps


@pytest.mark.parametrize("base", [[], [100]])
def test_what_was_stored_as_lists_is_read(base: list[int]) -> None:
    """Times were whole at first, then differences from the first one."""
    stamps = [0, 10] if base else [100, 110]
    events = [[0, 1], stamps, encode_elements(["x", "y"]), *base]
    old = {b"m": msgspec.msgpack.encode([7, ["a", "b"], events, [0, 0, 0, 0, 1, 1], [1, 1], [0]])}
    again = decoded(old, NAMES, NO_NAMES)
    ((state, node),) = again.partial
    assert (NAMES.names[state], again.sequence) == ("b", 7)
    assert [(e.timestamp, e.value) for e in node.by_stage()["a"]] == [(100, "x"), (110, "y")]
    assert [e.value for e in again.completed[0].by_stage()["a"]] == ["x"]
    entries = stored(again, old)
    assert set(entries) == {b"p"}
    assert decoded(entries, NAMES, TABLE).partial[0][1].by_stage().keys() == {"a"}


def test_events_of_a_large_key_are_written_once_and_go_together() -> None:
    first = chain(INLINE_EVENTS + 5)
    before = stored(matches(first))
    chunk = next(name for name in before if name != b"p")
    last = chain(3, INLINE_EVENTS + 5, first)
    after = stored(matches(last), before)
    assert after[chunk] is before[chunk]
    assert shown(decoded(after, NAMES, TABLE)) == shown(matches(last))
    assert set(stored(matches(chain(2, 90)), after)) == {b"p"}


def test_events_in_chunks_of_lists_are_not_written_again() -> None:
    """Of a key that has many events since before entries were packed."""
    first = chain(INLINE_EVENTS + 5)
    numbers = list(range(INLINE_EVENTS + 5))
    elements = encode_elements([event.cached for event in first.by_stage()["a"]])
    old = {
        b"m": b"",
        b"e" + bytes(8): msgspec.msgpack.encode([numbers, [10 * n for n in numbers], elements, 0]),
    }
    last = chain(INLINE_EVENTS + 1, INLINE_EVENTS + 5, first)
    after = stored(matches(last), old)
    assert sorted(name[:1] for name in after) == [b"e", b"f", b"p"]
    assert shown(decoded(after, NAMES, TABLE)) == shown(matches(last))


@pytest.mark.parametrize("seed", range(100))
def test_what_is_stored_is_read_as_it_was(seed: int) -> None:
    """Over several epochs, in which matches begin, go on, share events and end."""
    rng = random.Random(seed)
    entries: dict[bytes, bytes] = {}
    table = NO_NAMES
    found = KeyMatches()
    at = rng.choice([0, -(2**63), 1_700_000_000_000, 2**62])
    for _ in range(6):
        for _ in range(rng.choice([0, 1, 3, 30])):
            at += rng.randrange(1 << rng.randrange(1, 30))
            event = MatchedEvent.of(found.sequence, at, rng.choice(VALUES))
            found.sequence += 1
            for _ in range(rng.randrange(3)):
                parents = [None, *(node for _, node in found.partial)]
                node = Node(rng.choice("ab"), event, rng.choice(parents))
                found.partial.append((rng.randrange(3), node))
        rng.shuffle(found.partial)
        gone = rng.choice([0, 0.2, 0.9])
        found.completed = [node for _, node in found.partial if rng.random() < 0.1]
        found.partial = [match for match in found.partial if rng.random() >= gone]
        entries, table = encoded(found, NAMES, table, entries)
        again = decoded(entries, NAMES, table) if entries else KeyMatches()
        assert content(again) == content(found)
        ends = [*again.completed, *(node for _, node in again.partial)]
        assert all(node.event.sequence < again.sequence for node in ends)
        found = again


def content(found: KeyMatches) -> Any:
    """States, stages, values and times, and which events are the same or came before others."""
    ends = [*found.partial, *((None, node) for node in found.completed)]
    paths = [(state, node.by_stage()) for state, node in ends]
    ranks = sorted({e.sequence for _, stages in paths for es in stages.values() for e in es})

    def shown(events: list[MatchedEvent]) -> list[Any]:
        return [(ranks.index(event.sequence), event.timestamp, event.copy()) for event in events]

    return [(state, [(s, shown(events)) for s, events in path.items()]) for state, path in paths]


def test_nothing_is_stored_of_a_key_without_matches() -> None:
    assert stored(KeyMatches(), {b"p": b"x"}) == {}


def test_names_are_only_ever_added() -> None:
    _, one = encoded(matches(chain(1)), NAMES, NO_NAMES, {})
    assert one.names == ("a", "b")
    _, more = encoded(matches(Node("\ud800", MatchedEvent.of(0, 0, 1), None)), NAMES, one, {})
    assert more.names == ("a", "b", "\ud800")
    assert read_names(written_names(more)).names == more.names


def test_a_state_that_is_gone_is_an_error() -> None:
    entries = stored(matches(chain(1)))
    with pytest.raises(StateError, match="'b' of a partial match does not exist"):
        decoded(entries, StateNames(["$endState$", "c"]), TABLE)


@pytest.mark.parametrize("size", [1, 13, 40, 200])
@pytest.mark.parametrize("events", [1, 2, 3, 10, 16, 17, 40])
@pytest.mark.parametrize("shared", [False, True])
def test_a_key_stores_at_most_twice_its_events(size: int, events: int, shared: bool) -> None:
    """An event is its value and its timestamp of 8 bytes; with *shared* all are in one partial match. From 13
    bytes on that holds for the values alone."""
    node: Node | None = None
    nodes = []
    for n in range(events):
        stage = "a" if n == 0 or not shared else "b"
        event = MatchedEvent.of(n, 1_700_000_000_000 + 1_500 * n, "x" * (size - (1 if size <= 32 else 2)))
        node = Node(stage, event, node if shared else None)
        nodes.append(node)
    entries = stored(matches(*(nodes[-1:] if shared else nodes)))
    total = sum(len(name) + len(value) for name, value in entries.items())
    assert total <= 2 * events * (size + (8 if size < 13 else 0))


def test_keys_that_name_classes_are_found_in_waiting_events() -> None:
    from firesteel.cep.waiting import WAITING, Taken, _packed

    assert WAITING.keys_in_values
    assert class_in_key(_packed(Taken([1], [canonical(Colour.RED)], ["v"]))) is not None
    assert class_in_key(_packed(Taken([1, 2], [canonical("text"), 5], ["v", 7]))) is None
    assert WAITING.name == WaitingColumn.kind
