"""The accumulators of each key and slice, and which keys a slice has.

They lie in ``table rows`` under (slice end, key columns); the key group is that of the key columns alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from firesteel.sql.operators.aggregates import Aggregates
from firesteel.sql.operators.row_state import RowsColumn, rows_state
from firesteel.state.backend import OperatorState
from firesteel.state.column_keys import group_rows, hash_codes, row_arrays, row_values

__all__ = ["Contents", "SliceState"]

Array = np.ndarray[Any, Any]
#: The slices that the window of an end is put together of.
SlicesOf: TypeAlias = Callable[[int], Iterable[int]]

_AT_ONCE: Final = 50_000  # accumulators of windows that fire together


class Contents(NamedTuple):
    """Keys with an accumulator each.

    :ivar keys: key columns. :ivar fields: of accumulators. :ivar slots: where they are.
    """

    keys: list[pa.Array]
    fields: list[Array]
    slots: Array

    def __len__(self) -> int:
        return len(self.slots)


class SliceState:
    """
    :param key_types: Arrow types of the key columns.
    """

    def __init__(
        self, state: OperatorState, aggregates: Aggregates, key_types: Sequence[pa.DataType], shape: str
    ) -> None:
        self.aggregates = aggregates
        self._key_types = list(key_types)
        self.rows: RowsColumn = rows_state(state, "windows", aggregates.fields, shape)
        self._index: dict[int, list[tuple[list[pa.Array], Array]]] = {}
        self._begun: list[int] = []
        self._seen = -1

    def begin_epoch(self) -> bool:
        """Know again what there is, where it may have changed behind our back; whether it may have."""
        if self._seen == self.rows.generation:
            return False
        self._index.clear()
        names, slots = self.rows.items()
        self._seen = self.rows.generation
        if names:
            every, *keys = row_arrays(names, [pa.int64(), *self._key_types])
            ends = every.to_numpy()
            for end in np.unique(ends).tolist():
                at = np.flatnonzero(ends == end)
                self._index[end] = [([k.take(pa.array(at)) for k in keys], slots[at])]
        self._begun = list(self._index)
        return True

    def take_begun(self) -> list[int]:
        """The slices that have come to hold something since this was called."""
        begun, self._begun = self._begun, []
        return begun

    def find(self, ends: Array, keys: Sequence[pa.Array], codes: Array) -> tuple[list[Any], Array]:
        """The names and slots of pairs of slice and key, all different; new ones are known from here on."""
        # Without key columns, too, a name is a tuple: a number would have a key group of its own.
        names = row_values([pa.array(ends, pa.int64()), *keys], len(ends))
        slots = self.rows.find(names, codes)
        fresh = np.flatnonzero(~self.rows.alive[slots])
        if len(fresh):
            of = ends[fresh]
            for end in np.unique(of).tolist():
                at = fresh[of == end]
                part = [k.take(pa.array(at)) for k in keys], slots[at]
                if end not in self._index:
                    self._index[end] = []
                    self._begun.append(end)
                self._index[end].append(part)
        return names, slots

    def add(self, end: int, contents: Contents) -> None:
        """Merge accumulators into a slice."""
        if not len(contents):
            return
        codes = hash_codes(contents.keys, len(contents))
        _, slots = self.find(np.full(len(contents), end, np.int64), contents.keys, codes)
        held = [field[slots] for field in self.rows.fields]
        self.rows.put(slots, self.aggregates.merge(held, contents.fields))

    def read(self, end: int) -> Contents:
        """What a slice holds."""
        parts = self._index.get(end, [])
        if not parts:
            return Contents([pa.array([], k) for k in self._key_types], self.aggregates.initial(0), _NONE)
        slots = np.concatenate([slots for _, slots in parts])
        keys = [pa.concat_arrays(column) for column in zip(*(keys for keys, _ in parts), strict=True)]
        return Contents(keys, [field[slots] for field in self.rows.fields], slots)

    def in_parts(self, ends: Sequence[int], slices_of: SlicesOf) -> Iterator[Sequence[int]]:
        """Windows in their order, as many at a time as hold some ten thousand accumulators together."""
        first = total = 0
        for at, end in enumerate(ends):
            total += sum(len(slots) for slice in slices_of(end) for _, slots in self._index.get(slice, ()))
            if total > _AT_ONCE:
                yield ends[first : at + 1]
                first, total = at + 1, 0
        if first < len(ends):
            yield ends[first:]

    def windows(self, ends: Iterable[int], slices_of: SlicesOf) -> tuple[Array, Contents]:
        """What windows hold, each some slices put together: for each key the end of its window, and all
        contents, window by window."""
        held: dict[int, Contents] = {}
        parts, of = [], []
        merges = False
        for end in ends:
            there = [slice for slice in slices_of(end) if slice in self._index]
            merges = merges or len(there) > 1
            for slice in there:
                if slice not in held:
                    held[slice] = self.read(slice)
                parts.append(held[slice])
                of.append(np.full(len(held[slice]), end, np.int64))
        if not parts:
            return _NONE, self.read(-(2**62))
        owners, contents = np.concatenate(of), concatenated(parts)
        if not merges:
            return owners, contents
        keys, fields, slots = contents
        merged = merge(Contents([pa.array(owners), *keys], fields, slots), self.aggregates)
        return merged.keys[0].to_numpy(), Contents(merged.keys[1:], merged.fields, merged.slots)

    def drop(self, end: int) -> None:
        """Remove a slice."""
        for _, slots in self._index.pop(end, []):
            self.rows.remove(slots)


_NONE = np.zeros(0, np.int64)


def concatenated(parts: Sequence[Contents]) -> Contents:
    if len(parts) == 1:
        return parts[0]
    keys = [pa.concat_arrays(column) for column in zip(*(p.keys for p in parts), strict=True)]
    fields = [np.concatenate(column) for column in zip(*(p.fields for p in parts), strict=True)]
    return Contents(keys, fields, np.concatenate([p.slots for p in parts]))


def merge(contents: Contents, aggregates: Aggregates) -> Contents:
    """Put together what is of one key, in its order."""
    keys, fields, slots = contents
    groups = group_rows(keys, len(slots))
    order, starts = groups.order()
    lengths = np.diff(np.append(starts, len(slots)))
    now = [field[order[starts]] for field in fields]
    for step in range(1, int(lengths.max(initial=0))):
        more = np.flatnonzero(lengths > step)
        rows = order[starts[more] + step]
        together = aggregates.merge([field[more] for field in now], [field[rows] for field in fields])
        for field, values in zip(now, together, strict=True):
            field[more] = values
    first = pa.array(groups.first)
    return Contents([key.take(first) for key in keys], now, slots[groups.first])
