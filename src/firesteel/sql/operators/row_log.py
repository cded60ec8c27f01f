"""Rows in columns, in the order in which they came: as many as there are of them, without room to spare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.columns import LateArrays, taker

__all__ = ["RowLog"]

Array = np.ndarray[Any, Any]
#: So many pieces that follow each other and are about as large become one, which is on the next level: a row
#: is copied a few times in its life, and there are few pieces.
_TOGETHER: Final = 4
_MOST_BYTES: Final = 64 << 20  # of a piece that is put together


class RowLog:
    """Rows are found by their number."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = types
        self._pieces: list[list[pa.Array]] = []
        self._levels: list[int] = []  # of pieces: about the logarithm of their size
        self._ends = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for piece in self._pieces for array in piece)

    def sizes(self, rows: Array) -> Array:
        """About how many bytes each of some rows has."""
        every = [_sizes(piece) for piece in self._pieces]
        return np.concatenate(every)[rows] if every else np.zeros(0)

    def append(self, arrays: Sequence[pa.Array], count: int) -> int:
        """Add rows; the number of the first one."""
        first = len(self)
        if not count:
            return first
        self._pieces.append([_copied(array) for array in arrays])
        self._levels.append(count.bit_length() // 2)
        sizes = [*np.diff(self._ends, prepend=0).tolist(), count]
        while (start := self._together()) is not None:
            parts = self._pieces[start:]
            self._pieces[start:] = [[pa.concat_arrays(column) for column in zip(*parts, strict=True)]]
            sizes[start:] = [sum(sizes[start:])]
            self._levels[start:] = [max(self._levels[start] + 1, sizes[-1].bit_length() // 2)]
        self._ends = np.cumsum(sizes)
        return first

    def _together(self) -> int | None:
        """The first of the last pieces that are to become one; None: they stay."""
        levels = self._levels
        level, start = levels[-1], len(levels)
        while start and levels[start - 1] <= level:
            start -= 1
        if len(levels) - start < _TOGETHER:
            return None
        held = sum(array.nbytes for piece in self._pieces[start:] for array in piece)
        return start if held <= _MOST_BYTES else None

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
        take = _taker(self._pieces, self._ends, rows)
        return [take(i) for i in chosen]

    def take_late(self, rows: Array) -> LateArrays:
        """The same, each column when it is asked for, whatever is added meanwhile."""
        types, pieces, ends = self._types, list(self._pieces), self._ends
        taker = cache(lambda: _taker(pieces, ends, rows))
        return LateArrays(len(types), lambda i: taker()(i) if len(rows) else pa.array([], types[i]))


def _taker(pieces: Sequence[list[pa.Array]], ends: Array, rows: Array) -> Callable[[int], pa.Array]:
    """What takes some rows, at least one, of a column of pieces that end at *ends*."""
    of = np.searchsorted(ends, rows, side="right")
    low, high = int(of.min()), int(of.max())
    if low == high:
        return _taker_of(pieces[low], rows - _start(ends, low))
    order = np.argsort(of, kind="stable")
    cuts = np.searchsorted(of[order], np.arange(low, high + 2))
    parts = [
        _taker_of(pieces[low + i], rows[order[start:stop]] - _start(ends, low + i))
        for i, (start, stop) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
        if start < stop
    ]
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    places = pa.array(back)
    return lambda column: pa.concat_arrays([take(column) for take in parts]).take(places)


def _start(ends: Array, piece: int) -> int:
    return int(ends[piece - 1]) if piece else 0


def _taker_of(arrays: Sequence[pa.Array], rows: Array) -> Callable[[int], pa.Array]:
    """The same of one piece."""
    take = taker(rows)
    return lambda column: take(arrays[column])


def _copied(array: pa.Array) -> pa.Array:
    """The same values in buffers of their own: those that they come in may be a part of larger ones."""
    half = len(array) // 2
    return pa.concat_arrays([array.slice(0, half), array.slice(half)])


def _sizes(arrays: Sequence[pa.Array]) -> Array:
    """Of each row: texts and bytes as long as they are, everything else as it is on average."""
    sizes = np.zeros(len(arrays[0]))
    for array in arrays:
        if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
            sizes += pc.binary_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        else:
            sizes += array.nbytes / max(1, len(array))
    return sizes
