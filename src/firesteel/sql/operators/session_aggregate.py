"""Aggregates of SESSION windows.

The rows of a batch become sessions of their own, in one pass over all keys; those that touch what is there
already are put together with it. A session is a slot of ``table rows`` under (start, key columns), with its
end as the last field. (Flink: ``UnsliceWindowAggProcessor``.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.batch import MIN_WATERMARK
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.aggregates import Aggregates, row_text, signs_of
from firesteel.sql.operators.base import arrow_types
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.row_state import Field, RowsColumn, rows_state
from firesteel.sql.operators.session_windows import FAR, SessionWindows
from firesteel.sql.operators.specs import TimeWindow
from firesteel.sql.operators.window_times import WindowTimes
from firesteel.state.column_keys import group_rows, hash_codes, identities, key_arrays

__all__ = ["SessionAggregateOperator"]

Array = np.ndarray[Any, Any]


#: Start, end, number of a new session or -1, slot of an old one.
_Session = tuple[int, int, int, int]


def _in_rounds(rounds: list[list[tuple[int, int]]], first: int, others: list[int]) -> None:
    for step, other in enumerate(others):
        if step == len(rounds):
            rounds.append([])
        rounds[step].append((first, other))


class SessionAggregateOperator(SessionWindows):
    _rows: RowsColumn

    def __init__(self, program: OperatorProgram, spec: Any, window: TimeWindow) -> None:
        super().__init__(program, spec, window)
        self.aggregates = Aggregates(spec.calls, spec.input, spec.retracts, spec.functions, merging=True)
        self._types = arrow_types(spec.input)
        self._times = WindowTimes(spec.output, spec.properties, window.zone)
        self._of: dict[Any, list[int]] = {}  # key -> slots of its sessions
        self._seen = -1

    def on_open(self) -> None:
        spec = self.spec
        shape = f"{row_text(spec.input, spec.keys)} -> {self.aggregates.shape} in SESSION"
        self._rows = rows_state(self.state, "windows", [*self.aggregates.fields, Field("int64")], shape)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        if self._seen != self._rows.generation:
            self._of.clear()
            names, slots = self._rows.items()
            self._seen = self._rows.generation
            for name, slot in zip(names, slots.tolist(), strict=True):
                self._of.setdefault(name[1:], []).append(slot)
            self._next = int(self._rows.fields[-1][slots].min(initial=FAR))

    # ---- rows

    def run(self, columns: Columns, input_index: int) -> None:
        gap = self.window.size
        times = self.times_of(columns)
        keys = self.key_columns(columns, self.spec.keys)
        groups = group_rows(keys, len(columns))
        names = self._names(keys, groups.first)
        late = self._late(times, groups.codes, names)
        if late is not None:
            kept = np.flatnonzero(~late)
            if not len(kept):
                return
            columns, times = columns.take(kept), times[kept]
            keys = self.key_columns(columns, self.spec.keys)
            groups = group_rows(keys, len(columns))
            names = self._names(keys, groups.first)
        by_time = np.lexsort((times, groups.codes))
        sorted_times, owners = times[by_time], groups.codes[by_time]
        begins = np.ones(len(times), bool)
        begins[1:] = (owners[1:] != owners[:-1]) | (sorted_times[1:] - sorted_times[:-1] > gap)
        first = np.flatnonzero(begins)
        last = np.append(first[1:], len(times)) - 1
        session = np.empty(len(times), np.int64)
        session[by_time] = np.cumsum(begins) - 1
        order = np.argsort(session, kind="stable")
        rows = columns.take(order)
        segments = Segments(first, len(times))
        signs = signs_of(rows) if self.spec.retracts else None
        fields = self.aggregates.fold(rows, signs, segments, self.aggregates.initial(len(first)))
        starts, ends = sorted_times[first], sorted_times[last] + gap
        at = pa.array(groups.first[owners[first]])
        self._merge(
            [names[i] for i in owners[first].tolist()], [k.take(at) for k in keys], starts, ends, fields
        )

    def _names(self, keys: list[pa.Array], first: Array) -> list[Any]:
        """The parts of keys that follow the start in names of state."""
        at = pa.array(first)
        count = len(first)
        zeros = pa.array(np.zeros(count, np.int64))
        return [name[1:] for name in identities([zeros, *(k.take(at) for k in keys)], count)]

    def _late(self, times: Array, codes: Array, names: list[Any]) -> Array | None:
        """Rows that touch no open session, and whose own one would be over."""
        if not self.window.event_time or self._progress.value == MIN_WATERMARK:
            return None
        gap, progress = self.window.size, self._local(self._progress.value)
        over = times + gap - 1 <= progress
        if not over.any():
            return None
        late = over.copy()
        starts, ends = self._starts, self._rows.fields[-1]
        for row in np.flatnonzero(over).tolist():
            time = int(times[row])
            slots = self._of.get(names[codes[row]], ())
            touches = any(starts(s) <= time + gap and ends[s] >= time for s in slots)
            if not touches:
                before = np.flatnonzero((codes[:row] == codes[row]) & ~late[:row])
                touches = bool((np.abs(times[before] - time) <= gap).any())
            late[row] = not touches
        return late if late.any() else None

    def _starts(self, slot: int) -> int:
        return int(self._rows.name_of(slot)[0])

    def _merge(
        self, names: list[Any], keys: list[pa.Array], starts: Array, ends: Array, fields: list[Array]
    ) -> None:
        """Put sessions of a batch together with those that are there."""
        held = self._rows.fields
        starts, ends = starts.copy(), ends.copy()
        gone: list[int] = []
        absorbed: list[int] = []
        joins: list[list[tuple[int, int]]] = []  # pairs of new sessions that one of before connects
        rounds: list[list[tuple[int, int]]] = []  # pairs of a new session and the slot of an old one
        for together in self._connected(names, starts, ends):
            fresh = [i for _, _, i, _ in together if i >= 0]
            old = [slot for _, _, i, slot in together if i < 0]
            first = fresh[0]
            starts[first] = together[0][0]
            ends[first] = max(end for _, end, _, _ in together)
            _in_rounds(joins, first, fresh[1:])
            _in_rounds(rounds, first, old)
            absorbed += fresh[1:]
            gone += old
        for pairs in reversed(rounds):  # the earliest last, for it comes first
            at, there = np.array(pairs, np.int64).T
            made = self.aggregates.merge([f[there] for f in held[:-1]], [f[at] for f in fields])
            for field, values in zip(fields, made, strict=True):
                field[at] = values
        for pairs in joins:
            into, other = np.array(pairs, np.int64).T
            made = self.aggregates.merge([f[into] for f in fields], [f[other] for f in fields])
            for field, values in zip(fields, made, strict=True):
                field[into] = values
        if absorbed:
            left = np.setdiff1d(np.arange(len(names)), absorbed)
            names, keys = [names[i] for i in left.tolist()], [k.take(pa.array(left)) for k in keys]
            starts, ends, fields = starts[left], ends[left], [f[left] for f in fields]
        self._store(names, keys, starts, ends, fields, gone)

    def _connected(self, names: list[Any], starts: Array, ends: Array) -> Iterator[list[_Session]]:
        """New sessions with the old ones, and through them the other new ones, that they touch; by start."""
        mine: dict[Any, list[int]] = {}
        for i, name in enumerate(names):
            if name in self._of:
                mine.setdefault(name, []).append(i)
        held = self._rows.fields[-1]
        for name, fresh in mine.items():
            every = [(int(starts[i]), int(ends[i]), i, -1) for i in fresh]
            every += [(self._starts(slot), int(held[slot]), -1, slot) for slot in self._of[name]]
            every.sort()
            together, end = [every[0]], every[0][1]
            for session in [*every[1:], None]:
                if session is not None and session[0] <= end:
                    together.append(session)
                    end = max(end, session[1])
                    continue
                if len(together) > 1:
                    yield together
                if session is not None:
                    together, end = [session], session[1]

    def _store(
        self,
        names: list[Any],
        keys: list[pa.Array],
        starts: Array,
        ends: Array,
        fields: list[Array],
        gone: list[int],
    ) -> None:
        full = [(int(s), *name) for s, name in zip(starts.tolist(), names, strict=True)]
        slots = self._rows.find(full, hash_codes(keys, len(full)))
        dropped = np.setdiff1d(np.array(gone, np.int64), slots)
        for slot in dropped.tolist():
            self._of[self._rows.name_of(slot)[1:]].remove(slot)
        if len(dropped):
            self._rows.remove(dropped)
        for name, slot, is_old in zip(names, slots.tolist(), self._rows.alive[slots].tolist(), strict=True):
            if not is_old:
                self._of.setdefault(name, []).append(slot)
        self._rows.put(slots, [*fields, ends])
        self._next = min(self._next, int(ends.min()))

    # ---- time

    def fire(self, local: int) -> None:
        ends = self._rows.fields[-1]
        slots = np.flatnonzero(self._rows.alive & (ends - 1 <= local))
        if len(slots):
            self._emit(slots[np.argsort(ends[slots], kind="stable")])
        waiting = self._rows.alive & (ends - 1 > local)
        self._next = int(ends[waiting].min(initial=FAR))

    def _emit(self, slots: Array) -> None:
        fields = [field[slots] for field in self._rows.fields]
        names = [self._rows.name_of(slot) for slot in slots.tolist()]
        for name, slot in zip(names, slots.tolist(), strict=True):
            mine = self._of[name[1:]]
            mine.remove(slot)
            if not mine:
                del self._of[name[1:]]
        self._rows.remove(slots)
        if self.spec.retracts:
            there = np.flatnonzero(fields[0] > 0)
            fields, names = [f[there] for f in fields], [names[i] for i in there.tolist()]
        if not names:
            return
        starts, *keys = key_arrays(names, [pa.int64(), *(self._types[i] for i in self.spec.keys)])
        times = self._times.arrays(starts.to_numpy(), fields[-1])
        self.emit(Columns([*keys, *self.aggregates.results(fields[:-1]), *times], len(names)))

    def finish(self) -> None:
        if self.context.batch_mode:
            self._rows.drop()
