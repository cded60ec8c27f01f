"""The first or the last row of each key. (Flink: ``RowTimeDeduplicateFunction`` and its kin.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import UPDATE_AFTER, Columns, LateArrays
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.bundles import KeyedBundlingOperator
from firesteel.sql.operators.changelogs import LastRows
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.keyed_rows import KeyedRows, previous_rows
from firesteel.sql.operators.row_state import rows_state
from firesteel.sql.operators.specs import Deduplicate
from firesteel.sql.operators.updates import changelog_within, differ
from firesteel.sql.operators.watermarks import milliseconds

__all__ = ["DeduplicateOperator"]

Array = np.ndarray[Any, Any]


class DeduplicateOperator(KeyedBundlingOperator):
    spec: Deduplicate

    def __init__(self, program: OperatorProgram, spec: Deduplicate) -> None:
        super().__init__(program, spec)
        self._first_only = not spec.last and spec.time is None

    def on_open(self) -> None:
        spec = self.spec
        if self._first_only:
            self._seen = rows_state(self.state, "seen", (), str(spec.input), spec.ttl_ms)
        else:
            self._last = LastRows(self.state, "last", spec.input, spec.ttl_ms)

    def process_rows(self, columns: Columns) -> None:
        keyed = KeyedRows.of(columns, self.spec.keys, canonical=False)
        if self._first_only:
            self._run_first(keyed)
        else:
            self._run_rows(keyed)

    def _run_first(self, keyed: KeyedRows) -> None:
        """In the order of arrival the first row of a key leaves, and nothing else ever."""
        slots = self._seen.find(keyed.segments.names, keyed.codes)
        fresh = np.flatnonzero(~self._seen.alive[slots])
        if len(fresh):
            self._seen.put(slots[fresh], [])
            self.emit(keyed.columns.take_late(keyed.order[keyed.segments.starts[fresh]]).with_kinds(None))

    def _run_rows(self, keyed: KeyedRows) -> None:
        """Columns stay as they came, and are taken once: as they leave."""
        segments, order, count = keyed.segments, keyed.order, len(keyed.columns)
        slots = self._last.rows.find(segments.names, keyed.codes)
        held, places = self._last.read(slots)
        counts = self._counts(keyed, held, places)
        if self.spec.mini_batch:
            counts = _only_last(segments, counts)
        if not counts.any():
            return
        previous = previous_rows(segments, counts, np.where(places < 0, -1, count + places))
        self._emit_changes(keyed, held, previous, np.flatnonzero(counts))
        last = segments.fold(np.maximum, np.where(counts, np.arange(count), -1))
        stays = last >= 0
        if not stays.all():
            slots, last = slots[stays], last[stays]
        self._last.put(slots, keyed.columns, order[last])

    def _emit_changes(self, keyed: KeyedRows, held: list[pa.Array], previous: Array, chosen: Array) -> None:
        """Emit what the chosen rows change; their numbers are those of rows by key.

        :param previous: for each row the one before it, which may be in the state: those are behind all rows.
            -1: there is none.
        """
        spec, count, of_state = self.spec, len(keyed.columns), len(held[0])
        places = np.concatenate([keyed.order, np.arange(count, count + of_state)])
        after, previous = places[chosen], previous[chosen]
        was = previous >= 0
        before = np.where(was, places[previous], after)
        own = every = keyed.columns.arrays
        if (previous >= count).any():
            every = LateArrays(len(own), lambda i: pa.concat_arrays([own[i], held[i]]))
        always = np.ones(len(chosen), bool)
        changed = always
        if spec.time is None and not spec.ttl_ms:
            first, second = pa.array(before), pa.array(after)
            changed = differ([a.take(first) for a in every], [a.take(second) for a in every], len(chosen))
        out = changelog_within(every, before, after, was, always, changed, spec.generate_update_before)
        if not spec.generate_insert and not spec.generate_update_before:
            out = out.with_kinds(np.full(len(out), UPDATE_AFTER, np.int8))
        self.emit(out)

    def _counts(self, keyed: KeyedRows, held: list[pa.Array], places: Array) -> Array:
        """Which rows, by key, become the row of their key.

        :param places: for each key that of its row among those of the state; -1: it has none.
        """
        spec, segments = self.spec, keyed.segments
        if spec.time is None:
            return np.ones(segments.count, bool)
        times = milliseconds(keyed.columns.arrays[spec.time])[keyed.order]
        starts, existed = segments.starts, places >= 0
        base = times[starts]
        base[existed] = milliseconds(held[spec.time])
        operation: np.ufunc = np.maximum if spec.last else np.minimum
        with_base = times.copy()
        with_base[starts] = operation(times[starts], base)
        before = np.empty(len(times), np.int64)
        before[1:] = segments.scan(operation, with_base)[:-1]
        before[starts] = base
        counts: Array = times >= before if spec.last else times < before
        counts[starts[~existed]] = True
        return counts


def _only_last(segments: Segments, counts: Array) -> Array:
    last = segments.fold(np.maximum, np.where(counts, np.arange(segments.count), -1))
    out = np.zeros(segments.count, bool)
    out[last[last >= 0]] = True
    return out
