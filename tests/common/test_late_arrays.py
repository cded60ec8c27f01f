"""Columns that are made when they are asked for."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from firesteel.common.columns import Columns, LateArrays


class Source:
    """Makes columns of numbers, and remembers which."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def columns(self, kinds: np.ndarray | None = None) -> Columns:
        return Columns(LateArrays(3, self.make), 4, kinds)

    def make(self, at: int) -> pa.Array:
        self.made.append(at)
        return pa.array([10 * at + i for i in range(4)])


def values(columns: Columns) -> list[tuple[int, ...]]:
    return list(columns.rows())


ROWS = [(0, 10, 20), (1, 11, 21), (2, 12, 22), (3, 13, 23)]


def test_each_is_made_once_when_it_is_asked_for() -> None:
    source = Source()
    columns = source.columns()
    assert (len(columns), len(columns.arrays)) == (4, 3)
    assert source.made == []
    assert columns.arrays[-1].to_pylist() == [20, 21, 22, 23]
    assert columns.arrays[2].to_pylist() == [20, 21, 22, 23]
    assert source.made == [2]
    assert [a.to_pylist()[0] for a in columns.arrays[:2]] == [0, 10]
    assert values(columns) == ROWS
    assert source.made == [2, 0, 1]
    with pytest.raises(IndexError):
        columns.arrays[3]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (lambda c: c[1:3], ROWS[1:3]),
        (lambda c: c.take_late(np.array([3, 0, 3])), [ROWS[3], ROWS[0], ROWS[3]]),
        (lambda c: Columns.concat([c[:1], c, Columns([pa.array([7])] * 3, 1)]), [ROWS[0], *ROWS, (7, 7, 7)]),
        (lambda c: c.with_kinds(None)[2:].take_late(np.array([1])), [ROWS[3]]),
    ],
    ids=["slice", "take", "concat", "take of a slice"],
)
def test_what_is_made_of_late_columns_is_late(part: object, expected: list[tuple[int, ...]]) -> None:
    source = Source()
    found: Columns = part(source.columns())  # type: ignore[operator]
    assert source.made == []
    assert len(found) == len(expected)
    assert found.arrays[1].to_pylist() == [row[1] for row in expected]
    assert set(source.made) == {1}
    assert values(found) == expected


def test_kinds_are_taken_too() -> None:
    columns = Source().columns(np.array([0, 1, 2, 3], np.int8))
    assert columns.take_late(np.array([2, 0])).kinds_or_inserts().tolist() == [2, 0]


def test_pickled_columns_are_made() -> None:
    columns = pickle.loads(pickle.dumps(Source().columns()))
    assert type(columns.arrays) is tuple
    assert values(columns) == ROWS


def test_rows_that_are_kept_hold_nothing_else() -> None:
    source = Source()
    kept = source.columns(np.array([0, 0, 3, 0], np.int8))[1:3].settled()
    assert source.made == [0, 1, 2]
    assert (type(kept.arrays), values(kept)) == (tuple, ROWS[1:3])
    assert kept.kinds_or_inserts().tolist() == [0, 3]
