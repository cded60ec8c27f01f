"""Joins with the version of a table that was valid at the time of a row. (Flink:
``TemporalRowTimeJoinOperator``, ``TemporalProcessTimeJoinOperator``.)

By event time rows wait for the watermark: then all versions up to their time are there. Of versions those are
kept that a later row may still ask for.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Columns
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import TwoInputColumnsOperator
from firesteel.sql.operators.changelogs import LastRows
from firesteel.sql.operators.due_keys import DueKeys
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.marked_rows import MarkedRows
from firesteel.sql.operators.pairs import Pairs, taken
from firesteel.sql.operators.specs import TemporalJoin
from firesteel.sql.operators.watermarks import milliseconds
from firesteel.state.backend import OperatorState

__all__ = ["TemporalJoinOperator"]

Array = np.ndarray[Any, Any]


class TemporalJoinOperator(TwoInputColumnsOperator):
    spec: TemporalJoin

    def __init__(self, program: OperatorProgram, spec: TemporalJoin) -> None:
        super().__init__(program, spec)
        self._pairs = Pairs(spec.left, spec.right, spec.condition, spec.functions)
        self._event_time = spec.left_time is not None
        self._keys = (spec.left_keys, spec.right_keys)
        #: Keys with several versions, by when some of them go. Of those that another process has learned this
        #: one knows nothing: they go when the key gets its next version.
        self._several = DueKeys()

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._pairs.open(context)

    def on_open(self) -> None:
        spec = self.spec
        if self._event_time:
            self._left = MarkedRows(self.state, "left", spec.left, spec.ttl_ms)
            self._right = MarkedRows(self.state, "right", spec.right, spec.ttl_ms)
        else:
            self._last = LastRows(self.state, "right", spec.right, spec.ttl_ms)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        if self._event_time:
            self._left.begin_epoch(self.state.core.sequence)
            self._right.begin_epoch(self.state.core.sequence)

    def run(self, columns: Columns, input_index: int) -> None:
        keyed = KeyedRows.of(columns, self._keys[input_index])
        if not self._event_time:
            self._run_now(keyed, input_index)
        elif input_index == 0:
            self._wait(keyed)
        else:
            self._learn(keyed)

    # ---- event time

    def _wait(self, keyed: KeyedRows) -> None:
        assert self.spec.left_time is not None
        times = milliseconds(keyed.rows.arrays[self.spec.left_time])
        kinds = keyed.rows.kinds_or_inserts().tolist()
        index = keyed.segments.index.tolist()
        bodies = self._left.codec.encode(keyed.rows)
        for row, (time, body) in enumerate(zip(times.tolist(), bodies, strict=True)):
            name, key = keyed.segments.names[index[row]], keyed.segments.keys[index[row]]
            self._left.add(name, key, time, body, kinds[row])

    def _learn(self, keyed: KeyedRows) -> None:
        """A version is found by its time; of two of one time the last one counts, and what it replaces does
        not."""
        assert self.spec.right_time is not None
        times = milliseconds(keyed.rows.arrays[self.spec.right_time])
        kinds = keyed.rows.kinds_or_inserts().tolist()
        index = keyed.segments.index.tolist()
        versions = self._right.rows
        bodies = self._right.codec.encode(keyed.rows)
        for row, (time, body) in enumerate(zip(times.tolist(), bodies, strict=True)):
            if kinds[row] == UPDATE_BEFORE:
                continue
            name, key = keyed.segments.names[index[row]], keyed.segments.keys[index[row]]
            known = versions.of(name, key)
            versions.put(name, time, (body, kinds[row]))
            if len(known) > 1:
                self._several.put(name, key, time)

    def advance(self, watermark: int) -> None:
        if not self._event_time:
            return
        out: list[tuple[int, bytes, bytes | None]] = []
        if watermark >= self._left.first_ms:
            for name, key in self._left.up_to(watermark):
                waiting: Any = self._left.rows.of(name, key)
                due = sorted((at for at in waiting if at[0] <= watermark), key=itemgetter(1))
                self._meet(name, key, waiting, due, out)
                self._left.again(name, key)
        self._forget(watermark)
        self._emit(out)

    def _meet(self, name: Any, key: Any, waiting: Any, due: list[Any], out: list[Any]) -> None:
        versions: Any = self._right.rows.of(name, key)
        times = sorted(versions)
        has_null = type(name) is tuple and any(part is None for part in name)
        for inner in due:
            body, kind = waiting[inner]
            at = bisect_right(times, inner[0]) - 1
            version = versions[times[at]] if at >= 0 and not has_null else None
            found = version[0] if version is not None and version[1] != DELETE else None
            out.append((kind, body, found))
            self._left.rows.remove(name, inner)

    def _forget(self, watermark: int) -> None:
        """Of the versions up to the watermark the newest one alone is still asked for."""
        for name, key in self._several.take(watermark):
            versions: Any = self._right.rows.of(name, key)
            for time in sorted(time for time in versions if time <= watermark)[:-1]:
                self._right.rows.remove(name, time)
            if len(versions) > 1:
                self._several.put(name, key, sorted(versions)[1])

    def _emit(self, found: list[tuple[int, bytes, bytes | None]]) -> None:
        if not found:
            return
        left = self._left.codec.decode([body for _, body, _ in found])
        partners = [version for _, _, version in found if version is not None]
        has = np.array([version is not None for _, _, version in found], bool)
        places = np.where(has, np.cumsum(has) - 1, -1)
        right = taken(self._right.codec.decode(partners), places)
        kinds = np.array([kind for kind, _, _ in found], np.int8)
        self._emit_pairs(left, right, has, kinds)

    def _emit_pairs(self, left: list[pa.Array], right: list[pa.Array], has: Array, kinds: Array) -> None:
        count = len(has)
        matches = has & self._pairs.fulfilled([*left, *right], count)
        if self.spec.kind == "LEFT":
            rows = np.arange(count)
            right = taken(right, np.where(matches, rows, -1))
        else:
            rows = np.flatnonzero(matches)
            at = pa.array(rows)
            left, right = [a.take(at) for a in left], [a.take(at) for a in right]
            kinds = kinds[rows]
        self.emit(Columns([*left, *right], len(rows), kinds if kinds.any() else None))

    # ---- processing time

    def _run_now(self, keyed: KeyedRows, side: int) -> None:
        rows, segments = keyed.rows, keyed.segments
        slots = self._last.rows.find(segments.names, keyed.codes)
        kinds = rows.kinds_or_inserts()
        if side == 1:
            adds = (kinds == INSERT) | (kinds == UPDATE_AFTER)
            stays = adds[segments.last]
            if stays.any():
                self._last.put(slots[stays], rows, segments.last[stays])
            if not stays.all():
                self._last.rows.remove(slots[~stays])
            return
        held, places = self._last.read(slots)
        partners = places[segments.index]
        self._emit_pairs(list(rows.arrays), taken(held, partners), partners >= 0, kinds)
