"""From values before and after rows to a changelog: +I, -U and +U, -D."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.columns import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    Columns,
    LateArrays,
    beside,
    taker,
)

__all__ = ["Changes", "changelog", "changelog_within", "changes", "differ"]

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
    if unequal.null_count:
        one_null = pc.not_equal(a.is_null(), b.is_null())
        unequal = pc.or_(unequal.fill_null(False), one_null)
    found: Array = unequal.to_numpy(zero_copy_only=False)
    return found


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
    found = changes(existed, exists, changed, update_before)
    take = taker(found.rows)
    if found.none_before:
        every = beside(keys, after)
        if len(found.rows) == count:
            return Columns(every, count, found.kinds)
        return Columns(LateArrays(len(every), lambda i: take(every[i])), len(found.rows), found.kinds)
    both = pa.array(found.rows + found.is_after * count)
    leading = LateArrays(len(keys), lambda i: take(keys[i]))
    rows = LateArrays(len(after), lambda i: pa.concat_arrays([before[i], after[i]]).take(both))
    return Columns(beside(leading, rows), len(found.rows), found.kinds)


def changelog_within(
    rows: Sequence[pa.Array],
    before: Array,
    after: Array,
    existed: Array,
    exists: Array,
    changed: Array,
    update_before: bool,
    keys: Sequence[pa.Array] = (),
) -> Columns:
    """The same where all that was and is lies in the columns *rows*, which are taken once, late.

    :param before, after: where in them. :param keys: columns that lead each row, whatever becomes of it.
    """
    found = changes(existed, exists, changed, update_before)
    places = np.where(found.is_after, after[found.rows], before[found.rows])
    of_keys, of_rows = taker(found.rows), taker(places)
    leading = LateArrays(len(keys), lambda i: of_keys(keys[i]))
    taken = LateArrays(len(rows), lambda i: of_rows(rows[i]))
    return Columns(beside(leading, taken), len(places), found.kinds)


class Changes(NamedTuple):
    """What leaves for rows that may have changed.

    :ivar rows: which row each change is of.
    :ivar is_after: whether it is what the row is now, not what it was.
    :ivar kinds: None: all are INSERT. :ivar none_before: nothing of what was leaves.
    """

    rows: Array
    is_after: Array
    kinds: Array | None
    none_before: bool


def changes(existed: Array, exists: Array, changed: Array, update_before: bool) -> Changes:
    """The parameters are those of ``changelog``."""
    count = len(existed)
    gone = existed & ~exists
    updated = existed & exists & changed
    first = gone | updated if update_before else gone
    second = exists & (~existed | updated)
    if not first.any():
        rows = np.flatnonzero(second)
        kinds = np.where(updated[rows], UPDATE_AFTER, INSERT).astype(np.int8)
        return Changes(rows, np.ones(len(rows), bool), kinds if kinds.any() else None, none_before=True)
    chosen = np.empty(2 * count, bool)
    chosen[::2], chosen[1::2] = first, second
    both = np.empty(2 * count, np.int8)
    both[::2] = np.where(gone, DELETE, UPDATE_BEFORE)
    both[1::2] = np.where(existed, UPDATE_AFTER, INSERT)
    places = np.flatnonzero(chosen)
    return Changes(places >> 1, (places & 1).astype(bool), both[places], none_before=False)
