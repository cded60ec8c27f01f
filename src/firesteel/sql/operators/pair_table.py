"""A hash table in arrays: pairs of a key and a value have slots, and those of many pairs are found at once.

Open addressing: a pair is looked for from the place that its hash gives, further and further away, until it
or an empty place is found. That goes in rounds: each one looks one place further for all pairs that are not
found yet. Equal hashes are not equal pairs: what is found is compared.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

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
        size = 1 << (2 * capacity - 1).bit_length()  # at most half of it is taken
        self._index = np.full(size, _EMPTY, np.int32)

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
        held, index = self.keys, self._index
        found = np.full(len(wanted), -1, np.int64)
        rows: Array | None = None  # those that are left; None: all
        at = self._starts(wanted)
        step = 0
        while len(at):
            slots = index[at]
            taken = slots >= 0
            same = taken & (held.places[slots] == wanted.places) & (held.words[slots] == wanted.words)
            if held.objects is not None and wanted.objects is not None:
                alike = np.flatnonzero(same)
                same[alike] = held.objects[slots[alike]] == wanted.objects[alike]
            hits = np.flatnonzero(same)
            found[hits if rows is None else rows[hits]] = slots[hits]
            left = np.flatnonzero(taken ^ same)
            rows = left if rows is None else rows[left]
            wanted = wanted.take(left)
            step += 1
            at = self._next(at[left], step)
        return found

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
        self._enter(slots, pairs)
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

    # ---- the index

    def _starts(self, pairs: PairKeys) -> Array:
        at = pair_hashes(pairs.places, pairs.words)
        at &= _U64(len(self._index) - 1)
        return at.view(np.int64)

    def _next(self, at: Array, step: int) -> Array:
        """Where to look in round *step*: triangular numbers away, which lead to every place in the end."""
        return (at + step) & (len(self._index) - 1)

    def _enter(self, slots: Array, pairs: PairKeys) -> None:
        index, at = self._index, self._starts(pairs)
        step = 0
        while len(slots):
            empty = np.flatnonzero(index[at] == _EMPTY)
            index[at[empty]] = slots[empty]  # of those that want the same place, one gets it
            left = np.flatnonzero(index[at] != slots)
            slots = slots[left]
            step += 1
            at = self._next(at[left], step)
