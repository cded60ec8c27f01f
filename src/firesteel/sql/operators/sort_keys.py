"""ORDER BY: of whole columns, and of single rows that are compared one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import total_ordering
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql.expressions import Ordering

__all__ = ["sort_key", "sorted_rows"]

Array = np.ndarray[Any, Any]


def sorted_rows(arrays: Sequence[pa.Array], order: Sequence[Ordering], count: int) -> Array:
    """The rows in order; equal ones stay in theirs."""
    if not order:
        return np.arange(count)
    ranks = [_ranks(arrays[o.index], o) for o in order]
    return np.lexsort(ranks[::-1])


def _ranks(array: pa.Array, ordering: Ordering) -> Array:
    """Numbers in the order of the values."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    encoded = array.dictionary_encode()
    values = encoded.dictionary
    places = pc.array_sort_indices(values).to_numpy()
    ranks = np.empty(len(places) + 1, np.int64)
    ranks[places] = np.arange(len(places))
    if not ordering.ascending:
        ranks[: len(places)] = len(places) - 1 - ranks[: len(places)]
    ranks[len(places)] = -1 if ordering.nulls_first else len(places)
    return ranks[encoded.indices.fill_null(len(places)).to_numpy(zero_copy_only=False)]  # type: ignore[no-any-return]


@total_ordering
class _Backwards:
    """A value in descending order."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Backwards) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Backwards) and bool(other.value == self.value)

    def __hash__(self) -> int:
        return hash(self.value)


def sort_key(order: Sequence[Ordering]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """What the physical values of a row are compared by."""

    def key(values: Sequence[Any]) -> tuple[Any, ...]:
        parts: list[Any] = []
        for o in order:
            value = values[o.index]
            if value is None:
                parts.append((0 if o.nulls_first else 2,))
            elif o.ascending:
                parts.append((1, value))
            elif isinstance(value, (int, float)):
                parts.append((1, -value))
            else:
                parts.append((1, _Backwards(value)))
        return tuple(parts)

    return key
