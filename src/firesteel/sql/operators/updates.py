"""From values before and after rows to a changelog: +I, -U and +U, -D."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Columns

__all__ = ["changelog", "differ"]

Array = np.ndarray[Any, Any]


def differ(first: Sequence[pa.Array], second: Sequence[pa.Array], count: int) -> Array:
    """For each row whether it is another one in *second*; nulls are equal."""
    out = np.zeros(count, bool)
    for a, b in zip(first, second, strict=True):
        out |= _differ(a, b)
    return out


def _differ(a: pa.Array, b: pa.Array) -> Array:
    kind = a.type
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        pairs = zip(a.to_pylist(), b.to_pylist(), strict=True)
        return np.array([x != y for x, y in pairs], bool)
    unequal = pc.not_equal(a, b)
    if not unequal.null_count:
        return unequal.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    one_null = pc.not_equal(a.is_null(), b.is_null())
    found = pc.or_(unequal.fill_null(False), one_null)
    return found.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def changelog(
    keys: Sequence[pa.Array],
    before: Sequence[pa.Array],
    after: Sequence[pa.Array],
    existed: Array,
    exists: Array,
    changed: Array,
    update_before: bool,
) -> Columns:
    """What changed, row by row.

    :param keys: columns that lead each row. :param before, after: those that follow, as they were and are.
    :param existed, exists: whether there was, and is, a row. :param changed: whether it is another one.
    :param update_before: whether updates have a -U.
    """
    count = len(existed)
    gone = existed & ~exists
    updated = existed & exists & changed
    first = gone | updated if update_before else gone
    second = exists & (~existed | updated)
    if not first.any():
        rows = np.flatnonzero(second)
        arrays = [*keys, *after]
        kinds = np.where(updated, UPDATE_AFTER, INSERT).astype(np.int8)
        if len(rows) < count:
            arrays, kinds = [a.take(pa.array(rows)) for a in arrays], kinds[rows]
        return Columns(arrays, len(rows), kinds if kinds.any() else None)
    chosen = np.empty(2 * count, bool)
    chosen[::2], chosen[1::2] = first, second
    kinds = np.empty(2 * count, np.int8)
    kinds[::2] = np.where(gone, DELETE, UPDATE_BEFORE)
    kinds[1::2] = np.where(existed, UPDATE_AFTER, INSERT)
    places = np.flatnonzero(chosen)
    rows = pa.array(places >> 1)
    both = pa.array((places >> 1) + (places & 1) * count)
    arrays = [key.take(rows) for key in keys]
    arrays += [pa.concat_arrays([a, b]).take(both) for a, b in zip(before, after, strict=True)]
    return Columns(arrays, len(places), kinds[places])
