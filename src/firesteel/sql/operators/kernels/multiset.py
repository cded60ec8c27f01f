"""Aggregates whose accumulator is the multiset of their arguments, so that any of them can be merged.

A kernel that keeps something beside its fields (DISTINCT, extremes of rows that may be retracted) cannot
merge the accumulators of two keys, which sessions have to. Here the whole accumulator is one field: the
arguments that occurred, with the number of rows that have them. The result is what the *inner* kernel makes
of each of them once. (Flink: a ``MapView`` in the accumulator, merged by the generated code.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.sql.arrow import arrow_type
from firesteel.sql.operators.kernels.base import Arguments, Fields, Kernel, KernelCall
from firesteel.sql.operators.kernels.numbers import objects
from firesteel.sql.operators.kernels.segments import Array, Segments
from firesteel.sql.operators.row_state import Field
from firesteel.state.column_keys import Groups, group_rows, identities, key_arrays, renumbered

__all__ = ["MultisetKernel", "without_duplicates"]


def without_duplicates(what: KernelCall) -> KernelCall:
    """The call for an inner kernel: each row it gets is there once, and none is taken back."""
    return replace(what, call=replace(what.call, distinct=False, filter=None), retracts=False)


class MultisetKernel(Kernel):
    """
    :param inner: the kernel of the call ``without_duplicates``.
    """

    counts_duplicates = False
    fields = (Field("object", None),)  # identity of the arguments -> count, which is not 0

    def __init__(self, what: KernelCall, inner: Kernel) -> None:
        super().__init__(what)
        self._inner = inner
        self._types = [arrow_type(t) for t in what.types]

    def scan(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        raise NotImplementedError("results of single rows are made by kernels that scan")

    def fold(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        values = group_rows(arguments, segments.count)
        pairs = Groups(*renumbered(pa.array(segments.index * values.count + values.codes)))
        counts = np.zeros(pairs.count, np.int64)
        np.add.at(counts, pairs.codes, 1 if weights is None else weights)
        picked = [a.take(pa.array(pairs.first)) for a in arguments]
        owners = segments.index[pairs.first]
        held = [{} if known is None else dict(known) for known in base[0].tolist()]
        names = identities(picked, pairs.count)
        for owner, name, count in zip(owners.tolist(), names, counts.tolist(), strict=True):
            _add(held[owner], name, count)
        return [objects(held)]

    def merge(self, first: Fields, second: Fields) -> list[Array]:
        return [objects([_merged(a, b) for a, b in zip(first[0].tolist(), second[0].tolist(), strict=True)])]

    def values(self, fields: Fields) -> pa.Array:
        found = [[name for name, n in (held or {}).items() if n > 0] for held in fields[0].tolist()]
        filled = [i for i, names in enumerate(found) if names]
        results = [np.full(len(found), f.initial, f.dtype) for f in self._inner.fields]
        if filled:
            lengths = np.array([len(found[i]) for i in filled])
            starts = np.cumsum(lengths) - lengths
            names = [name for i in filled for name in found[i]]
            segments = Segments(starts, len(names))
            base = [result[filled] for result in results]
            folded = self._inner.fold(key_arrays(names, self._types), None, segments, base)
            for result, values in zip(results, folded, strict=True):
                result[filled] = values
        return self._inner.values(results)


def _add(held: dict[Any, int], name: Any, count: int) -> None:
    now = held.get(name, 0) + count
    if now:
        held[name] = now
    else:
        held.pop(name, None)


def _merged(first: dict[Any, int] | None, second: dict[Any, int] | None) -> dict[Any, int] | None:
    if not first or not second:
        return first or second
    merged = dict(first)
    for name, count in second.items():
        _add(merged, name, count)
    return merged
