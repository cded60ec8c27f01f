"""Pairs of the rows of a batch and the rows that the other side of a join holds for their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.sql.operators.hash_index import expanded
from firesteel.sql.operators.kernels import Segments
from firesteel.state.columns import CanonicalKey

__all__ = ["Candidates", "HeldRows"]

Array = np.ndarray[Any, Any]


class HeldRows(NamedTuple):
    """Where held rows are, for joins that count partners.

    :ivar bodies: the rows. :ivar names, keys, ids: what finds them.
    """

    bodies: list[bytes]
    names: list[Any]
    keys: list[CanonicalKey]
    ids: list[bytes]

    def place(self, row: int) -> tuple[Any, CanonicalKey, bytes]:
        """What finds a held row."""
        return self.names[row], self.keys[row], self.ids[row]


class Candidates(NamedTuple):
    """
    :ivar rows: for each pair the row of the batch. :ivar at: the held row, by its number below.
    :ivar arrays: the columns of the held rows. :ivar times: how often each of them is there; None: once.
    :ivar held: where they are; None where nobody asks.
    """

    rows: Array
    at: Array
    arrays: Sequence[pa.Array]
    times: Array | None = None
    held: HeldRows | None = None

    @classmethod
    def of(
        cls,
        segments: Segments,
        counts: Array,
        arrays: Sequence[pa.Array],
        times: Array | None = None,
        held: HeldRows | None = None,
    ) -> Candidates:
        """:param counts: how many held rows the key of each segment has; they lie key after key."""
        firsts = np.cumsum(counts) - counts
        of_rows = counts[segments.index]
        rows = np.repeat(np.arange(segments.count), of_rows)
        return cls(rows, expanded(firsts[segments.index], of_rows), arrays, times, held)

    @property
    def repeated(self) -> Array:
        """For each pair how often its held row is there."""
        return np.ones(len(self.at), np.int64) if self.times is None else self.times[self.at]
