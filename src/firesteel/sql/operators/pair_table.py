"""Pairs of a key and a value, which have slots: those of many pairs are found at once (``cells``)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from firesteel.sql.operators.cells import Cells
from firesteel.sql.operators.hash_index import mixed

__all__ = ["PairKeys", "PairTable", "pair_hashes"]

Array = np.ndarray[Any, Any]
_FIRST_CAPACITY: Final = 256
_EMPTY: Final = -1
_U64: Final = np.uint64


class PairKeys(NamedTuple):
    """What tells pairs from each other.

    :ivar places: twice the number of the key, and one more where the value is null.
    :ivar words, objects: the values (``pair_values.Values``).
    """

    places: Array
    words: Array
    objects: Array | None

    @property
    def owners(self) -> Array:
        """The numbers of the keys."""
        return self.places >> 1

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: Array) -> PairKeys:
        objects = None if self.objects is None else self.objects[rows]
        return PairKeys(self.places[rows], self.words[rows], objects)


def pair_hashes(places: Array, words: Array) -> Array:
    """A hash of 64 bits for each pair."""
    return mixed(words.view(_U64) ^ (places.astype(_U64) * _U64(0xFF51AFD7ED558CCD)))


class PairTable:
    """Slots are given out in order, so the oldest pairs come first. What is released stays a hole until
    ``rebuild``, which moves all that is left together; nothing else changes the slot of a pair.

    :ivar keys: what is in each slot; in a hole the place is -1.
    :ivar used: how many slots are given out, holes among them. :ivar holes: how many of these there are.
    """

    def __init__(self, has_objects: bool) -> None:
        self.used = 0
        self.holes = 0
        self._allocate(_FIRST_CAPACITY, has_objects)

    def _allocate(self, capacity: int, has_objects: bool) -> None:
        self.keys = PairKeys(
            np.full(capacity, _EMPTY, np.int32),
            np.zeros(capacity, np.int64),
            np.empty(capacity, object) if has_objects else None,
        )
        self._cells = Cells(capacity)

    @property
    def capacity(self) -> int:
        return len(self.keys)

    def __len__(self) -> int:
        return self.used - self.holes

    def slots(self) -> Array:
        """The slots that hold a pair, the oldest first."""
        return np.flatnonzero(self.keys.places[: self.used] >= 0)

    def find(self, wanted: PairKeys) -> Array:  # hot
        """The slot of each pair; -1: there is none."""
        held = self.keys

        def is_same(slots: Array, rows: Array) -> Array:
            same: Array = held.places[slots] == wanted.places[rows]
            same &= held.words[slots] == wanted.words[rows]
            if held.objects is not None and wanted.objects is not None:
                alike = np.flatnonzero(same)
                same[alike] = held.objects[slots[alike]] == wanted.objects[rows[alike]]
            return same

        return self._cells.seek(_hashes(wanted), is_same)[1].astype(np.int64)

    def add(self, pairs: PairKeys) -> Array:  # hot
        """Give slots to pairs, each of which is there once and not in the table. There is room for them."""
        first, stop = self.used, self.used + len(pairs)
        held = self.keys
        held.places[first:stop] = pairs.places
        held.words[first:stop] = pairs.words
        if held.objects is not None:
            held.objects[first:stop] = pairs.objects
        self.used = stop
        slots = np.arange(first, stop)
        self._cells.enter(self._cells.first_cells(_hashes(pairs)), slots.astype(np.int32))
        return slots

    def release(self, slots: Array) -> None:
        """Forget what is in slots."""
        self.keys.places[slots] = _EMPTY
        if self.keys.objects is not None:
            self.keys.objects[slots] = None
        self.holes += len(slots)

    def has_room(self, count: int) -> bool:
        """Whether there are slots for *count* more pairs."""
        return self.used + count <= self.capacity

    def rebuild(self, count: int = 0) -> Array:
        """Close the holes, and make room for *count* more pairs and some.

        :returns: for each slot that is taken now the slot that it was before.
        """
        old, kept = self.keys, self.slots()
        wanted = len(kept) + count
        self._allocate(max(_FIRST_CAPACITY, wanted + wanted // 2), old.objects is not None)
        self.used = self.holes = 0
        self.add(old.take(kept))
        return kept


def _hashes(pairs: PairKeys) -> Array:
    return pair_hashes(pairs.places, pairs.words)
