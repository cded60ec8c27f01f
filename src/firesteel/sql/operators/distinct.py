"""DISTINCT: of rows with equal arguments the first one of a key counts, and the last one that is taken back.

All calls with the same arguments share one dictionary of state: value -> for each of their filters how many
rows have it, or, where rows are never taken back, a bit for each filter that has seen it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.sql.operators.kernels.segments import Array, Segments
from firesteel.sql.operators.map_state import MapsColumn, maps_state
from firesteel.state.column_keys import Groups, group_rows, identities, renumbered
from firesteel.state.columns import CanonicalKey

__all__ = ["Distinct"]


class Distinct:
    """
    :param arguments: columns. :param filters: a column of each filter; None: all rows.

    :ivar weights: for each filter what the rows that were seen last count for.
    """

    weights: list[Array]
    _seen: MapsColumn

    def __init__(self, arguments: Sequence[int], filters: Sequence[int | None], retracts: bool) -> None:
        self.arguments = arguments
        self.filters = filters
        self._retracts = retracts

    def open(self, state: Any, name: str, ttl_ms: int) -> None:
        self._seen = maps_state(state, name, ttl_ms=ttl_ms)

    def clear(self, name: Any, key: CanonicalKey) -> None:
        self._seen.clear(name, key)

    def see(self, arrays: Sequence[pa.Array], counts: Sequence[Array | None], segments: Segments) -> None:
        """Look at rows; what they count for is in ``weights`` then.

        :param arrays: the arguments.
        :param counts: for each filter how often a row is there; less than 0: how often it is taken back;
            None: once each.
        """
        length = segments.count
        of_values = group_rows(arrays, length)
        # A value is counted for its key, whatever becomes of the key in between.
        of_keys = segments.index if segments.owners is None else segments.owners[segments.index]
        pairs = Groups(*renumbered(pa.array(of_keys * of_values.count + of_values.codes)))
        order, starts = pairs.order()
        within = Segments(starts, length)
        first = pairs.first
        picked = [a.take(first) for a in arrays]
        values = identities(picked, pairs.count)
        owners = segments.index[first].tolist()
        names = [segments.names[i] for i in owners]
        keys = [segments.keys[i] for i in owners]
        steps = [_in_order(count, order, length) for count in counts]
        see = self._count if self._retracts else self._mark
        self.weights = []
        for found in see(names, keys, values, steps, within):
            back = np.empty(length, np.int64)
            back[order] = found
            self.weights.append(back)

    def _mark(
        self, names: list[Any], keys: list[Any], values: list[Any], steps: list[Array], within: Segments
    ) -> list[Array]:
        """Without retractions: a bit for each filter."""
        known = [seen or 0 for seen in self._seen.get_all(names, keys, values)]
        before = np.array(known, np.int64)
        after = before.copy()
        out = []
        for i, step in enumerate(steps):
            passed = within.running(step)
            fresh = (before >> i) & 1 == 0
            out.append(((passed == step) & (step > 0) & fresh[within.index]).astype(np.int64))
            after |= (passed[within.last] > 0).astype(np.int64) << i
        changed = np.flatnonzero(after != before)
        at = changed.tolist()
        self._seen.put_all([names[i] for i in at], [values[i] for i in at], after[changed].tolist())
        return out

    def _count(
        self, names: list[Any], keys: list[Any], values: list[Any], steps: list[Array], within: Segments
    ) -> list[Array]:
        """With retractions: a count for each filter."""
        none = (0,) * len(steps)
        known = [seen or none for seen in self._seen.get_all(names, keys, values)]
        before = np.array(known, np.int64).reshape(len(names), len(steps))
        after = before.copy()
        out = []
        for i, step in enumerate(steps):
            base = before[:, i]
            now = base[within.index] + within.running(step)
            then = now - step
            out.append(
                ((then <= 0) & (now > 0)).astype(np.int64) - ((then > 0) & (now <= 0)).astype(np.int64)
            )
            after[:, i] = now[within.last]
        changed = np.flatnonzero((after != before).any(axis=1))
        rows = after[changed].tolist()
        for at, counts in zip(changed.tolist(), rows, strict=True):
            if any(counts):
                self._seen.put(names[at], values[at], tuple(counts))
            elif known[at] is not none:
                self._seen.remove(names[at], values[at])
        return out


def _in_order(weights: Array | None, order: Array, count: int) -> Array:
    return np.ones(count, np.int64) if weights is None else weights[order]
