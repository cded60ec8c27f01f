"""The order of rows by ORDER BY: null placement, NaN and text as Flink compares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql.expressions import Ordering

__all__ = ["order_codes", "sorted_rows"]

Array = np.ndarray[Any, Any]
_FIRST: Final = -(1 << 62)
_LAST: Final = 1 << 62


def order_codes(array: pa.Array, ordering: Ordering) -> Array:
    """A number for each value: rows are in order when their numbers are. Equal values have one number."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    elif pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64)
    ranks = pc.rank(array, "ascending", tiebreaker="dense")
    codes: Array = ranks.to_numpy(zero_copy_only=False).astype(np.int64)
    if not ordering.ascending:
        codes = -codes
    if array.null_count:
        null = array.is_null().to_numpy(zero_copy_only=False)
        codes[null] = _FIRST if ordering.nulls_first else _LAST
    return codes


def sorted_rows(arrays: Sequence[pa.Array], order: Sequence[Ordering], *groups: Array) -> Array:
    """The numbers of rows by *groups*, the first one first, then by *order*; equal ones as they are."""
    codes = [order_codes(arrays[o.index], o) for o in order]
    keys = [*groups, *codes]
    if not keys:
        return np.arange(len(arrays[0]) if arrays else 0)
    return np.lexsort(tuple(reversed(keys)))
