"""Rows in columns, in the order in which they came: as many as there are of them, without room to spare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

__all__ = ["RowLog"]

Array = np.ndarray[Any, Any]
#: Pieces are put together with the one before them until that is so many times as large: a row is copied a
#: few times in its life, and there are few pieces.
_RATIO: Final = 4
_MOST_BYTES: Final = 64 << 20  # of a piece that is put together


class RowLog:
    """Rows are found by their number."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = types
        self._pieces: list[list[pa.Array]] = []
        self._ends = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for piece in self._pieces for array in piece)

    def append(self, arrays: Sequence[pa.Array], count: int) -> int:
        """Add rows; the number of the first one."""
        first = len(self)
        if not count:
            return first
        pieces = self._pieces
        sizes = np.diff(self._ends, prepend=0).tolist()
        put_together, size, held = [list(arrays)], count, sum(a.nbytes for a in arrays)
        while pieces and sizes[-1] < _RATIO * size:
            more = sum(a.nbytes for a in pieces[-1])
            if held + more > _MOST_BYTES:
                break
            put_together.append(pieces.pop())
            size += sizes.pop()
            held += more
        put_together.reverse()
        pieces.append([pa.concat_arrays(parts) for parts in zip(*put_together, strict=True)])
        self._ends = np.cumsum([*sizes, size])
        return first

    def range(self, start: int, stop: int) -> list[list[pa.Array]]:
        """The columns of the rows from *start* up to *stop*, in parts, without a copy."""
        parts = []
        first = int(np.searchsorted(self._ends, start, side="right"))
        for piece in range(first, len(self._pieces)):
            low = int(self._ends[piece - 1]) if piece else 0
            if low >= stop:
                break
            begin = max(start, low)
            length = min(stop, int(self._ends[piece])) - begin
            parts.append([array.slice(begin - low, length) for array in self._pieces[piece]])
        return parts

    def take(self, rows: Array, columns: Sequence[int] | None = None) -> list[pa.Array]:
        """The columns of some rows; *columns*: some of them."""
        chosen = range(len(self._types)) if columns is None else columns
        if not len(rows):
            return [pa.array([], self._types[i]) for i in chosen]
        pieces = np.searchsorted(self._ends, rows, side="right")
        low, high = int(pieces.min()), int(pieces.max())
        if low == high:
            return self._take_of(low, rows, chosen)
        order = np.argsort(pieces, kind="stable")
        cuts = np.searchsorted(pieces[order], np.arange(low, high + 2))
        parts = [
            self._take_of(low + i, rows[order[start:stop]], chosen)
            for i, (start, stop) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
            if start < stop
        ]
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        places = pa.array(back)
        return [pa.concat_arrays(arrays).take(places) for arrays in zip(*parts, strict=True)]

    def _take_of(self, piece: int, rows: Array, columns: Sequence[int]) -> list[pa.Array]:
        start = int(self._ends[piece - 1]) if piece else 0
        stop = int(self._ends[piece])
        if len(rows) == stop - start and np.array_equal(rows, np.arange(start, stop)):
            return [self._pieces[piece][i] for i in columns]
        places = pa.array(rows - start)
        return [self._pieces[piece][i].take(places) for i in columns]
