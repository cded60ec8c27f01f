"""GROUP BY without windows: the exact changelog of Flink, for whole batches.

The rows of a batch are sorted by key, kernels run over them within each key, from the accumulators of the
state on; so the result before and after each row is known, and with it what the row changes. State is read
and written once for each key and batch. (Flink: ``GroupAggFunction``, ``MiniBatchGroupAggFunction``.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns, LateArrays
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.aggregates import Aggregates, row_text, signs_of
from firesteel.sql.operators.base import arrow_types
from firesteel.sql.operators.bundles import KeyedBundlingOperator
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.lives import Lives, lives_of
from firesteel.sql.operators.row_state import RowsColumn, rows_state
from firesteel.sql.operators.specs import GlobalGroupAggregate, GroupAggregate
from firesteel.sql.operators.updates import changelog, changelog_within, differ
from firesteel.state.column_keys import CanonicalKeys, group_rows, hash_codes, identities, key_arrays

__all__ = ["GroupAggregateOperator"]

Array = np.ndarray[Any, Any]
_ALL: Final = slice(None)


class KeysOfRows(NamedTuple):
    """Rows sorted by key.

    :ivar starts: where each key starts. :ivar slots: of the keys, in the state.
    :ivar names: the identity of each key. :ivar canonical: its canonical form.
    """

    rows: Columns
    starts: Array
    slots: Array
    names: list[Any]
    canonical: CanonicalKeys


class GroupAggregateOperator(KeyedBundlingOperator):
    waits_in_batch_mode = True
    spec: GroupAggregate | GlobalGroupAggregate
    _rows: RowsColumn

    def __init__(self, program: OperatorProgram, spec: GroupAggregate | GlobalGroupAggregate) -> None:
        super().__init__(program, spec)
        self.aggregates = Aggregates(spec.calls, spec.rows, spec.retracts, spec.functions)

    def on_open(self) -> None:
        spec = self.spec
        shape = f"{row_text(spec.rows, spec.row_keys)} -> {self.aggregates.shape}"
        fields = self.aggregates.fields
        self._rows = rows_state(self.state, "accumulators", fields, shape, spec.ttl_ms)
        self.aggregates.open(self.state, "accumulators", spec.ttl_ms)

    # ---- rows

    def process_rows(self, columns: Columns) -> None:
        found = self.find_keys(columns)
        rows, slots = found.rows, found.slots
        signs = signs_of(rows) if self.spec.retracts else None
        existed = self._rows.alive[slots]
        lives = Lives(found.starts, len(rows), None)
        if signs is not None:
            counts = np.where(existed, self._rows.fields[0][slots], 0)
            lives = lives_of(found.starts, signs, counts)
            if lives.kept is not None:
                rows, signs = rows.take(lives.kept), signs[lives.kept]
                if not len(rows):
                    return
        self._run(rows, signs, lives, slots, found.names, found.canonical, existed)

    def find_keys(self, columns: Columns) -> KeysOfRows:
        """Sort rows by key, and find what is held of each."""
        keys = self.key_columns(columns, self.spec.keys)
        groups = group_rows(keys, len(columns))
        order, starts = groups.order()
        single = groups.count == len(columns)
        rows = columns if single or groups.count == 1 else columns.take_late(order)
        if single:
            starts = np.arange(len(columns))
        found = [key.take(pa.array(groups.first)) for key in keys]
        codes = hash_codes(found, groups.count)
        names = identities(found, groups.count)
        slots = self._rows.find(names, codes)
        return KeysOfRows(rows, starts, slots, names, CanonicalKeys(names, codes))

    def _run(
        self,
        rows: Columns,
        signs: Array | None,
        lives: Lives,
        slots: Array,
        names: Sequence[Any],
        canonical: CanonicalKeys,
        existed: Array,
    ) -> None:
        owners = lives.owners(len(slots))
        names = names if owners is None else [names[i] for i in owners.tolist()]
        canonical = canonical if owners is None else canonical.take(owners)
        segments = Segments(lives.starts, lives.total, names, canonical, owners)
        at = slots if owners is None else slots[owners]
        continued = lives.continued
        base = [field[at] for field in self._rows.fields]
        if continued is not None:  # a key that was gone in between begins anew
            for part, initial in zip(base, self.aggregates.initial(len(segments)), strict=True):
                part[~continued] = initial[~continued]
        existed = existed[owners] if owners is not None else existed
        if continued is not None:
            existed = existed & continued
        final = lives.final(len(segments))
        if self.bundles:
            self._run_bundle(rows, signs, segments, base, existed, at, final)
        else:
            self._run_rows(rows, signs, segments, base, existed, at, final)

    def _run_rows(
        self,
        rows: Columns,
        signs: Array | None,
        segments: Segments,
        base: list[Array],
        existed: Array,
        at: Array,
        final: Array,
    ) -> None:
        aggregates, count = self.aggregates, segments.count
        fields = aggregates.scan(rows, signs, segments, base)
        after = aggregates.results(fields)
        at_start = aggregates.results(base)
        every = LateArrays(len(after), lambda i: pa.concat_arrays([after[i], at_start[i]]))
        previous = np.arange(-1, count - 1)
        previous[segments.starts] = count + np.arange(len(segments))
        was = np.ones(count, bool)
        was[segments.starts] = existed
        exists = np.ones(count, bool) if not aggregates.retracts or signs is None else fields[0] > 0
        changed = np.ones(count, bool)
        if not aggregates.always_changes and not self.spec.ttl_ms:
            places = pa.array(previous)
            changed = differ([a.take(places) for a in every], after, count)
        by, updates = self.spec.keys, self.spec.generate_update_before
        keys = LateArrays(len(by), lambda i: rows.arrays[by[i]])
        self.emit(changelog_within(every, previous, np.arange(count), was, exists, changed, updates, keys))
        last = segments.last[final]
        self._store(at[final], [field[last] for field in fields], segments, final)

    def _run_bundle(
        self,
        rows: Columns,
        signs: Array | None,
        segments: Segments,
        base: list[Array],
        existed: Array,
        at: Array,
        final: Array,
    ) -> None:
        fields = self.aggregates.fold(rows, signs, segments, base)
        self.finish_bundle(rows, segments, [field[final] for field in fields], at[final], final)

    def finish_bundle(
        self,
        rows: Columns,
        segments: Segments,
        fields: list[Array],
        slots: Array,
        final: Array | slice = _ALL,
    ) -> None:
        """Emit what a bundle has changed, one change for each key, and store it.

        :param fields: the accumulators of the keys. :param final: the segment of each.
        """
        if not self.context.batch_mode:
            self._emit_bundle(rows, segments, fields, slots, final)
        self._store(slots, fields, segments, final)

    def _emit_bundle(
        self, rows: Columns, segments: Segments, last: list[Array], slots: Array, final: Array | slice
    ) -> None:
        aggregates = self.aggregates
        count = len(slots)
        before = aggregates.results([field[slots] for field in self._rows.fields])
        after = aggregates.results(last)
        existed = self._rows.alive[slots]
        exists = np.ones(count, bool) if not aggregates.retracts else last[0] > 0
        changed = differ(before, after, count) if not self.spec.ttl_ms else np.ones(count, bool)
        keys = [a.take(pa.array(segments.last[final])) for a in self.key_columns(rows, self.spec.keys)]
        self.emit(changelog(keys, before, after, existed, exists, changed, self.spec.generate_update_before))

    def _store(self, slots: Array, fields: list[Array], segments: Segments, final: Array | slice) -> None:
        if not self.aggregates.retracts:
            self._rows.put(slots, fields)
            return
        alive = fields[0] > 0
        if alive.all():
            self._rows.put(slots, fields)
            return
        self._rows.put(slots[alive], [field[alive] for field in fields])
        self._rows.remove(slots[~alive])
        if self.aggregates.keeps_more:
            for i in np.arange(len(segments))[final][~alive].tolist():
                self.aggregates.clear(segments.names[i], segments.keys[i])

    # ---- the end

    def finish(self) -> None:
        """In batch mode the final rows leave here."""
        if not self.context.batch_mode:
            return
        names, slots = self._rows.items()
        fields = [field[slots] for field in self._rows.fields]
        if not len(names) and not self.spec.keys and self.context.subtask == 0:
            names, fields = [()], self.aggregates.initial(1)
        types = arrow_types(self.spec.rows)
        keys = key_arrays(names, [types[i] for i in self.spec.row_keys]) if self.spec.keys else []
        self.emit(Columns([*keys, *self.aggregates.results(fields)], len(names)))
        self._rows.drop()
