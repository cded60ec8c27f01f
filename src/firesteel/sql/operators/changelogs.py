"""Upserts to changelogs, and changelogs to what a sink with a primary key may see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Columns
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.bundles import KeyedBundlingOperator
from firesteel.sql.operators.evaluation import Evaluation
from firesteel.sql.operators.kernels.numbers import objects
from firesteel.sql.operators.keyed_rows import KeyedRows, previous_rows
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.operators.row_state import Field, RowsColumn, rows_state
from firesteel.sql.operators.specs import ChangelogNormalize, SinkUpsertMaterialize
from firesteel.sql.operators.updates import changelog_within, differ
from firesteel.sql.types import RowType
from firesteel.state.backend import OperatorState

__all__ = ["ChangelogNormalizeOperator", "LastRows", "SinkUpsertMaterializeOperator"]

Array = np.ndarray[Any, Any]


class LastRows:
    """One row for each key."""

    def __init__(self, state: OperatorState, name: str, row: RowType, ttl_ms: int) -> None:
        self.codec = RowCodec(row)
        self.rows: RowsColumn = rows_state(
            state, name, (Field("object", None, packs=True),), str(row), ttl_ms
        )

    def read(self, slots: Array) -> tuple[list[pa.Array], Array]:
        """Return the rows that there are of slots as columns, and for each slot the place of its row in them;
        -1: it has none."""
        alive = self.rows.alive[slots]
        arrays = self.codec.decode(self.rows.fields[0][slots[alive]].tolist())
        return arrays, np.where(alive, np.cumsum(alive) - 1, -1)

    def put(self, slots: Array, columns: Columns, places: Array) -> None:
        """Make rows of columns, of which *places* are the numbers, those of slots."""
        if 2 * len(places) < len(columns):  # it costs more to encode a row than to take it
            self.rows.put(slots, [objects(self.codec.encode(columns.take(places)))])
        else:
            self.rows.put(slots, [objects(self.codec.encode(columns))[places]])


class ChangelogNormalizeOperator(KeyedBundlingOperator):
    """Flink: ``ProcTimeDeduplicateKeepLastRowFunction`` on a changelog."""

    spec: ChangelogNormalize

    def __init__(self, program: OperatorProgram, spec: ChangelogNormalize) -> None:
        super().__init__(program, spec)
        self._condition = (
            None if spec.condition is None else Evaluation((spec.condition,), spec.input, spec.functions)
        )
        self.minds_time = self.minds_time or spec.in_time

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        if self._condition is not None:
            self._condition.open(context)

    def on_open(self) -> None:
        self._last = LastRows(self.state, "last", self.spec.input, self.spec.ttl_ms)

    def process_rows(self, columns: Columns) -> None:
        keyed = KeyedRows.of(columns, self.spec.keys, canonical=False)
        rows, segments = keyed.rows, keyed.segments
        if self.spec.mini_batch:
            rows = rows.take(segments.last)
            keyed = KeyedRows.of(rows, self.spec.keys, canonical=False)
            rows, segments = keyed.rows, keyed.segments
        slots = self._last.rows.find(segments.names, keyed.codes)
        held, places = self._last.read(slots)
        count = len(rows)
        kinds = rows.kinds_or_inserts()
        exists = (kinds == INSERT) | (kinds == UPDATE_AFTER)
        # Whatever a row is, it makes the one before it the past.
        previous = previous_rows(segments, np.ones(count, bool), np.where(places < 0, -1, count + places))
        every = [pa.concat_arrays([a, b]) for a, b in zip(rows.arrays, held, strict=True)]
        passes = np.concatenate([exists, np.ones(len(every[0]) - count, bool)])
        if self._condition is not None:
            passes &= self._condition.mask(Columns(every, len(passes)), self.watermark)
        before = np.where(previous < 0, np.arange(count), previous)
        changed = np.ones(count, bool)
        if not self.spec.ttl_ms:
            changed = differ([a.take(pa.array(before)) for a in every], rows.arrays, count)
        self.emit(
            changelog_within(
                every,
                before,
                np.arange(count),
                (previous >= 0) & passes[before],
                passes[:count],
                changed,
                self.spec.generate_update_before,
            )
        )
        self._store(slots, rows, segments.last, exists)

    def _store(self, slots: Array, rows: Columns, last: Array, exists: Array) -> None:
        stays = exists[last]
        if stays.any():
            self._last.put(slots[stays], rows, last[stays])
        gone = slots[~stays]
        if len(gone):
            self._last.rows.remove(gone)


class SinkUpsertMaterializeOperator(KeyedColumnsOperator):
    """Flink: ``SinkUpsertMaterializer``."""

    minds_time = False
    spec: SinkUpsertMaterialize

    def on_open(self) -> None:
        self._codec = RowCodec(self.spec.input)
        key = self.spec.upsert_key
        self._key = (
            None
            if key is None
            else RowCodec(
                RowType.of([self.spec.input.names[i] for i in key], [self.spec.input.types[i] for i in key])
            )
        )
        self._rows = rows_state(
            self.state, "rows", (Field("object", None),), str(self.spec.input), self.spec.ttl_ms
        )

    def run(self, columns: Columns, input_index: int) -> None:
        keyed = KeyedRows.of(columns, self.spec.keys, canonical=False)
        rows, segments = keyed.rows, keyed.segments
        slots = self._rows.find(segments.names, keyed.codes)
        bodies = self._codec.encode(rows)
        ids = bodies
        if self._key is not None:
            assert self.spec.upsert_key is not None
            ids = self._key.encode(rows.with_arrays([rows.arrays[i] for i in self.spec.upsert_key]))
        kinds = rows.kinds_or_inserts().tolist()
        out: list[bytes] = []
        out_kinds: list[int] = []
        stays: list[Any] = []
        stops = (segments.last + 1).tolist()
        for i, (start, stop) in enumerate(zip(segments.starts.tolist(), stops, strict=True)):
            held: list[tuple[bytes, bytes]] = list(self._rows.fields[0][slots[i]] or ())
            for row in range(start, stop):
                change = _materialise(held, ids[row], bodies[row], kinds[row])
                if change is not None:
                    out_kinds.append(change[0])
                    out.append(change[1])
            stays.append(held)
        full = np.array([bool(held) for held in stays], bool)
        self._rows.put(slots[full], [objects([held for held in stays if held])])
        self._rows.remove(slots[~full])
        if out:
            self.emit(Columns(self._codec.decode(out), len(out), np.array(out_kinds, np.int8)))


def _materialise(
    held: list[tuple[bytes, bytes]], name: bytes, body: bytes, kind: int
) -> tuple[int, bytes] | None:
    """Change the rows of a key; the change that the sink sees."""
    place = next((i for i, (other, _) in enumerate(held) if other == name), -1)
    if kind in (INSERT, UPDATE_AFTER):
        change = (UPDATE_AFTER if held else INSERT), body
        if place >= 0 and name is not body:
            held[place] = name, body
        else:
            held.append((name, body))
        return change
    assert kind in (UPDATE_BEFORE, DELETE)
    if place < 0:
        return None
    was_last = place == len(held) - 1
    del held[place]
    if not held:
        return DELETE, body
    return (UPDATE_AFTER, held[-1][1]) if was_last else None
