"""A log of rows and where those of each key are: one side of a join, as far as it is in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import LateArrays
from firesteel.sql.arrow import arrow_type
from firesteel.sql.operators.hash_index import RunIndex, mixed
from firesteel.sql.operators.row_log import RowLog
from firesteel.sql.types import RowType
from firesteel.state.column_keys import group_rows, identities, is_integer_like, number_identities

__all__ = ["KeyedLog"]

Array = np.ndarray[Any, Any]


class KeyedLog:
    """Rows, and where those of a key are.

    :param keys: columns of the rows that are their key.
    :param nulls: whether a column of a key may be null.
    """

    def __init__(self, row: RowType, keys: Sequence[int], nulls: bool) -> None:
        self._types = [arrow_type(kind) for kind in row.types]
        self._keys = keys
        #: No two keys have one hash.
        self._is_exact = len(keys) == 1 and is_integer_like(self._types[keys[0]]) and not nulls
        self._clear()

    def _clear(self) -> None:
        self.log = RowLog(self._types)
        self.index = RunIndex()
        self._forgotten = 0  # rows that are no key's any more

    def key_arrays(self, rows: Array) -> list[pa.Array]:
        """The columns of the keys of rows."""
        return self.log.take(rows, self._keys)

    def names_of(self, rows: Array) -> list[Any]:
        """The identities of the keys of rows."""
        return identities(self.key_arrays(rows), len(rows))

    def find(self, names: Sequence[Any]) -> Array:
        """The newest run of each of some keys, or ``NOTHING``."""
        return self._find(names, apart=False)[1]

    def _find(self, names: Sequence[Any], apart: bool) -> tuple[Array, Array]:
        """The hash under which each key is, or would be, and its newest run.

        :param apart: keys that are new have different hashes, too.
        """
        hashes = self._hashes(names)
        runs = self.index.find(hashes)
        while not self._is_exact and len(taken := self._taken(names, hashes, runs, apart)):
            hashes[taken] = mixed(hashes[taken])
            runs[taken] = self.index.find(hashes[taken])
        return hashes, runs

    def _hashes(self, names: Sequence[Any]) -> Array:
        numbers = names if self._is_exact else list(map(hash, names))
        return mixed(np.asarray(numbers, np.int64))

    def _taken(self, names: Sequence[Any], hashes: Array, runs: Array, apart: bool) -> Array:
        """Which keys have the hash of another one."""
        there = np.flatnonzero(runs >= 0)
        found = self.names_of(self.index.starts[runs[there]])
        wanted = [names[i] for i in there.tolist()]
        taken = np.zeros(len(names), bool)
        if found != wanted:
            taken[there] = [a != b for a, b in zip(found, wanted, strict=True)]
        if apart:
            new = np.flatnonzero(runs < 0)
            firsts = np.unique(hashes[new], return_index=True)[1]
            taken[np.delete(new, firsts)] = True
        return np.flatnonzero(taken)

    def append(self, names: Sequence[Any], lengths: Array, arrays: Sequence[pa.Array]) -> None:
        """Add rows, those of each of some keys together; the keys differ."""
        starts = np.cumsum(lengths) - lengths
        if self._is_exact:  # the names are not looked at
            hashes = mixed(number_identities(arrays[self._keys[0]])[0][starts])
        else:
            hashes, _ = self._find(names, apart=True)
        first = self.log.append(arrays, int(lengths.sum()))
        self.index.append(hashes, first + starts, lengths)

    def add(self, arrays: Sequence[pa.Array], count: int) -> None:
        """Add rows whose keys are not together."""
        of_keys = group_rows([arrays[i] for i in self._keys], count)
        starts = np.arange(count)
        if of_keys.count < count:
            order, starts = of_keys.order()
            at = pa.array(order)
            arrays = [array.take(at) for array in arrays]
        names: Sequence[Any] = ()
        if not self._is_exact:
            firsts = pa.array(starts)
            names = identities([arrays[i].take(firsts) for i in self._keys], of_keys.count)
        self.append(names, np.diff(starts, append=count), arrays)

    def keys(self) -> tuple[list[pa.Array], int]:
        """The columns of all keys that have rows, and how many keys there are."""
        newest = self.index.newest()
        rows = self.index.starts[newest[self.index.lengths[newest] > 0]]
        return self.key_arrays(rows), len(rows)

    def look(self, names: Sequence[Any]) -> tuple[Array, LateArrays]:
        """How many rows each of some keys has, and the columns of all of them, key after key."""
        counts, rows = self.index.rows_of(self.find(names))
        return counts, self.log.take_late(rows)

    def forget(self, name: Any) -> None:
        """Know nothing of a key any more."""
        runs = self.find([name])
        if runs[0] >= 0:
            self._forgotten += self.index.empty(int(runs[0]))
        if 2 * self._forgotten > len(self.log):
            self._keep(self.index.newest())

    def keep_newest(self, share: float) -> None:
        """Keep about this share of the keys, those that something was added to last."""
        newest = np.sort(self.index.newest())
        self._keep(newest[len(newest) - int(len(newest) * share) :])

    def _keep(self, chains: Array) -> None:
        rows = np.sort(self.index.rows_of(chains)[1])
        arrays = self.log.take(rows)
        self._clear()
        if len(rows):
            self.add(arrays, len(rows))
