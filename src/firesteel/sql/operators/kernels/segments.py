"""Rows sorted by key: what runs over them within each key.

A *segment* is the rows of one key, in their order. ``base`` of a scan is what was there before the first row
of each segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from firesteel.state.columns import CanonicalKey

__all__ = ["Array", "Segments"]

Array = np.ndarray[Any, Any]
_WIDE: Final = 1 << 62


class Segments:
    """
    :param starts: where each segment starts; none is empty.
    :param count: how many rows there are.
    :param names: the identity of the key of each segment. :param keys: its canonical form.
    :param owners: the number of the key of each segment, where a key may have several; None: each has one.

    :ivar index: for each row its segment. :ivar last: for each segment its last row.
    """

    __slots__ = ("_rank", "count", "index", "keys", "last", "names", "owners", "starts")

    def __init__(
        self,
        starts: Array,
        count: int,
        names: Sequence[Any] = (),
        keys: Sequence[CanonicalKey] = (),
        owners: Array | None = None,
    ) -> None:
        self.owners = owners
        self.starts = starts
        self.count = count
        self.names = names
        self.keys = keys
        self.last = np.append(starts[1:], count) - 1
        self.index = np.repeat(np.arange(len(starts)), self.last + 1 - starts)
        self._rank: Array | None = None

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def rank(self) -> Array:
        """For each row how many there are before it in its segment."""
        if self._rank is None:
            self._rank = np.arange(self.count) - self.starts[self.index]
        return self._rank

    def running(self, values: Array) -> Array:
        """The sum up to and with each row; of integers, which wrap, or of Python's own."""
        sums = np.cumsum(values)
        before = sums[self.starts] - values[self.starts]
        running: Array = sums - before[self.index]
        return running

    def sums(self, values: Array) -> Array:
        return np.add.reduceat(values, self.starts)

    def running_floats(self, values: Array, base: Array) -> Array:
        """The same of floats, added one by one in order, as their result depends on it; with the base."""
        lengths = self.last + 1 - self.starts
        longest = int(lengths.max(initial=0))
        out = np.empty(self.count, base.dtype)
        if len(self) <= longest:
            stops = (self.last + 1).tolist()
            for i, (start, stop) in enumerate(zip(self.starts.tolist(), stops, strict=True)):
                part = np.concatenate([base[i : i + 1], values[start:stop].astype(base.dtype, copy=False)])
                out[start:stop] = np.cumsum(part, dtype=base.dtype)[1:]
            return out
        now = base.copy()
        active = np.arange(len(self))
        for step in range(longest):
            active = active[lengths[active] > step]
            rows = self.starts[active] + step
            now[active] += values[rows]
            out[rows] = now[active]
        return out

    def scan(self, operation: np.ufunc, values: Array) -> Array:
        """What *operation*, which is associative, makes of all values up to and with each row."""
        if operation in (np.maximum, np.minimum) and values.dtype == np.int64 and len(values):
            low, high = int(values.min()), int(values.max())
            if len(self) * (high - low + 1) < _WIDE:  # each segment is moved out of the reach of the others
                step = high - low + 1 if operation is np.maximum else low - high - 1
                moved = self.index * step - low
                scanned: Array = operation.accumulate(values + moved) - moved
                return scanned
        out = values.copy()
        step = 1
        rows = np.flatnonzero(self.rank)
        while len(rows):
            out[rows] = operation(out[rows], out[rows - step])
            step *= 2
            rows = rows[self.rank[rows] >= step]
        return out

    def fold(self, operation: np.ufunc, values: Array) -> Array:
        """The same of whole segments."""
        return operation.reduceat(values, self.starts)
