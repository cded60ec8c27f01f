"""What changes of ranks leave an operator, gathered for a batch.

A *move* is some neighbours among the rows of a key of which each takes the rank of the next one, or of the
one before it: so one row that comes or goes changes many ranks, and its move is as many numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

__all__ = ["NOTHING", "RankChanges", "Shown"]

Array = np.ndarray[Any, Any]
#: The last row of a move is as it was, or counts no more.
NOTHING: Final = -1


class Shown(NamedTuple):
    """Changes in order. :ivar items: the number of the row of each. :ivar ranks: its rank."""

    items: Array
    kinds: Array
    ranks: Array


class RankChanges:
    """
    :param start: the first rank that counts. :param update_before: whether updates have a -U.
    """

    __slots__ = (
        "_backwards",
        "_firsts",
        "_items",
        "_lasts",
        "_lengths",
        "_parts",
        "_start",
        "_update_before",
    )

    def __init__(self, start: int, update_before: bool) -> None:
        self._start = start
        self._update_before = update_before
        self._parts: list[tuple[Array, Array, Array, Array]] = []  # of moves that came together, as below
        self._items: list[int] = []
        # Of each move:
        self._lengths: list[int] = []
        self._firsts: list[int] = []  # the rank of its first row, less one
        self._lasts: list[int] = []  # what becomes of its last row
        self._backwards: list[int] = []  # the moves that are

    def enter(self, item: int, rank: int) -> None:
        self.move([item], rank - 1, INSERT)

    def leave(self, item: int, rank: int) -> None:
        self.move([item], rank - 1, DELETE, backwards=True)

    def replace(self, before: int, after: int, rank: int) -> None:
        self.move([after, before], rank - 1)

    def move(self, items: list[int], first: int, last: int = NOTHING, backwards: bool = False) -> None:  # hot
        """Each row but the last one takes the place of the one behind it, or *backwards* each but the first
        one that of the one before it.

        :param items: as they are now; backwards: as they were. :param first: the place of the first one.
        :param last: INSERT: the last one takes a place that nobody had. DELETE (backwards): nobody has its
            place any more.
        """
        ahead = self._start - 1 - first
        if ahead > 0:
            items = items[ahead:]
            first += ahead
            if not items:
                return
        if backwards:
            self._backwards.append(len(self._lengths))
        self._items += items
        self._lengths.append(len(items))
        self._firsts.append(first)
        self._lasts.append(last)

    def add(self, items: Array, lengths: Array, firsts: Array, lasts: Array) -> None:
        """Some moves at once, none of which is backwards, where all ranks count: the rows of all of them, how
        many each has, and of each the place of its first row, and what becomes of its last one."""
        self._parts.append((items, lengths, firsts, lasts))

    def insert(
        self,
        rows: list[int],
        row_keys: Sequence[Any] | Mapping[int, Any],
        number: int,
        items: list[int],
        keys: list[Any],
        end: int,
    ) -> None:  # hot
        """Rows come one after the other among those of a key, of which only the first ones are kept: the move
        of each, and what it does to the lists.

        :param rows: in order; their keys are *row_keys* at that place, their numbers are *number* more.
        :param items: the rows of the key. :param keys: what they are compared by, in order.
        :param end: how many are kept.
        """
        begins_later = self._start > 1
        say_items, say_length = self._items.extend, self._lengths.append
        say_first, say_last = self._firsts.append, self._lasts.append
        count = len(keys)
        worst: Any = keys[-1] if count >= end else None
        for row in rows:
            key = row_keys[row]
            if count >= end and not key < worst:
                continue
            at = bisect_right(keys, key)
            keys.insert(at, key)
            items.insert(at, number + row)
            moved = items[at : end + 1]
            last = INSERT if count < end else NOTHING
            if begins_later and at < end:
                self.move(moved, at, last)
            elif at < end:
                say_items(moved)
                say_length(len(moved))
                say_first(at)
                say_last(last)
            if count >= end:
                del keys[count], items[count]
            else:
                count += 1
            if count >= end:
                worst = keys[-1]

    def shown(self) -> Shown:
        """All of it, row by row: first the moves that came together."""
        single = (self._items, self._lengths, self._firsts, self._lasts)
        parts = [*self._parts, tuple(np.array(values, np.int64) for values in single)]
        items, lengths, firsts, of_lasts = (np.concatenate(values) for values in zip(*parts, strict=True))
        count = len(items)
        stops = np.cumsum(lengths)
        is_last = np.zeros(count, bool)
        is_last[stops - 1] = True
        ranks = np.arange(1, count + 1) + np.repeat(firsts - stops + lengths, lengths)
        if not self._backwards and not self._update_before:  # only what has a place after it leaves
            kinds = np.full(count, UPDATE_AFTER, np.int8)
            kinds[stops - 1] = of_lasts
            leave = kinds != NOTHING
            return Shown(items[leave], kinds[leave], ranks[leave])
        lasts = np.zeros(count, np.int8)
        lasts[stops - 1] = of_lasts
        is_backwards = np.zeros(len(lengths), bool)
        is_backwards[np.array(self._backwards, np.int64) + len(lengths) - len(self._lengths)] = True
        backwards = np.repeat(is_backwards, lengths)
        following = np.append(items[1:], 0)
        # Two changes for each row: what had its place before, and what has it after.
        both = np.empty((count, 2), np.int64)
        both[:, 0] = np.where(backwards, items, following)
        both[:, 1] = np.where(backwards & ~is_last, following, items)
        kinds = np.empty((count, 2), np.int8)
        kinds[:, 0] = UPDATE_BEFORE
        kinds[:, 1] = np.where(is_last, lasts, UPDATE_AFTER)
        leave = np.empty((count, 2), bool)
        leave[:, 0] = ~is_last if self._update_before else False
        leave[:, 1] = kinds[:, 1] != NOTHING
        return Shown(both[leave], kinds[leave], np.repeat(ranks, 2)[leave.reshape(-1)])
