"""Keys that are gone in the middle of a batch and come again: each time they begin anew.

With retractions the rows of a key are cut into *lives*: one ends with the row that takes the last one back. A
retraction while a key has no row is for a row that was never seen here, or whose state has expired, and is
passed over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Lives", "lives_of"]

Array = np.ndarray[Any, Any]


class Lives(NamedTuple):
    """
    :ivar starts: where each life starts among the rows that are kept; none is empty.
    :ivar total: how many rows are kept. :ivar kept: which; None: all.
    :ivar owner: for each life its key; None: each key has one.
    :ivar continued: whether a life goes on with what there was before the batch; None: all do.
    """

    starts: Array
    total: int
    kept: Array | None
    owner: Array | None = None
    continued: Array | None = None

    def owners(self, keys: int) -> Array | None:
        return self.owner

    def final(self, lives: int) -> Array:
        """Which lives are the last of their keys."""
        if self.owner is None:
            return np.ones(lives, bool)
        last = np.ones(lives, bool)
        last[:-1] = self.owner[1:] != self.owner[:-1]
        return last


def lives_of(starts: Array, signs: Array, counts: Array) -> Lives:
    """The lives in rows sorted by key.

    :param starts: where each key starts. :param signs: of rows. :param counts: the rows that a key had
        before.
    """
    rows, keys = len(signs), len(starts)
    lengths = np.diff(np.append(starts, rows))
    index = np.repeat(np.arange(keys), lengths)
    sums = np.cumsum(signs)
    running = sums - (sums[starts] - signs[starts])[index] + counts[index]
    # Ends in the middle, or a retraction at nothing: only such keys are looked at row by row.
    last = np.append(starts[1:], rows) - 1
    inner = running <= 0
    inner[last] = running[last] < 0
    suspicious = np.unique(index[inner])
    if not len(suspicious):
        return Lives(starts, rows, None)
    begins = np.zeros(rows, bool)
    begins[starts] = True
    keep = np.ones(rows, bool)
    fresh = np.zeros(rows, bool)  # the row begins a life that continues nothing
    for key in suspicious.tolist():
        start, length, count = int(starts[key]), int(lengths[key]), int(counts[key])
        begins[start] = False
        begin, new = True, False
        for row, sign in enumerate(signs[start : start + length].tolist(), start):
            if sign < 0 and count <= 0:
                keep[row] = False
                continue
            if begin:
                begins[row], fresh[row], begin = True, new, False
            count += sign
            if count <= 0:
                begin = new = True
    kept = np.flatnonzero(keep)
    begins, fresh, index = begins[kept], fresh[kept], index[kept]
    at = np.flatnonzero(begins)
    return Lives(at, len(kept), kept if len(kept) < rows else None, index[at], ~fresh[at])
