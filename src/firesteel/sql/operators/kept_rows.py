"""Whole rows that state refers to by number: columns in memory, ``PackedRows`` in entries.

Nothing is decoded to read a row again, and only what is left at the end of an epoch becomes bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import LateArrays
from firesteel.sql.arrow import arrow_type
from firesteel.sql.operators.packed_rows import PackedRows
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.operators.row_log import RowLog
from firesteel.sql.types import DataType, RowType
from firesteel.sql.values import array_of, values_of

__all__ = ["KeptRows"]

Array = np.ndarray[Any, Any]
#: So many rows are packed, unpacked or moved at once, and so many bytes: Arrow's offsets have 31 bits.
_AT_ONCE: Final = 1 << 12
_AT_ONCE_BYTES: Final = 256 << 20
#: As long as there are no more rows than that, those that nobody refers to are left where they are.
_FEW: Final = 1 << 13


class KeptRows:
    """Rows have numbers, by which who keeps them refers to them."""

    def __init__(self, row: RowType) -> None:
        self._kinds = row.types
        self._types = [arrow_type(kind) for kind in row.types]
        self._packed = PackedRows(row)
        self._codec = RowCodec(row)
        self._log = RowLog(self._types)
        self._limit = _FEW

    def __len__(self) -> int:
        return len(self._log)

    def append(self, arrays: Sequence[pa.Array], count: int) -> int:
        """Add rows; the number of the first one."""
        return self._log.append(list(map(_fitted, arrays, self._kinds, self._types)), count)

    def take(self, numbers: Array) -> list[pa.Array]:
        """The columns of some rows."""
        return self._log.take(numbers)

    def take_late(self, numbers: Array) -> LateArrays:
        """The same, each when it is asked for, of the rows as they are now."""
        return self._log.take_late(numbers)

    # ---- bytes

    def names(self, arrays: Sequence[pa.Array], count: int) -> list[bytes]:
        """The bytes of rows that need not be kept: equal rows have equal ones."""
        return self._packed.pack(arrays, count, range(1, count + 1))

    def pack(self, numbers: Array, ends: Array) -> list[bytes]:
        """The bytes of groups of rows. :param ends: where the rows of each group end, none of which is
        empty."""
        pieces: list[bytes] = []
        for first, last in _parts(ends, _bytes_until(self._log, numbers, ends)):
            start = int(ends[first - 1]) if first else 0
            stop = int(ends[last - 1])
            stops = (ends[first:last] - start).tolist()
            pieces += self._packed.pack(self.take(numbers[start:stop]), stop - start, stops)
        return pieces

    def unpack(self, pieces: Sequence[bytes]) -> Array:
        """Add the rows of pieces; the number of each row."""
        first = len(self)
        sizes = np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))
        for start, stop in _parts(np.arange(1, len(pieces) + 1), sizes):
            self.append(*self._packed.unpack(pieces[start:stop]))
        return np.arange(first, len(self))

    def decode(self, rows: Sequence[bytes]) -> Array:
        """The same of rows as ``RowCodec`` has them, which is how earlier releases have stored them."""
        first = self.append(self._codec.decode(rows), len(rows))
        return np.arange(first, len(self))

    # ---- rows that nobody refers to

    @property
    def may_be_tidied(self) -> bool:
        """Whether it is worth while to find out which rows are still referred to."""
        return len(self) > self._limit

    def keep(self, numbers: Array) -> bool:
        """Forget all rows but these, unless they are the greater part.

        :return: whether it was done: they are numbered from 0 on now, in the order in which they were given.
        """
        count = len(numbers)
        is_less = 2 * count < len(self)
        if is_less:
            old = self._log
            self._log = RowLog(self._types)
            ends = np.arange(1, count + 1)
            for start, stop in _parts(ends, _bytes_until(old, numbers, ends)):
                self._log.append(old.take(numbers[start:stop]), stop - start)
        self._limit = max(_FEW, 2 * count)
        return is_less

    def clear(self) -> None:
        """Forget all rows."""
        self._log = RowLog(self._types)
        self._limit = _FEW


def _fitted(array: pa.Array, kind: DataType, arrow: pa.DataType) -> pa.Array:
    return array if array.type == arrow else array_of(values_of(array, kind), kind)


def _bytes_until(log: RowLog, numbers: Array, ends: Array) -> Array | None:
    """How many bytes the rows up to each end have; None: all that are held are few."""
    return None if log.nbytes <= _AT_ONCE_BYTES else np.cumsum(log.sizes(numbers))[ends - 1]


def _parts(ends: Array, sizes: Array | None) -> Iterator[tuple[int, int]]:
    """Groups that are worked on together: the first one, and the one behind the last.

    :param ends: where the rows of each group end. :param sizes: how many bytes the rows up to there have;
        None: they are few.
    """
    first = 0
    while first < len(ends):
        start = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, start + _AT_ONCE, side="right"))
        if sizes is not None:
            before = sizes[first - 1] if first else 0
            last = min(last, int(np.searchsorted(sizes, before + _AT_ONCE_BYTES, side="right")))
        last = max(last, first + 1)
        yield first, last
        first = last
