"""Rows that wait: for the watermark, for the end of their window, for those of another input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.map_state import MapsColumn, maps_state
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.types import RowType
from firesteel.state.backend import OperatorState
from firesteel.state.column_keys import canonical_column_keys, group_rows, hash_codes, identities
from firesteel.state.columns import CanonicalKey

__all__ = ["TimedRows", "WindowRows"]

Array = np.ndarray[Any, Any]


class WindowRows:
    """The rows of each key and window, in the order in which they came. They lie under (window end, key
    columns)."""

    def __init__(self, state: OperatorState, name: str, row: RowType, keys: Sequence[int]) -> None:
        self.codec = RowCodec(row)
        self._keys = keys
        self._rows: MapsColumn = maps_state(state, name)
        self._of: dict[int, dict[Any, CanonicalKey]] = {}
        self._generation = -1

    def begin_epoch(self) -> None:
        if self._generation != self._rows.generation:
            self._of.clear()
            for name, key in self._rows.names():
                self._of.setdefault(name[0], {})[name] = key
            self._generation = self._rows.generation

    @property
    def ends(self) -> Iterable[int]:
        return self._of.keys()

    def names(self, end: int) -> dict[Any, CanonicalKey]:
        """The keys that have rows in a window."""
        return self._of.get(end, {})

    def add(self, columns: Columns, ends: Array) -> None:
        keys = [columns.arrays[i] for i in self._keys]
        windows = pa.array(ends, pa.int64())
        groups = group_rows([windows, *keys], len(columns))
        first = pa.array(groups.first)
        found = [k.take(first) for k in keys]
        names = identities([windows.take(first), *found], groups.count)
        canonical = canonical_column_keys(names, hash_codes(found, groups.count))
        counts = []
        for name, key in zip(names, canonical, strict=True):
            self._of.setdefault(name[0], {})[name] = key
            held = self._rows.of(name, key)
            counts.append(max(held, default=-1) + 1)  # type: ignore[call-overload]
        put = self._rows.put
        for group, body in zip(groups.codes.tolist(), self.codec.encode(columns), strict=True):
            put(names[group], counts[group], body)
            counts[group] += 1

    def take(self, end: int, name: Any, key: CanonicalKey) -> list[bytes]:
        """The rows of a key in a window, in order; they are removed."""
        held: Any = self._rows.of(name, key)
        bodies = [held[number] for number in sorted(held)]
        self._rows.clear(name, key)
        self._of[end].pop(name, None)
        if not self._of[end]:
            del self._of[end]
        return bodies


class TimedRows:
    """The rows of each key by (time, number), each with a mark."""

    def __init__(self, state: OperatorState, name: str, row: RowType, ttl_ms: int = 0) -> None:
        self.codec = RowCodec(row)
        self.rows: MapsColumn = maps_state(state, name, ttl_ms=ttl_ms)
        self._number = 0

    def begin_epoch(self, sequence: int) -> None:
        """Numbers rise from epoch to epoch."""
        self._number = sequence << 32

    def add(self, name: Any, key: CanonicalKey, time: int, body: bytes, mark: int = 0) -> None:
        self.rows.of(name, key)
        self.rows.put(name, (time, self._number), (body, mark))
        self._number += 1

    def add_all(self, keyed: KeyedRows, times: Array) -> None:
        """Add the rows of a batch."""
        segments = keyed.segments
        index = segments.index.tolist()
        for row, (time, body) in enumerate(zip(times.tolist(), self.codec.encode(keyed.rows), strict=True)):
            self.add(segments.names[index[row]], segments.keys[index[row]], time, body)

    def all(self) -> list[tuple[Any, CanonicalKey]]:
        """All keys that may have rows."""
        return list(self.rows.names())
