"""DISTINCT: of rows with equal arguments the first one of a key counts, and the last one that is taken back.

All calls with the same arguments share one state: for each pair of a key and a value how many rows have it
behind each of their filters, or, where rows are never taken back, a bit for each filter that has seen it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.sql.operators.kernels.segments import Array, Segments
from firesteel.sql.operators.pair_state import PairsColumn, pairs_state
from firesteel.sql.operators.pair_values import form_of
from firesteel.state.column_keys import Groups, group_rows, renumbered
from firesteel.state.columns import CanonicalKey

__all__ = ["Distinct"]

#: How many filters have their bits in the smallest numbers.
_BITS_OF_A_BYTE: Final = 7


class Distinct:
    """
    :param arguments: columns. :param kinds: their types. :param filters: a column of each filter; None: all
        rows.

    :ivar weights: for each filter what the rows that were seen last count for.
    """

    weights: list[Array]
    _seen: PairsColumn

    def __init__(
        self,
        arguments: Sequence[int],
        kinds: Sequence[pa.DataType],
        filters: Sequence[int | None],
        retracts: bool,
    ) -> None:
        self.arguments = arguments
        self.filters = filters
        self._form = form_of(kinds)
        self._retracts = retracts

    def open(self, state: Any, name: str, ttl_ms: int) -> None:
        count = len(self.filters)
        width = count if self._retracts else None
        dtype = "int8" if width is None and count <= _BITS_OF_A_BYTE else "int64"
        self._seen = pairs_state(state, name, self._form, width, dtype, ttl_ms)

    def clear(self, name: Any, key: CanonicalKey) -> None:
        self._seen.clear(name, key)

    def see(self, arrays: Sequence[pa.Array], counts: Sequence[Array | None], segments: Segments) -> None:
        """Look at rows; what they count for is in ``weights`` then.

        :param arrays: the arguments.
        :param counts: for each filter how often a row is there; less than 0: how often it is taken back;
            None: once each.
        """
        length = segments.count
        pairs = _pairs(arrays, segments)
        order, starts = pairs.order()
        within = Segments(starts, length)
        first = pairs.first
        values = self._form.of([a.take(pa.array(first)) for a in arrays], pairs.count)
        slots = self._seen.find(segments.names, segments.keys, segments.index[first], values)
        before = self._seen.numbers(slots)
        steps = [_in_order(count, order, length) for count in counts]
        see = _counted if self._retracts else _marked
        found, after = see(before, steps, within)
        changed = np.flatnonzero((after != before).any(axis=1))
        self._seen.put(slots[changed], after[changed])
        self.weights = []
        for weights in found:
            back = np.empty(length, np.int64)
            back[order] = weights
            self.weights.append(back)


def _pairs(arrays: Sequence[pa.Array], segments: Segments) -> Groups:
    """The rows by key and value."""
    of_values = group_rows(arrays, segments.count)
    if len(segments) == 1:
        return of_values
    # A value is counted for its key, whatever becomes of the key in between.
    of_keys = segments.index if segments.owners is None else segments.owners[segments.index]
    return Groups(*renumbered(pa.array(of_keys * of_values.count + of_values.codes)))


def _marked(before: Array, steps: list[Array], within: Segments) -> tuple[list[Array], Array]:
    """Without retractions: a bit for each filter.

    :returns: for each filter what rows count for, and the numbers of the pairs.
    """
    known, after = before[:, 0], before.copy()
    out = []
    for i, step in enumerate(steps):
        passed = within.running(step)
        fresh = (known >> i) & 1 == 0
        out.append(((passed == step) & (step > 0) & fresh[within.index]).astype(np.int64))
        after[:, 0] |= (passed[within.last] > 0).astype(np.int64) << i
    return out, after


def _counted(before: Array, steps: list[Array], within: Segments) -> tuple[list[Array], Array]:
    """With retractions: a count for each filter."""
    after = before.copy()
    out = []
    for i, step in enumerate(steps):
        base = before[:, i]
        now = base[within.index] + within.running(step)
        then = now - step
        out.append(((then <= 0) & (now > 0)).astype(np.int64) - ((then > 0) & (now <= 0)).astype(np.int64))
        after[:, i] = now[within.last]
    return out, after


def _in_order(weights: Array | None, order: Array, count: int) -> Array:
    return np.ones(count, np.int64) if weights is None else weights[order]
