"""Rows in flight as columns: what a batch holds between two operators of a Table program.

A ``Columns`` stands where a batch of objects has its list of values: it has a length, and slices of it are
``Columns`` too and copy nothing. Arrow is imported with this module, so nothing imports it that a
program without tables needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, cast, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = [
    "DELETE",
    "INSERT",
    "UPDATE_AFTER",
    "UPDATE_BEFORE",
    "Columns",
    "LateArrays",
    "as_values",
    "beside",
    "columns_in",
    "objects",
    "taker",
]

# The numbers of common.types.RowKind.
INSERT: Final = 0
UPDATE_BEFORE: Final = 1
UPDATE_AFTER: Final = 2
DELETE: Final = 3

Kinds = np.ndarray[Any, np.dtype[np.int8]]


class LateArrays(Sequence[pa.Array]):
    """Columns each of which is made when it is asked for the first time: rows that are gathered from others
    are often filtered, projected or thrown away by who gets them. Making one must neither fail nor depend on
    what changes later.

    :param count: how many columns there are. :param make: makes the one of a number.
    """

    __slots__ = ("_made", "_make", "_missing")

    def __init__(self, count: int, make: Callable[[int], pa.Array]) -> None:
        self._made: list[pa.Array | None] = [None] * count
        self._missing = count
        self._make: Callable[[int], pa.Array] | None = make

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> pa.Array: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[pa.Array, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self._made))))
        made = self._made[index]
        if made is None and self._make is not None:
            made = self._made[index] = self._make(index % len(self._made))
            self._missing -= 1
            if not self._missing:
                self._make = None  # what they were made of may go
        return made

    def __reduce__(self) -> Any:
        return tuple, (tuple(self),)


def beside(first: Sequence[pa.Array], second: Sequence[pa.Array]) -> LateArrays:
    """The columns of *first*, and behind them those of *second*."""
    width = len(first)
    return LateArrays(width + len(second), lambda i: first[i] if i < width else second[i - width])


def taker(places: np.ndarray[Any, Any]) -> Callable[[pa.Array], pa.Array]:
    """What takes the rows at *places* of a column; those from the first one on without a copy."""
    count = len(places)
    if np.array_equal(places, np.arange(count)):
        return lambda array: array.slice(0, count)
    at = pa.array(places)
    return lambda array: array.take(at)


class Columns:
    """Rows in order as one Arrow array for each column, and the kind of each row.

    :param arrays: ``LateArrays`` stay late.
    :param kinds: ``int8`` of each row (a ``RowKind`` value); None: all are INSERT.
    """

    __slots__ = ("arrays", "kinds", "length")

    arrays: Sequence[pa.Array]

    def __init__(self, arrays: Sequence[pa.Array], length: int, kinds: Kinds | None = None) -> None:
        self.arrays = arrays if type(arrays) is LateArrays else tuple(arrays)
        self.length = length
        self.kinds = kinds

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, part: slice) -> Columns:
        start, stop, step = part.indices(self.length)
        if step != 1:
            raise ValueError("columns are sliced without a step")
        length = max(stop - start, 0)
        kinds = None if self.kinds is None else self.kinds[start:stop]
        every = self.arrays
        if type(every) is LateArrays:
            return Columns(LateArrays(len(every), lambda i: every[i].slice(start, length)), length, kinds)
        return Columns([a.slice(start, length) for a in every], length, kinds)

    def take(self, indices: Any) -> Columns:
        """Return the rows at *indices* (NumPy or Arrow integers; a null index gives a row of nulls)."""
        taken = [a.take(pa.array(indices)) for a in self.arrays]
        kinds = None if self.kinds is None else self.kinds[np.asarray(indices)]
        return Columns(taken, len(indices), kinds)

    def take_late(self, indices: np.ndarray[Any, Any]) -> Columns:
        """As ``take``, for rows that leave: each column is taken when it is asked for."""
        every, at = self.arrays, pa.array(indices)
        kinds = None if self.kinds is None else self.kinds[indices]
        return Columns(LateArrays(len(every), lambda i: every[i].take(at)), len(indices), kinds)

    def filter(self, mask: Any) -> Columns:
        """Return the rows where *mask*, a NumPy array of booleans, is true."""
        keep = pa.array(mask)
        kinds = None if self.kinds is None else self.kinds[np.asarray(mask)]
        return Columns([pc.filter(a, keep) for a in self.arrays], int(np.count_nonzero(mask)), kinds)

    def settled(self) -> Columns:
        """Return the same rows with all columns made, for who keeps them: late ones hold what they are made
        of."""
        return Columns(tuple(self.arrays), self.length, self.kinds)

    def with_arrays(self, arrays: Sequence[pa.Array]) -> Columns:
        """Return the same rows with other columns."""
        return Columns(arrays, self.length, self.kinds)

    def with_kinds(self, kinds: Kinds | None) -> Columns:
        return Columns(self.arrays, self.length, kinds)

    def kinds_or_inserts(self) -> Kinds:
        """Return the kind of each row, also where all are INSERT."""
        return np.zeros(self.length, np.int8) if self.kinds is None else self.kinds

    @staticmethod
    def concat(parts: Sequence[Columns]) -> Columns:
        """Return all rows of *parts*, at least one, in order."""
        if len(parts) == 1:
            return parts[0]
        every = [p.arrays for p in parts]
        arrays: Sequence[pa.Array]
        if any(type(of_part) is LateArrays for of_part in every):
            arrays = LateArrays(len(every[0]), lambda i: pa.concat_arrays([of[i] for of in every]))
        else:
            arrays = [pa.concat_arrays(column) for column in zip(*every, strict=True)]
        kinds = None
        if any(p.kinds is not None for p in parts):
            kinds = np.concatenate([p.kinds_or_inserts() for p in parts])
        return Columns(arrays, sum(p.length for p in parts), kinds)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield each row as a tuple of Python values, without its kind."""
        if not len(self.arrays):
            yield from ((),) * self.length
        yield from zip(*(a.to_pylist() for a in self.arrays), strict=True)

    def __repr__(self) -> str:
        return f"Columns({list(self.rows())!r}, {self.kinds!r})"


def as_values(columns: Columns) -> list[Any]:
    """Return *columns* itself, for where a batch of objects has its list of values."""
    return cast("list[Any]", columns)


def columns_in(values: Sequence[Any]) -> Columns:
    """Return the columns that stand where a batch of objects has its list of values."""
    found: object = values
    assert isinstance(found, Columns)
    return found


def objects(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return *values*, whatever they are, as an array of as many objects."""
    return np.fromiter(values, object, len(values))
