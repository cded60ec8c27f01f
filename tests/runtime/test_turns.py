"""Both inputs of an operator on columns are read in turn."""

from __future__ import annotations

from firesteel.runtime.batch import Batch
from firesteel.runtime.turns import Turns


def taken(turns, *buffers):
    """What comes of buffers (ord, gate, channel, batch), as (gate, channel, rows and marks in order)."""
    received = [r for ord, gate, channel, batch in buffers for r in turns.add(ord, gate, channel, batch)]
    received += turns.rest()
    return [(gate, channel, _flat(batch)) for gate, channel, batch in received]


def _flat(batch):
    out = []
    for at in range(len(batch.values) + 1):
        out += [f"W{mark}" for position, mark in batch.marks if position == at]
        out += batch.values[at : at + 1]
    return out


def test_few_rows_are_taken_one_by_one_with_the_marks_behind_them():
    left = Batch(["a", "b", "c"], None, [(0, 0), (1, 1), (3, 3)])
    right = Batch(["x", "y"], None, [(2, 9)])
    assert taken(Turns(), (0, "left", 1, left), (0, "right", 2, right)) == [
        ("left", 1, ["W0", "a", "W1"]),
        ("right", 2, ["x"]),
        ("left", 1, ["b"]),
        ("right", 2, ["y", "W9"]),
        ("left", 1, ["c", "W3"]),
    ]


def test_many_rows_are_taken_in_four_turns():
    left, right = Batch(list(range(400)), None, []), Batch(list(range(90)), None, [])
    parts = taken(Turns(), (0, "left", 1, left), (0, "right", 2, right))
    assert [(gate, len(rows)) for gate, _, rows in parts] == [
        ("left", 100),
        ("right", 90),
        ("left", 100),
        ("left", 100),
        ("left", 100),
    ]
    assert [row for gate, _, rows in parts if gate == "left" for row in rows] == list(range(400))


def test_buffers_wait_for_those_of_the_same_number_only():
    turns = Turns()
    first, second = Batch(["a", "b"], None, []), Batch(["c"], None, [])
    assert list(turns.add(0, "left", 1, first)) == []
    assert list(turns.add(0, "left", 2, first)) == []
    # No buffer of the other input came: nothing is cut.
    assert list(turns.add(1, "left", 1, second)) == [("left", 1, first), ("left", 2, first)]
    assert list(turns.add(1, "right", 3, second)) == []
    assert list(turns.rest()) == [("left", 1, second), ("right", 3, second)]
    assert list(turns.rest()) == []


def test_each_channel_keeps_its_order():
    def buffer(name, ord):
        return Batch([f"{name}{ord}{i}" for i in range(3)], None, [])

    buffers = [(o, g, c, buffer(f"{g}{c}", o)) for o in (0, 1) for g in ("left", "right") for c in (1, 2)]
    parts = taken(Turns(), *buffers)
    for gate in ("left", "right"):
        for channel in (1, 2):
            rows = [row for g, c, rows in parts for row in rows if (g, c) == (gate, channel)]
            assert rows == sorted(rows)
            assert len(rows) == 6
