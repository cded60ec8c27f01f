"""Aggregates of SESSION windows.

The rows of a batch become sessions of their own, in one pass over all keys; those that touch what is there
already are put together with it. A session is a slot of ``table rows`` under (start, key columns), with its
end as the last field. (Flink: ``UnsliceWindowAggProcessor``.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.batch import MIN_WATERMARK
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.aggregates import Aggregates, row_text, signs_of
from firesteel.sql.operators.base import arrow_types
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.row_state import Field, RowsColumn, rows_state
from firesteel.sql.operators.session_windows import SessionWindows
from firesteel.sql.operators.specs import TimeWindow
from firesteel.sql.operators.timed_windows import FAR
from firesteel.sql.operators.window_times import WindowTimes
from firesteel.state.column_keys import group_rows, hash_codes, row_arrays, row_values

__all__ = ["SessionAggregateOperator"]

Array = np.ndarray[Any, Any]


#: Start, end, number of a new session or -1, slot of an old one.
_Session = tuple[int, int, int, int]


_NO_SLOT: Final = -1
_SEVERAL: Final = -2


class _Sessions(NamedTuple):
    """Sessions of a batch.

    :ivar names: the identity of each key behind the start in names of state. :ivar fields: accumulators.
    """

    names: list[Any]
    keys: list[pa.Array]
    starts: Array
    ends: Array
    fields: list[Array]

    def take(self, rows: Array) -> _Sessions:
        at = pa.array(rows)
        return _Sessions(
            [self.names[i] for i in rows.tolist()],
            [key.take(at) for key in self.keys],
            self.starts[rows],
            self.ends[rows],
            [field[rows] for field in self.fields],
        )


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
        self._one: dict[Any, int] = {}  # key -> the slot of its session, or _SEVERAL
        self._several: dict[Any, list[int]] = {}  # key -> the slots of all of its sessions
        self._starts = np.zeros(0, np.int64)  # by slot
        self._seen = -1

    def on_open(self) -> None:
        spec = self.spec
        shape = f"{row_text(spec.input, spec.keys)} -> {self.aggregates.shape} in SESSION"
        self._rows = rows_state(self.state, "windows", [*self.aggregates.fields, Field("int64")], shape)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        if self._seen != self._rows.generation:
            self._one.clear()
            self._several.clear()
            names, slots = self._rows.items()
            self._seen = self._rows.generation
            self._know([name[1:] for name in names], [name[0] for name in names], slots)
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
        starts, ends = sorted_times[first], sorted_times[last] + gap
        of = owners[first]
        at = pa.array(groups.first[of])
        fields = self.aggregates.initial(len(first))
        made = _Sessions([names[i] for i in of.tolist()], [k.take(at) for k in keys], starts, ends, fields)
        alone = np.bincount(of, minlength=len(names))[of] == 1
        held, extending = self._held(made, alone)
        for field, before in zip(fields, self._rows.fields[:-1], strict=True):
            field[extending] = before[held[extending]]
        made = made._replace(fields=self.aggregates.fold(rows, signs, segments, fields))
        self._take_in(made, alone, held, extending)

    def _names(self, keys: list[pa.Array], first: Array) -> list[Any]:
        """The parts of keys that follow the start in names of state."""
        at = pa.array(first)
        return row_values([k.take(at) for k in keys], len(first))

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
            slots = self._slots_of(names[codes[row]])
            touches = any(starts[s] <= time + gap and ends[s] >= time for s in slots)
            if not touches:
                before = np.flatnonzero((codes[:row] == codes[row]) & ~late[:row])
                touches = bool((np.abs(times[before] - time) <= gap).any())
            late[row] = not touches
        return late if late.any() else None

    # ---- which sessions there are

    def _slots_of(self, name: Any) -> list[int]:
        held = self._one.get(name, _NO_SLOT)
        return self._several[name] if held == _SEVERAL else [held] if held >= 0 else []

    def _know(self, names: Iterable[Any], starts: Sequence[int] | Array, slots: Array) -> None:
        """Sessions have begun."""
        if len(self._starts) < len(self._rows.alive):
            self._starts = np.resize(self._starts, len(self._rows.alive))
        self._starts[slots] = starts
        one, several = self._one, self._several
        for name, slot in zip(names, slots.tolist(), strict=True):
            held = one.setdefault(name, slot)
            if held == _SEVERAL:
                several[name].append(slot)
            elif held != slot:
                one[name], several[name] = _SEVERAL, [held, slot]

    def _forget(self, slots: Array) -> None:
        """Sessions are over, or go on as others."""
        one, several = self._one, self._several
        for slot in slots.tolist():
            name = self._rows.name_of(slot)[1:]
            if one[name] != _SEVERAL:
                del one[name]
                continue
            rest = several[name]
            rest.remove(slot)
            if len(rest) == 1:
                one[name] = rest[0]
                del several[name]
        self._rows.remove(slots)

    def _held(self, made: _Sessions, alone: Array) -> tuple[Array, Array]:
        """The slot of the session that is there of each key, and which sessions go on with it.

        :param alone: whether the batch has no other session of the key.
        """
        held = np.array([self._one.get(name, _NO_SLOT) for name in made.names], np.int64)
        at = np.flatnonzero(alone & (held >= 0))
        slots = held[at]
        touches = (self._starts[slots] <= made.ends[at]) & (self._rows.fields[-1][slots] >= made.starts[at])
        return held, at[touches]

    def _take_in(self, made: _Sessions, alone: Array, held: Array, extending: Array) -> None:
        """Put sessions of a batch together with those that are there. Where there is one of a key on both
        sides at most, which is usual, all keys are worked on at once."""
        new = np.flatnonzero(alone & (held == _NO_SLOT))
        others = np.ones(len(held), bool)
        others[extending] = others[new] = False
        rest = made.take(np.flatnonzero(others)) if others.any() else None
        if len(extending):
            self._extend(made.take(extending), held[extending])
        if len(new):
            self._begin(made.take(new))
        if rest is not None:
            self._merge(*rest)
        self._next = min(self._next, int(made.ends.min()))

    def _extend(self, made: _Sessions, slots: Array) -> None:
        """Each of some sessions has gone on from the one that is there: row by row, as the result of floats
        depends on it."""
        before = self._starts[slots]
        whole = made._replace(
            starts=np.minimum(before, made.starts), ends=np.maximum(self._rows.fields[-1][slots], made.ends)
        )
        stays = whole.starts == before
        at = np.flatnonzero(stays)
        self._rows.put(slots[at], [*(f[at] for f in whole.fields), whole.ends[at]])
        earlier = np.flatnonzero(~stays)  # they have another name
        if len(earlier):
            self._forget(slots[earlier])
            self._begin(whole.take(earlier))

    def _begin(self, made: _Sessions) -> None:
        """Store sessions of keys that have no other."""
        slots = self._find(made.names, made.keys, made.starts)
        self._know(made.names, made.starts, slots)
        self._rows.put(slots, [*made.fields, made.ends])

    def _find(self, names: list[Any], keys: list[pa.Array], starts: Array) -> Array:
        full = [(start, *name) for start, name in zip(starts.tolist(), names, strict=True)]
        return self._rows.find(full, hash_codes(keys, len(full)))

    # ---- several sessions of a key

    def _merge(
        self, names: list[Any], keys: list[pa.Array], starts: Array, ends: Array, fields: list[Array]
    ) -> None:
        """Put sessions of a batch together with those that are there, whatever touches whatever."""
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
            if name in self._one:
                mine.setdefault(name, []).append(i)
        held, starting = self._rows.fields[-1], self._starts
        for name, fresh in mine.items():
            every = [(int(starts[i]), int(ends[i]), i, -1) for i in fresh]
            every += [(int(starting[s]), int(held[s]), -1, s) for s in self._slots_of(name)]
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
        slots = self._find(names, keys, starts)
        dropped = np.setdiff1d(np.array(gone, np.int64), slots)
        if len(dropped):
            self._forget(dropped)
        new = np.flatnonzero(~self._rows.alive[slots])
        self._know([names[i] for i in new.tolist()], starts[new], slots[new])
        self._rows.put(slots, [*fields, ends])

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
        self._forget(slots)
        if self.spec.retracts:
            there = np.flatnonzero(fields[0] > 0)
            fields, names = [f[there] for f in fields], [names[i] for i in there.tolist()]
        if not names:
            return
        starts, *keys = row_arrays(names, [pa.int64(), *(self._types[i] for i in self.spec.keys)])
        times = self._times.arrays(starts.to_numpy(), fields[-1])
        self.emit(Columns([*keys, *self.aggregates.results(fields[:-1]), *times], len(names)))

    def finish(self) -> None:
        if self.context.batch_mode:
            self._rows.drop()
