"""Rows of a batch by key, with the place of their key in state: the beginning of most keyed operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.sql.operators.kernels.segments import Array, Segments
from firesteel.state.column_keys import (
    canonical_column_keys,
    group_rows,
    hash_codes,
    identities,
    is_integer_like,
    number_identities,
)

__all__ = ["KeyedRows", "previous_rows"]


@dataclass(frozen=True)
class KeyedRows:
    """
    :ivar columns: the rows as they came. :ivar order: their numbers sorted by key.
    :ivar segments: the rows of each key in that order, with its name.
    :ivar codes: the hash codes of keys.
    """

    columns: Columns
    order: Array
    segments: Segments
    codes: Array

    @classmethod
    def of(cls, columns: Columns, keys: Sequence[int], canonical: bool = True) -> KeyedRows:
        """:param canonical: whether the segments have the canonical forms of keys, too. Else integers that
        are names are in an array, not in a list."""
        count = len(columns)
        arrays = [columns.arrays[i] for i in keys]
        groups = group_rows(arrays, count)
        if groups.count == count:
            order = starts = np.arange(count)
        else:
            order, starts = groups.order()
            first = pa.array(groups.first)
            arrays = [a.take(first) for a in arrays]
        codes = hash_codes(arrays, groups.count)
        if not canonical and len(keys) == 1 and is_integer_like(arrays[0].type) and not arrays[0].null_count:
            numbers: Any = number_identities(arrays[0])[0]
            return cls(columns, order, Segments(starts, count, numbers), codes)
        names = identities(arrays, groups.count)
        forms = canonical_column_keys(names, codes) if canonical else ()
        return cls(columns, order, Segments(starts, count, names, forms), codes)

    @cached_property
    def rows(self) -> Columns:
        """The rows sorted by key: a copy of the columns that are used, unless they are so already."""
        if len(self.segments) in (1, len(self.columns)):
            return self.columns
        return self.columns.take_late(self.order)


def previous_rows(segments: Segments, counts: Array, held: Array) -> Array:
    """Return for each row the last one before it in its segment for which *counts* is true; where there is
    none, what *held* says of the segment."""
    count = segments.count
    before = np.full(count, -1)
    np.maximum.accumulate(np.where(counts, np.arange(count), -1)[:-1], out=before[1:])
    return np.where(before < segments.starts[segments.index], held[segments.index], before)
