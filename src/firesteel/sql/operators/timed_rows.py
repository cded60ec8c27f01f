"""Rows that wait by key and time, with an index by time: of windows, of OVER, of joins by time.

They lie in ``table maps``: for each key and time a list of rows (``row_values``), in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.batch import MIN_WATERMARK
from firesteel.sql.operators.base import arrow_types
from firesteel.sql.operators.map_state import MapsColumn, maps_state
from firesteel.sql.operators.slices import instants_of
from firesteel.sql.types import RowType
from firesteel.state.backend import OperatorState
from firesteel.state.column_keys import (
    canonical_column_keys,
    group_rows,
    hash_codes,
    identities,
    row_arrays,
    row_values,
)
from firesteel.state.columns import CanonicalKey

__all__ = ["KeptProgress", "TimedRows", "names_of", "rows_of_keys"]

Array = np.ndarray[Any, Any]
RowValues = tuple[Any, ...]


def names_of(keys: Sequence[pa.Array], count: int) -> tuple[list[Any], list[CanonicalKey]]:
    """The identities and canonical forms of the keys in key columns."""
    names = identities(keys, count)
    return names, canonical_column_keys(names, hash_codes(keys, count))


def rows_of_keys(
    rows: Columns, keys: Sequence[pa.Array], times: Array
) -> Iterator[tuple[Any, CanonicalKey, int, list[RowValues]]]:
    """The rows of each pair of a key and a time: the identity and canonical form of the key, the time, the
    rows in their order; pairs as they first occur."""
    groups = group_rows([*keys, pa.array(times)], len(rows))
    order, starts = groups.order()
    values = row_values(rows.take(order).arrays, len(rows))
    first = pa.array(groups.first)
    names, canonical = names_of([key.take(first) for key in keys], groups.count)
    bounds = [*starts.tolist(), len(values)]
    for i, time in enumerate(times[groups.first].tolist()):
        yield names[i], canonical[i], time, values[bounds[i] : bounds[i + 1]]


class TimedRows:
    """
    :param row: the type of the rows.
    """

    def __init__(
        self, state: OperatorState, name: str, row: RowType, shape: str = "", ttl_ms: int = 0
    ) -> None:
        self._maps: MapsColumn = maps_state(state, name, shape, ttl_ms)
        self.types = arrow_types(row)
        self._index: dict[int, dict[Any, CanonicalKey]] = {}
        self._seen = -1

    def refresh(self) -> bool:
        """Know again what there is, where it may have changed without the operator; whether it may have."""
        if self._seen == self._maps.generation:
            return False
        self._index.clear()
        for name, key in self._maps.names():
            for time in self._maps.of(name, key):
                self._index.setdefault(cast(int, time), {})[name] = key
        self._seen = self._maps.generation
        return True

    # ---- of one key

    def times(self, name: Any, key: CanonicalKey) -> list[int]:
        """The times for which a key has rows, in order."""
        return sorted(cast(dict[int, Any], self._maps.of(name, key)))

    def at(self, name: Any, key: CanonicalKey, time: int) -> list[Any]:
        return self._maps.get(name, key, time) or []

    def add(self, name: Any, key: CanonicalKey, time: int, rows: Sequence[Any]) -> None:
        self.set(name, key, time, [*self.at(name, key, time), *rows])

    def add_all(self, rows: Columns, keys: Sequence[pa.Array], times: Array) -> None:
        """Add each row to those of its key, of which *keys* are the columns, and time."""
        for name, key, time, group in rows_of_keys(rows, keys, times):
            self.add(name, key, time, group)

    def set(self, name: Any, key: CanonicalKey, time: int, rows: list[Any]) -> None:
        """Replace the rows of a key and time, for which ``at`` or ``times`` was asked before."""
        if rows:
            self._maps.put(name, time, rows)
            self._index.setdefault(time, {})[name] = key
        else:
            self.remove(name, key, time)

    def remove(self, name: Any, key: CanonicalKey, time: int) -> None:
        if self._maps.get(name, key, time) is not None:
            self._maps.remove(name, time)
        names = self._index.get(time)
        if names is not None:
            names.pop(name, None)
            if not names:
                del self._index[time]

    # ---- of all keys

    def until(self, time: int) -> list[int]:
        """The times up to *time*, inclusive, in order."""
        return sorted(t for t in self._index if t <= time)

    def due(self, watermark: int, zone: str) -> list[int]:
        """The times that are ends of windows, as the clocks of *zone* show them, which *watermark* has
        passed; in order."""
        ends = np.array(sorted(self._index), np.int64)
        passed: list[int] = ends[instants_of(ends, zone) - 1 <= watermark].tolist()
        return passed

    def first(self) -> int | None:
        return min(self._index, default=None)

    def keys(self) -> dict[Any, CanonicalKey]:
        """All keys that have rows."""
        return {name: key for names in self._index.values() for name, key in names.items()}

    def keys_at(self, time: int) -> list[tuple[Any, CanonicalKey]]:
        return list(self._index.get(time, {}).items())

    def pop(self, time: int) -> Iterator[tuple[Any, CanonicalKey, list[Any]]]:
        """Remove what there is for a time; yield key and rows."""
        for name, key in self.keys_at(time):
            rows = self.at(name, key, time)
            self.remove(name, key, time)
            yield name, key, rows

    def columns(self, rows: Sequence[RowValues]) -> Columns:
        return Columns(row_arrays(rows, self.types), len(rows))


class KeptProgress:
    """How far event time has come, kept in state: after a restore from a savepoint, where watermarks begin
    anew, what was late stays late."""

    def __init__(self, state: OperatorState) -> None:
        self._state = state.union_list_state("progress")
        self._kept = MIN_WATERMARK
        self.value = MIN_WATERMARK

    def begin(self, watermark: int) -> None:
        self._kept = min(self._state.get(), default=MIN_WATERMARK)
        self.value = max(self._kept, watermark)

    def move(self, watermark: int) -> None:
        self.value = max(self.value, watermark)

    def end(self) -> None:
        if self.value != self._kept:
            self._kept = self.value
            self._state.update([self.value])
