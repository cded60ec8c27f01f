"""OVER in the order of time: each row with aggregates over the rows before it. Other orders: ``over_sorted``.

By event time rows wait for the watermark, and are then worked on in the order of their time; rows behind it
are dropped. An unbounded frame goes on from accumulators. A bounded one is aggregated anew for each row, over
all frames of a batch at once. (Flink: ``RowTimeRangeUnboundedPrecedingFunction`` and its kin.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from firesteel.common.columns import Columns
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.runtime.batch import MAX_WATERMARK
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.aggregates import Aggregates, row_text
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.buffers import TimedRows
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.row_state import rows_state
from firesteel.sql.operators.specs import OverAggregate
from firesteel.sql.operators.watermarks import milliseconds

__all__ = ["TimeOverOperator", "over_operator"]

Array = np.ndarray[Any, Any]
_FAR = 2**63 - 1


class TimeOverOperator(KeyedColumnsOperator):
    spec: OverAggregate

    def __init__(self, program: OperatorProgram, spec: OverAggregate) -> None:
        super().__init__(program, spec)
        if spec.following != 0:
            raise UnsupportedFeatureError(
                "OVER RANGE FOLLOWING windows are not supported yet.", operator=program.name
            )
        self.aggregates = Aggregates(spec.calls, spec.input, False, spec.functions)
        self._bounded = spec.preceding is not None
        self._next = _FAR

    def on_open(self) -> None:
        spec = self.spec
        shape = f"{row_text(spec.input, spec.keys)} -> {self.aggregates.shape}"
        self._waiting = TimedRows(self.state, "waiting", spec.input)
        if self._bounded:
            self._past = TimedRows(self.state, "past", spec.input, spec.ttl_ms)
        else:
            self._rows = rows_state(self.state, "accumulators", self.aggregates.fields, shape, spec.ttl_ms)
        self.aggregates.open(self.state, "accumulators", spec.ttl_ms)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._waiting.begin_epoch(self.state.core.sequence)
        if self._bounded:
            self._past.begin_epoch(self.state.core.sequence)
        self._next = -_FAR  # not known: look once

    # ---- rows

    def run(self, columns: Columns, input_index: int) -> None:
        spec = self.spec
        if not spec.event_time:
            now = self.context.clock.now_ms
            self._process(KeyedRows.of(columns, spec.keys), np.full(len(columns), now, np.int64))
            return
        assert spec.time is not None
        times = milliseconds(columns.arrays[spec.time])
        if self.context.batch_mode:
            late = np.zeros(len(columns), bool)
        else:
            late = times <= self.watermark
        if late.any():
            kept = np.flatnonzero(~late)
            if not len(kept):
                return
            columns = columns.take(kept)
        keyed = KeyedRows.of(columns, spec.keys)
        times = milliseconds(keyed.rows.arrays[spec.time])
        self._waiting.add_all(keyed, times)
        self._next = min(self._next, int(times.min()))

    def advance(self, watermark: int) -> None:
        if not self.spec.event_time or watermark < self._next:
            return
        bodies: list[bytes] = []
        times: list[int] = []
        self._next = _FAR
        rows = self._waiting.rows
        for name, key in self._waiting.all():
            waiting: Any = rows.of(name, key)
            due = sorted(inner for inner in waiting if inner[0] <= watermark)
            rest = min((inner[0] for inner in waiting if inner[0] > watermark), default=_FAR)
            self._next = min(self._next, rest)
            for inner in due:
                bodies.append(waiting[inner][0])
                times.append(inner[0])
                rows.remove(name, inner)
        if bodies:
            columns = Columns(self._waiting.codec.decode(bodies), len(bodies))
            keyed = KeyedRows.of(columns, self.spec.keys)
            assert self.spec.time is not None
            self._process(keyed, milliseconds(keyed.rows.arrays[self.spec.time]))

    def _process(self, keyed: KeyedRows, times: Array) -> None:
        run = self._bounded_frames if self._bounded else self._unbounded
        fields = run(keyed, times)
        results = self.aggregates.results(fields)
        self.emit(Columns([*keyed.rows.arrays, *results], len(keyed.rows)))

    def _peers(self, segments: Segments, times: Array) -> Array:
        """For each row the last one of its key with its time."""
        count = segments.count
        ends = np.ones(count, bool)
        ends[:-1] = (times[1:] != times[:-1]) | (segments.index[1:] != segments.index[:-1])
        places = np.flatnonzero(ends)
        return places[np.searchsorted(places, np.arange(count))]

    def _unbounded(self, keyed: KeyedRows, times: Array) -> list[Array]:
        segments = keyed.segments
        slots = self._rows.find(list(segments.names), keyed.codes)
        base = [field[slots] for field in self._rows.fields]
        fields = self.aggregates.scan(keyed.rows, None, segments, base)
        self._rows.put(slots, [field[segments.last] for field in fields])
        if not self.spec.rows and self.spec.event_time:
            peers = self._peers(segments, times)
            fields = [field[peers] for field in fields]
        return fields

    def _bounded_frames(self, keyed: KeyedRows, times: Array) -> list[Array]:
        """Aggregate the frame of each row, of what is kept of the past and of the batch."""
        spec, segments = self.spec, keyed.segments
        assert spec.preceding is not None
        past_bodies, past_times, owners = self._recall(keyed, times)
        past = Columns(self._past.codec.decode(past_bodies), len(past_bodies))
        every = Columns.concat([past, keyed.rows.with_kinds(None)])
        of = np.append(np.array(owners, np.int64), segments.index)
        order = np.argsort(of, kind="stable")
        all_times = np.append(np.array(past_times, np.int64), times)[order]
        of = of[order]
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        mine = place[len(past_bodies) :]  # where the rows of the batch are among all
        begins = np.searchsorted(of, np.arange(len(segments)))[segments.index]
        last = mine
        if spec.rows:
            first = np.maximum(begins, mine - spec.preceding)
        else:
            ranks = np.searchsorted(np.unique(all_times), all_times)  # times that can be put beside the key
            unique = np.unique(all_times)
            width = len(unique) + 1
            composed = of * width + ranks
            wanted = np.searchsorted(unique, times - spec.preceding)
            first = np.searchsorted(composed, segments.index * width + wanted)
            if spec.event_time:
                last = np.searchsorted(composed, composed[mine], side="right") - 1
        fields = self._frames(every.take(order), segments, first, last)
        self._remember(keyed, times)
        return fields

    def _frames(self, rows: Columns, segments: Segments, first: Array, last: Array) -> list[Array]:
        lengths = last - first + 1
        starts = np.zeros(len(lengths), np.int64)
        np.cumsum(lengths[:-1], out=starts[1:])
        total = int(lengths.sum())
        members = np.arange(total) - np.repeat(starts - first, lengths)
        names = [(i,) for i in range(len(lengths))]
        frames = Segments(starts, total, names, [b""] * len(names))
        return self.aggregates.fold(rows.take(members), None, frames, self.aggregates.initial(len(lengths)))

    def _recall(self, keyed: KeyedRows, times: Array) -> tuple[list[bytes], list[int], list[int]]:
        """The kept rows that frames may reach, in order; what none can reach any more is forgotten."""
        spec, segments = self.spec, keyed.segments
        assert spec.preceding is not None
        bodies: list[bytes] = []
        found_times: list[int] = []
        owners: list[int] = []
        first_times = times[segments.starts].tolist()
        for i, (name, key) in enumerate(zip(segments.names, segments.keys, strict=True)):
            held: Any = self._past.rows.of(name, key)
            inners = sorted(held)
            if spec.rows:
                kept = inners[-spec.preceding :] if spec.preceding else []
            else:
                kept = [inner for inner in inners if inner[0] >= first_times[i] - spec.preceding]
            for inner in set(inners) - set(kept):
                self._past.rows.remove(name, inner)
            for inner in kept:
                bodies.append(held[inner][0])
                found_times.append(inner[0])
                owners.append(i)
        return bodies, found_times, owners

    def _remember(self, keyed: KeyedRows, times: Array) -> None:
        spec, segments = self.spec, keyed.segments
        assert spec.preceding is not None
        if spec.rows:
            from_end = segments.last[segments.index] - np.arange(segments.count)
            kept = np.flatnonzero(from_end < spec.preceding)
        else:
            kept = np.flatnonzero(times >= times[segments.last][segments.index] - spec.preceding)
        if len(kept):
            rows = keyed.rows.take(kept)
            index = segments.index[kept].tolist()
            bodies = self._past.codec.encode(rows)
            for at, (time, body) in enumerate(zip(times[kept].tolist(), bodies, strict=True)):
                self._past.add(segments.names[index[at]], segments.keys[index[at]], time, body)

    def finish(self) -> None:
        if self.spec.event_time:
            self.advance(MAX_WATERMARK)


def over_operator(program: OperatorProgram, spec: OverAggregate) -> KeyedColumnsOperator:
    """The operator of an OVER, by time or by another order."""
    if spec.time is None:
        from firesteel.sql.operators.over_sorted import SortedOverOperator

        return SortedOverOperator(program, spec)
    return TimeOverOperator(program, spec)
