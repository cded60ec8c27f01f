"""The first or the last row of each key. (Flink: ``RowTimeDeduplicateFunction`` and its kin.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import UPDATE_AFTER, Columns
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
_LOWEST = -(2**63)
_HIGHEST = 2**63 - 1


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
        slots = self._seen.find(list(keyed.segments.names), keyed.codes)
        fresh = np.flatnonzero(~self._seen.alive[slots])
        if len(fresh):
            self._seen.put(slots[fresh], [])
            self.emit(keyed.rows.take(keyed.segments.starts[fresh]).with_kinds(None))

    def _run_rows(self, keyed: KeyedRows) -> None:
        spec, rows, segments = self.spec, keyed.rows, keyed.segments
        slots = self._last.rows.find(list(segments.names), keyed.codes)
        held, existed = self._last.read(slots)
        counts = self._counts(rows, segments, held, existed)
        if spec.mini_batch:
            counts = _only_last(segments, counts)
        if not counts.any():
            return
        self._emit_changes(rows, held, existed, previous_rows(segments, counts), np.flatnonzero(counts))
        last = segments.fold(np.maximum, np.where(counts, np.arange(len(rows)), -1))
        stays = last >= 0
        if not stays.all():
            slots, last = slots[stays], last[stays]
        self._last.put(slots, rows if len(last) == len(rows) else rows.take(last))

    def _emit_changes(
        self, rows: Columns, held: list[pa.Array], existed: Array, previous: Array, chosen: Array
    ) -> None:
        """Emit what the chosen rows change.

        :param previous: for each row the one before it, which may be in the state: behind all rows.
        """
        spec, count = self.spec, len(rows)
        was = np.concatenate([np.ones(count, bool), existed])[previous[chosen]]
        every = rows.arrays
        if (was & (previous[chosen] >= count)).any():
            every = tuple(pa.concat_arrays([a, b]) for a, b in zip(rows.arrays, held, strict=True))
        before = np.where(was, previous[chosen], chosen)
        always = np.ones(len(chosen), bool)
        changed = always
        if spec.time is None and not spec.ttl_ms:
            first, second = pa.array(before), pa.array(chosen)
            changed = differ([a.take(first) for a in every], [a.take(second) for a in every], len(chosen))
        out = changelog_within(every, before, chosen, was, always, changed, spec.generate_update_before)
        if not spec.generate_insert and not spec.generate_update_before:
            out = out.with_kinds(np.full(len(out), UPDATE_AFTER, np.int8))
        self.emit(out)

    def _counts(self, rows: Columns, segments: Segments, held: list[pa.Array], existed: Array) -> Array:
        """Which rows become the row of their key."""
        spec = self.spec
        if spec.time is None:
            return np.ones(len(rows), bool)
        times = milliseconds(rows.arrays[spec.time])
        of_state = milliseconds(held[spec.time])
        worst = _LOWEST if spec.last else _HIGHEST
        operation: np.ufunc = np.maximum if spec.last else np.minimum
        base = np.where(existed, of_state, worst)
        with_base = times.copy()
        with_base[segments.starts] = operation(times[segments.starts], base)
        best = segments.scan(operation, with_base)
        before = np.empty(len(times), np.int64)
        before[1:] = best[:-1]
        before[segments.starts] = base
        return times >= before if spec.last else times < before


def _only_last(segments: Segments, counts: Array) -> Array:
    last = segments.fold(np.maximum, np.where(counts, np.arange(segments.count), -1))
    out = np.zeros(segments.count, bool)
    out[last[last >= 0]] = True
    return out
