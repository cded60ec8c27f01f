"""Joins of rows whose times are within an interval of each other. (Flink: ``TimeIntervalJoin``.)

Each side keeps its rows until no row of the other one can be near enough; an outer join then shows those that
have met nobody. Results may be behind the watermark by as much as the interval is wide, so the watermark is
held back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.batch import MAX_WATERMARK, Mark
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import TwoInputColumnsOperator
from firesteel.sql.operators.due_keys import NEVER
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.marked_rows import MarkedRows
from firesteel.sql.operators.pairs import Pairs, null_keys, taken
from firesteel.sql.operators.specs import TimeIntervalJoin
from firesteel.sql.operators.watermarks import milliseconds
from firesteel.state.backend import OperatorState

__all__ = ["TimeIntervalJoinOperator"]

Array = np.ndarray[Any, Any]


class TimeIntervalJoinOperator(TwoInputColumnsOperator):
    spec: TimeIntervalJoin

    def __init__(self, program: OperatorProgram, spec: TimeIntervalJoin) -> None:
        super().__init__(program, spec)
        self._pairs = Pairs(spec.left, spec.right, spec.condition, spec.functions)
        self.minds_time = spec.event_time
        self._keys = (spec.left_keys, spec.right_keys)
        self._times = (spec.left_time, spec.right_time)
        self._outer = (spec.kind in ("LEFT", "FULL"), spec.kind in ("RIGHT", "FULL"))
        # How far the times of the other side may be before and after that of a row.
        self._reach = ((spec.upper_ms, -spec.lower_ms), (-spec.lower_ms, spec.upper_ms))
        self._delay = max(-spec.lower_ms, spec.upper_ms, 0) if spec.event_time else 0
        self._looked = 0

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._pairs.open(context)

    def on_open(self) -> None:
        spec = self.spec
        self._sides = (
            MarkedRows(self.state, "left", spec.left),
            MarkedRows(self.state, "right", spec.right),
        )

    def begin_epoch(self) -> None:
        super().begin_epoch()
        for side in self._sides:
            side.begin_epoch(self.state.core.sequence)

    # ---- rows

    def heeded(self, columns: Columns, input_index: int) -> Array:
        return milliseconds(columns.arrays[self._times[input_index]])

    def run(self, columns: Columns, input_index: int) -> None:
        side = input_index
        keyed = KeyedRows.of(columns, self._keys[side])
        rows, segments = keyed.rows, keyed.segments
        if self.spec.event_time:
            times = milliseconds(rows.arrays[self._times[side]])
            now = max(self.watermark, 0)
        else:
            now = self.context.clock.now_ms
            times = np.full(len(rows), now, np.int64)
        before, after = self._reach[side]
        own_rows, bodies, places = self._near(keyed, side, times, before, after)
        other = self._sides[1 - side]
        at = pa.array(own_rows, pa.int64())
        mine = [a.take(at) for a in rows.arrays]
        others = other.codec.decode(bodies)
        pair = (mine, others) if side == 0 else (others, mine)
        matches = np.flatnonzero(self._pairs.fulfilled([*pair[0], *pair[1]], len(bodies)))
        if len(matches):
            chosen = pa.array(matches)
            self.emit(Columns([a.take(chosen) for part in pair for a in part], len(matches)))
        met = np.zeros(len(rows), bool)
        met[np.array(own_rows, np.int64)[matches]] = True
        if self._outer[1 - side]:
            for match in matches.tolist():
                name, inner = places[match]
                body, mark = other.rows.get(name, segments.keys[0], inner)
                if not mark:
                    other.rows.put(name, inner, (body, 1))
        self._keep(keyed, side, times, met, now, after)

    def _near(
        self, keyed: KeyedRows, side: int, times: Array, before: int, after: int
    ) -> tuple[list[int], list[bytes], list[tuple[Any, Any]]]:
        """Pairs of a row and a held one of the other side that is near enough: the row, the held one, its
        place."""
        segments = keyed.segments
        alone = null_keys(keyed.rows, self._keys[side], self.spec.null_safe)
        other = self._sides[1 - side].rows
        rows: list[int] = []
        bodies: list[bytes] = []
        places: list[tuple[Any, Any]] = []
        stops = (segments.last + 1).tolist()
        for i, (start, stop) in enumerate(zip(segments.starts.tolist(), stops, strict=True)):
            if alone[start]:
                continue
            name = segments.names[i]
            held: Any = other.of(name, segments.keys[i])
            if not held:
                continue
            inners = sorted(held)
            at = np.array([inner[0] for inner in inners], np.int64)
            lows = np.searchsorted(at, times[start:stop] - before, "left").tolist()
            highs = np.searchsorted(at, times[start:stop] + after, "right").tolist()
            for row, (low, high) in enumerate(zip(lows, highs, strict=True), start):
                for inner in inners[low:high]:
                    rows.append(row)
                    bodies.append(held[inner][0])
                    places.append((name, inner))
        return rows, bodies, places

    def _keep(self, keyed: KeyedRows, side: int, times: Array, met: Array, now: int, after: int) -> None:
        """Keep the rows that later ones of the other side may meet; others are shown if they must be."""
        own = self._sides[side]
        waits = (times + after > now).tolist()
        segments = keyed.segments
        index = segments.index.tolist()
        bodies = own.codec.encode(keyed.rows)
        for row, (body, time) in enumerate(zip(bodies, times.tolist(), strict=True)):
            if waits[row]:
                own.add(segments.names[index[row]], segments.keys[index[row]], time, body, int(met[row]))
        lonely = np.flatnonzero(~met & ~np.array(waits, bool))
        if self._outer[side] and len(lonely):
            self._emit_alone(side, keyed.rows.take(lonely))

    def _emit_alone(self, side: int, rows: Columns) -> None:
        none = np.full(len(rows), -1)
        other = taken(self._sides[1 - side].codec.decode([]), none)
        arrays = [*rows.arrays, *other] if side == 0 else [*other, *rows.arrays]
        self.emit(Columns(arrays, len(rows)))

    # ---- time

    def on_mark(self, mark: Mark, input_index: int) -> None:
        for merged in self._valve.feed(input_index, mark):
            if type(merged) is int:
                self.move_watermark(merged)
                self.outputs.mark(merged - self._delay)
            else:
                super(TwoInputColumnsOperator, self).on_mark(merged, input_index)

    def advance(self, watermark: int) -> None:
        if self.spec.event_time:
            self._expire(watermark)

    def finish(self) -> None:
        self._expire(MAX_WATERMARK)

    def on_processing_time(self) -> None:
        if not self.spec.event_time and not self.ended:
            self._expire(self.context.clock.now_ms)
            self.outputs.flush()

    def next_timer_ms(self) -> int | None:
        if self.spec.event_time or self.ended or not any(self._outer):
            return None
        firsts = [(own.first_ms, reach) for own, (_, reach) in zip(self._sides, self._reach, strict=True)]
        return min((first + reach + 1 for first, reach in firsts if first != NEVER), default=None)

    def _expire(self, now: int) -> None:
        """Remove rows that nobody can meet any more."""
        if self.spec.event_time and now < MAX_WATERMARK:
            # A look at all rows of keys that have one to remove: not for each small step.
            step = max(1, (self.spec.upper_ms - self.spec.lower_ms) // 2)
            if not any(self._outer) and now < self._looked + step:
                return
            self._looked = now
        for side, own in enumerate(self._sides):
            limit = now - self._reach[side][1] - 1 if now < MAX_WATERMARK else MAX_WATERMARK
            lonely: list[bytes] = []
            for name, key in own.up_to(limit):
                held: Any = own.rows.of(name, key)
                for inner in sorted(inner for inner in held if inner[0] <= limit):
                    body, mark = held[inner]
                    if not mark:
                        lonely.append(body)
                    own.rows.remove(name, inner)
                own.again(name, key)
            if lonely and self._outer[side]:
                self._emit_alone(side, Columns(own.codec.decode(lonely), len(lonely)))
