"""Cells, against a dictionary, with hashes that collide."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, strategies as st

from firesteel.sql.operators.cells import NOTHING, Cells

BATCHES = st.lists(st.lists(st.integers(0, 60), max_size=30, unique=True), max_size=12)


@given(batches=BATCHES, spread=st.sampled_from([1, 1 << 40, 511, 0]))
def test_what_was_entered_is_found(batches: list[list[int]], spread: int) -> None:
    """Keys have few hashes, or hashes of one cell, or all of them the same."""
    cells, keys, model = Cells(), np.empty(0, np.int64), dict[int, int]()
    for batch in batches:
        wanted = np.array(batch, np.int64)
        hashes = (wanted // 3 * spread).astype(np.uint64)

        def is_same(numbers: Any, rows: Any, keys: Any = keys, wanted: Any = wanted) -> Any:
            return keys[numbers] == wanted[rows]

        at, found = cells.seek(hashes, is_same)
        assert found.tolist() == [model.get(key, NOTHING) for key in batch]
        numbers = np.arange(len(keys), len(keys) + len(batch), dtype=np.int32)
        keys = np.concatenate([keys, wanted])
        known = found >= 0
        cells.replace(at[known], numbers[known])
        cells.enter(at[~known], numbers[~known])
        model.update(zip(batch, numbers.tolist(), strict=True))
        assert sorted(cells.numbers().tolist()) == sorted(model.values())


def test_there_is_room_for_what_was_asked_for() -> None:
    for room in (1, 512, 513):
        cells = Cells(room)
        numbers = np.arange(cells.room, dtype=np.int32)
        cells.enter(np.full(len(numbers), 2 * cells.room - 1), numbers)  # over the end, and from the start
        assert cells.room >= room
        assert sorted(cells.numbers().tolist()) == numbers.tolist()
