"""Rows come among the first ones of their keys, all keys at once: in rounds, each with one row of each key.

For where a row is compared by one whole number and never looked for again, which is what most of Top-N is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from firesteel.common.columns import INSERT
from firesteel.sql.operators.rank_changes import NOTHING, RankChanges
from firesteel.sql.operators.rank_state import Ranks

__all__ = ["MOST_ROWS", "FirstRows"]

Array = np.ndarray[Any, Any]
#: A row of a key in a round is as wide as what the key keeps, so there must not be too many of them.
MOST_ROWS: Final = 64
_FEWEST: Final = 12  # a round costs the same for fewer keys, whose rows come one by one
_VACANT: Final = 2**63 - 1


class FirstRows:
    """What some keys keep, side by side: a line for each, with a place more than counts.

    :param end: how many rows of a key count.

    :raises OverflowError: some row is compared by what is no number of 64 bits.
    """

    def __init__(self, ranks: Sequence[Ranks], end: int) -> None:
        self._ranks = ranks
        self._end = end
        self._places = np.arange(end + 1)
        self._counts = np.fromiter((len(of_key.items) for of_key in ranks), np.int64, len(ranks))
        there = self._places < self._counts[:, None]
        self._keys: Array = np.full(there.shape, _VACANT, np.int64)
        self._keys[there] = np.fromiter(chain.from_iterable(of_key.keys for of_key in ranks), np.int64)
        self._items: Array = np.zeros(there.shape, np.int64)
        self._items[there] = np.fromiter(chain.from_iterable(of_key.items for of_key in ranks), np.int64)

    def insert(
        self, rows: Array, starts: Array, row_keys: Array, number: int, changes: RankChanges
    ) -> None:  # hot
        """Rows come, and say what they move.

        :param rows: key by key, in order; *row_keys* has at their place what they are compared by, and their
            numbers are *number* more. :param starts: where those of each key start.
        """
        of = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
        # Where there are as many as count, most of those that come are none of them.
        may_enter = (self._counts[of] < self._end) | (row_keys[rows] < self._keys[of, self._end - 1])
        rows = rows[may_enter]
        lengths = np.bincount(of[may_enter], minlength=len(starts))
        starts = np.cumsum(lengths) - lengths
        active = np.flatnonzero(lengths)
        step = 0
        while len(active) >= _FEWEST:
            at = rows[starts[active] + step]
            self._enter(active, row_keys[at], number + at, changes)
            step += 1
            active = active[lengths[active] > step]
        stops = (starts + lengths).tolist()
        for line in active.tolist():
            some = rows[starts[line] + step : stops[line]].tolist()
            self._insert_one_by_one(line, some, row_keys, number, changes)

    def _enter(self, lines: Array, keys: Array, numbers: Array, changes: RankChanges) -> None:  # hot
        """A row comes to each of some lines."""
        end, places, counts = self._end, self._places, self._counts[lines]
        enters = (counts < end) | (keys < self._keys[lines, end - 1])
        if not enters.all():
            lines, keys, numbers, counts = lines[enters], keys[enters], numbers[enters], counts[enters]
            if not len(lines):
                return
        old_keys, old_items = self._keys[lines], self._items[lines]
        at = np.minimum((old_keys[:, :end] <= keys[:, None]).sum(axis=1), counts)
        every, before = np.arange(len(lines)), places < at[:, None]
        for held, old, new in ((self._keys, old_keys, keys), (self._items, old_items, numbers)):
            moved = np.empty_like(old)
            moved[:, 1:] = old[:, :-1]
            np.copyto(moved, old, where=before)
            moved[every, at] = new
            held[lines] = moved
        is_moved = ~before & (places <= counts[:, None])
        changes.add(moved[is_moved], counts + 1 - at, at, np.where(counts < end, INSERT, NOTHING))
        self._counts[lines] = np.minimum(counts + 1, end)

    def _insert_one_by_one(
        self, line: int, rows: list[int], row_keys: Array, number: int, changes: RankChanges
    ) -> None:
        count = int(self._counts[line])
        keys, items = self._keys[line, :count].tolist(), self._items[line, :count].tolist()
        numbers = dict(zip(rows, row_keys[rows].tolist(), strict=True))
        changes.insert(rows, numbers, number, items, keys, self._end)
        count = self._counts[line] = len(keys)
        self._keys[line, :count], self._items[line, :count] = keys, items

    def kept(self, number: int) -> Array:
        """Which of the rows that have come are still there, less *number*, that of the first one; from here
        on they have the numbers from *number* on."""
        there = self._places < self._counts[:, None]
        items = self._items[there]
        new = items >= number
        rows, numbers = np.unique(items[new] - number, return_inverse=True)
        items[new] = number + numbers
        self._items[there] = items
        return rows

    def put_back(self) -> None:
        """Let the keys have what is here."""
        lines = zip(
            self._ranks, self._counts.tolist(), self._keys.tolist(), self._items.tolist(), strict=True
        )
        for ranks, count, keys, items in lines:
            ranks.keys, ranks.items = keys[:count], items[:count]
