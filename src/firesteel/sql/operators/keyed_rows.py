"""Rows of a batch by key, with the place of their key in state: the beginning of most keyed operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.sql.operators.kernels.segments import Array, Segments
from firesteel.state.column_keys import canonical_column_keys, group_rows, hash_codes, identities

__all__ = ["KeyedRows", "previous_rows"]


class KeyedRows(NamedTuple):
    """
    :ivar rows: sorted by key. :ivar segments: the rows of each key, with its name.
    :ivar codes: the hash codes of keys.
    """

    rows: Columns
    segments: Segments
    codes: Array

    @classmethod
    def of(cls, columns: Columns, keys: Sequence[int], canonical: bool = True) -> KeyedRows:
        """:param canonical: whether the segments have the canonical forms of keys, too."""
        arrays = [columns.arrays[i] for i in keys]
        groups = group_rows(arrays, len(columns))
        order, starts = groups.order()
        rows = columns
        if groups.count == len(columns):
            starts = np.arange(len(columns))
        elif groups.count > 1:
            rows = columns.take(order)
        first = pa.array(groups.first)
        found = [a.take(first) for a in arrays]
        codes = hash_codes(found, groups.count)
        names = identities(found, groups.count)
        forms = canonical_column_keys(names, codes) if canonical else ()
        segments = Segments(starts, len(rows), names, forms)
        return cls(rows, segments, codes)


def previous_rows(segments: Segments, counts: Array) -> Array:
    """For each row the last one before it in its segment for which *counts* is true; where there is none, the
    number of rows plus that of the segment: what was there before."""
    count = segments.count
    places = np.where(counts, np.arange(count), -1)
    before = np.empty(count, np.int64)
    before[1:] = places[:-1]
    before[segments.starts] = -1
    before = segments.scan(np.maximum, before)
    none = before < 0
    before[none] = count + segments.index[none]
    return before


def value_at(values: Sequence[Any], places: Array) -> list[Any]:
    return [values[i] for i in places.tolist()]
