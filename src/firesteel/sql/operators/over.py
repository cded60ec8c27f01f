"""OVER: calls over a frame of rows around each row. One operator, and a way of doing it for each kind of
order:

- by a rowtime (``RowtimeWay``): rows wait until the watermark has passed them;
- by arrival, in processing time (``ArrivalWay``): each row has its result at once;
- by other columns (``over_sorted.SortedWay``): a row changes the results of those behind it;
- in batch mode (``WholeWay``): all rows of a key at the end of the input.

(Flink: ``RowTimeRowsBoundedPrecedingFunction`` and its like, ``NonTimeRowsUnboundedPrecedingFunction``.)
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.aggregates import Aggregates, row_text
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.frames import Frames, Placed, is_of_place, offset_of
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.ordering import order_codes, sorted_rows
from firesteel.sql.operators.over_sorted import SortedWay
from firesteel.sql.operators.row_state import rows_state
from firesteel.sql.operators.specs import OverAggregate
from firesteel.sql.operators.timed_rows import KeptProgress, TimedRows, names_of
from firesteel.sql.operators.watermarks import milliseconds
from firesteel.state.backend import OperatorState
from firesteel.state.column_keys import CanonicalKeys, group_rows, hash_codes, row_values

__all__ = ["OverOperator", "over_operator"]

Array = np.ndarray[Any, Any]
_COUNTED: Final = ("ROW_NUMBER", "RANK")  # numbers of rows
_ARRIVAL: Final = 0  # the time of rows that are only ordered by their arrival


class Way(Protocol):
    """How an OVER is computed. ``results`` are handed on by ``operator.emit``."""

    def begin(self) -> None: ...

    def run(self, columns: Columns) -> None: ...

    def advance(self, watermark: int) -> None: ...

    def tick(self, now_ms: int) -> None: ...

    def next_timer_ms(self) -> int | None: ...

    def end(self) -> None: ...

    def finish(self) -> None: ...


class OverOperator(KeyedColumnsOperator):
    spec: OverAggregate
    _way: Way

    def __init__(self, program: OperatorProgram, spec: OverAggregate) -> None:
        super().__init__(program, spec)
        self.minds_time = spec.time is not None and spec.event_time

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)

    def on_open(self) -> None:
        spec = self.spec
        if self.context.batch_mode:
            self._way = WholeWay(self)
        elif spec.time is None:
            self._way = SortedWay(self)
        elif spec.event_time:
            self._way = RowtimeWay(self)
        else:
            self._way = ArrivalWay(self)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._way.begin()

    def heeded(self, columns: Columns, input_index: int) -> Array:
        assert self.spec.time is not None
        return milliseconds(columns.arrays[self.spec.time])

    def run(self, columns: Columns, input_index: int) -> None:
        self._way.run(columns)

    def advance(self, watermark: int) -> None:
        self._way.advance(watermark)

    def on_processing_time(self) -> None:
        if not self.ended:
            self._way.tick(self.context.clock.now_ms)
            self.outputs.flush()

    def next_timer_ms(self) -> int | None:
        return None if self.ended else self._way.next_timer_ms()

    def end_epoch(self) -> None:
        self._way.end()

    def finish(self) -> None:
        self._way.finish()

    # ---- what ways share

    def frames(self) -> Frames:
        spec = self.spec
        return Frames(
            spec.calls,
            spec.input,
            spec.functions,
            rows=spec.rows,
            preceding=spec.preceding,
            following=spec.following,
            operator=self.program.name,
        )

    @property
    def shape(self) -> str:
        return row_text(self.spec.input, range(len(self.spec.input.fields)))

    def with_results(self, rows: Columns, results: list[pa.Array]) -> None:
        self.emit(rows.with_arrays([*rows.arrays, *results]))


def over_operator(program: OperatorProgram, spec: OverAggregate) -> OverOperator:
    """Make the operator of a spec.

    :raises UnsupportedFeatureError: there are no such frames in a stream.
    """
    return OverOperator(program, spec)


class _Quiet:
    """A way that does not mind time."""

    def __init__(self, operator: OverOperator) -> None:
        self.operator = operator
        self.spec = operator.spec

    def begin(self) -> None: ...

    def advance(self, watermark: int) -> None: ...

    def tick(self, now_ms: int) -> None: ...

    def next_timer_ms(self) -> int | None:
        return None

    def end(self) -> None: ...

    def finish(self) -> None: ...


class WholeWay(_Quiet):
    """All rows of a key at the end of a bounded input."""

    def __init__(self, operator: OverOperator) -> None:
        super().__init__(operator)
        self._frames = operator.frames()
        self._held: list[Columns] = []

    def begin(self) -> None:
        self._held = []

    def run(self, columns: Columns) -> None:
        self._held.append(columns.settled())

    def finish(self) -> None:
        if not self._held:
            return
        columns, self._held = Columns.concat(self._held), []
        keys = [columns.arrays[i] for i in self.spec.keys]
        owners = group_rows(keys, len(columns)).codes if keys else np.zeros(len(columns), np.int64)
        order = sorted_rows(columns.arrays, self.spec.order, owners)
        rows, owners = columns.take(order), owners[order]
        places = np.zeros(len(rows), np.int64)
        for ordering in self.spec.order:  # rows are equal in order when they are in each column
            codes = order_codes(rows.arrays[ordering.index], ordering)
            places = np.cumsum(np.append(True, (codes[1:] != codes[:-1]) | (np.diff(places) != 0)))
        values = _distances(rows, self.spec)
        placed = Placed.of(owners, places)
        self.operator.with_results(rows, self._frames.results(rows, placed, values, np.arange(len(rows))))


def _distances(rows: Columns, spec: OverAggregate) -> Array:
    """What a RANGE measures: the first ordering column as a number that rises."""
    if not spec.order and spec.time is None:
        return np.zeros(len(rows), np.int64)
    index = spec.order[0].index if spec.order else spec.time
    assert index is not None
    array = rows.arrays[index]
    if pa.types.is_timestamp(array.type):
        values = milliseconds(array)
    elif pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        values = array.fill_null(0).to_numpy(zero_copy_only=False)
    elif pa.types.is_temporal(array.type):
        days = 86_400_000 if pa.types.is_date32(array.type) else 1
        values = array.view(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) * days
    else:
        return np.zeros(len(rows), np.int64)
    return values if not spec.order or spec.order[0].ascending else -values


class RowtimeWay(_Quiet):
    """Rows wait for the watermark; those that later frames reach back to are kept behind it."""

    def __init__(self, operator: OverOperator) -> None:
        super().__init__(operator)
        spec = self.spec
        state = operator.state
        self._rows = TimedRows(state, "rows", spec.input, operator.shape)
        self._progress = KeptProgress(state)
        self._counting = _Counting(operator)
        self._back = max([offset_of(c) for c in spec.calls if c.function.upper() == "LAG"], default=0)
        self._frames = operator.frames() if spec.preceding is not None else None

    def begin(self) -> None:
        self._rows.refresh()
        self._progress.begin(self.operator.watermark)

    def end(self) -> None:
        self._progress.end()

    def run(self, columns: Columns) -> None:
        assert self.spec.time is not None
        times = milliseconds(columns.arrays[self.spec.time])
        kept = np.flatnonzero(times > self._progress.value)
        if len(kept) < len(columns):
            columns, times = columns.take(kept), times[kept]
        if not len(columns):
            return
        self._rows.add_all(columns, self.operator.key_columns(columns, self.spec.keys), times)

    def advance(self, watermark: int) -> None:
        before = self._progress.value
        self._progress.move(watermark)
        due: dict[Any, Any] = {}
        for time in self._rows.until(watermark):
            if time > before:
                due.update(self._rows.keys_at(time))
        if due:
            self._compute(due, before, watermark)

    def _compute(self, keys: dict[Any, Any], before: int, watermark: int) -> None:
        rows: list[Any] = []
        owners: list[int] = []
        times: list[int] = []
        for i, (name, key) in enumerate(keys.items()):
            for time in self._rows.times(name, key):
                if time > watermark:
                    break
                held = self._rows.at(name, key, time)
                rows += held
                owners += [i] * len(held)
                times += [time] * len(held)
        columns = self._rows.columns(rows)
        at, of = np.array(times, np.int64), np.array(owners, np.int64)
        wanted = np.flatnonzero(at > before)
        placed = Placed.of(of, at)
        if self._frames is not None:
            results = self._frames.results(columns, placed, at, wanted)
        else:
            results = self._counting.results(columns, placed, of, wanted, list(keys), self.spec.rows)
        by_time = np.argsort(at[wanted], kind="stable")
        out = columns.take(wanted[by_time])
        self.operator.with_results(out, [r.take(pa.array(by_time)) for r in results])
        for name, key in keys.items():
            self._forget(name, key, watermark)

    def _forget(self, name: Any, key: Any, watermark: int) -> None:
        """Drop the rows that no frame reaches back to any more."""
        spec = self.spec
        past = [time for time in self._rows.times(name, key) if time <= watermark]
        wanted = self._back if spec.preceding is None or not spec.rows else max(spec.preceding, self._back)
        if spec.preceding is not None and not spec.rows:
            first = watermark + 1 - spec.preceding
            past = [time for time in past if time < first]
        for time in reversed(past):
            held = self._rows.at(name, key, time)
            keep = held[max(len(held) - wanted, 0) :]
            wanted -= len(keep)
            self._rows.set(name, key, time, keep)


class _Counting:
    """Calls over all rows of a key so far, from accumulators in state on."""

    def __init__(self, operator: OverOperator) -> None:
        self._operator = operator
        spec = operator.spec
        self._calls = spec.calls
        running = [c for c in spec.calls if not is_of_place(c) or c.function.upper() in _COUNTED]
        self._ranks = [c.function.upper() == "RANK" for c in running]
        as_counts = [_as_count(c) for c in running]
        self._aggregates = Aggregates(as_counts, spec.input, False, spec.functions)
        known = (*_COUNTED, "LAG")
        others = [c for c in spec.calls if is_of_place(c) and c.function.upper() not in known]
        if others:
            name = others[0].function.upper()
            raise UnsupportedFeatureError(
                f"{name}() on a stream needs rows that come later, or all of them.",
                operator=operator.program.name,
                hint="run the query in batch mode",
            )
        shape = f"{row_text(spec.input, spec.keys)} -> {self._aggregates.shape}"
        self._rows = rows_state(operator.state, "accumulators", self._aggregates.fields, shape, spec.ttl_ms)
        self._aggregates.open(operator.state, "accumulators", spec.ttl_ms)
        self._place = Frames(
            [c for c in spec.calls if c.function.upper() == "LAG"],
            spec.input,
            spec.functions,
            rows=True,
            preceding=None,
            following=0,
            operator=operator.program.name,
        )

    def results(
        self, columns: Columns, placed: Placed, owners: Array, wanted: Array, names: list[Any], by_row: bool
    ) -> list[pa.Array]:
        """
        :param columns: rows by key, with some before those that are *wanted*.
        :param names: of the owners.
        """
        fresh, of = columns.take(wanted), owners[wanted]
        begins = np.ones(len(of), bool)
        begins[1:] = of[1:] != of[:-1]
        starts = np.flatnonzero(begins)
        chosen = [names[i] for i in of[starts].tolist()]
        keys = [a.take(pa.array(starts)) for a in self._operator.key_columns(fresh, self._operator.spec.keys)]
        codes = hash_codes(keys, len(starts))
        slots = self._rows.find(chosen, codes)
        base = [field[slots] for field in self._rows.fields]
        segments = Segments(starts, len(of), chosen, CanonicalKeys(chosen, codes))
        fields = self._aggregates.scan(fresh, None, segments, base)
        self._rows.put(slots, [field[segments.last] for field in fields])
        made = self._aggregates.results(fields)
        lagging = iter(self._place.results(columns, placed, np.zeros(len(columns), np.int64), wanted))
        if not by_row:  # equal rows have the result of the last one, and the rank of the first one
            last = pa.array(np.searchsorted(wanted, placed.last_peers[wanted]) - 1)
            first = pa.array(np.searchsorted(wanted, placed.peers[wanted]))
            made = [a.take(first if ranks else last) for a, ranks in zip(made, self._ranks, strict=True)]
            lagging = iter([a.take(last) for a in lagging])
        running = iter(made)
        return [next(lagging) if c.function.upper() == "LAG" else next(running) for c in self._calls]


def _as_count(call: Any) -> Any:
    if call.function.upper() not in _COUNTED:
        return call
    from dataclasses import replace

    return replace(call, function="COUNT", arguments=())


class ArrivalWay(_Quiet):
    """Processing time: the rows of a key so far, or the last ones of them."""

    def __init__(self, operator: OverOperator) -> None:
        super().__init__(operator)
        spec = self.spec
        self._counting = _Counting(operator) if spec.preceding is None else None
        self._back = max([offset_of(c) for c in spec.calls if c.function.upper() == "LAG"], default=0)
        if spec.preceding is not None and spec.rows:
            self._back = max(self._back, spec.preceding)
        self._rows = TimedRows(operator.state, "rows", spec.input, operator.shape)
        self._frames = operator.frames() if spec.preceding is not None else None
        self._by_range = spec.preceding is not None and not spec.rows

    def begin(self) -> None:
        self._rows.refresh()

    def run(self, columns: Columns) -> None:
        time = self.operator.context.clock.now_ms if self._by_range else _ARRIVAL
        keys = self.operator.key_columns(columns, self.spec.keys)
        groups = group_rows(keys, len(columns)) if keys else group_rows([_zeros(len(columns))], len(columns))
        order, starts = groups.order()
        new = row_values(columns.take(order).arrays, len(columns))
        first = pa.array(groups.first)
        names, canonical = names_of([k.take(first) for k in keys], groups.count)
        stops = [*starts.tolist()[1:], len(new)]
        rows: list[Any] = []
        owners: list[int] = []
        times: list[int] = []
        wanted: list[int] = []
        for i, (start, stop) in enumerate(zip(starts.tolist(), stops, strict=True)):
            name, key = names[i], canonical[i]
            for at in self._rows.times(name, key):
                held = self._rows.at(name, key, at)
                rows += held
                times += [at] * len(held)
            wanted += range(len(rows), len(rows) + stop - start)
            rows += new[start:stop]
            times += [time] * (stop - start)
            owners += [i] * (len(rows) - len(owners))
            self._keep(name, key, time, new[start:stop])
        whole = self._rows.columns(rows)
        of, at_time = np.array(owners, np.int64), np.array(times, np.int64)
        chosen = np.array(wanted, np.int64)
        # Each row stands alone in order: those that come behind it are not there yet.
        placed = Placed.of(of, np.arange(len(of)))
        if self._frames is not None:
            results = self._frames.results(whole, placed, at_time, chosen)
        else:
            assert self._counting is not None
            results = self._counting.results(whole, placed, of, chosen, names, True)
        back = np.argsort(order, kind="stable")
        self.operator.with_results(columns, [r.take(pa.array(back)) for r in results])

    def _keep(self, name: Any, key: Any, time: int, new: list[Any]) -> None:
        held = [*self._rows.at(name, key, time), *new]
        if not self._by_range:
            if self._back:
                self._rows.set(name, key, time, held[-self._back :])
            return
        self._rows.set(name, key, time, held)
        assert self.spec.preceding is not None
        for old in self._rows.times(name, key):
            if old < time - self.spec.preceding:
                self._rows.remove(name, key, old)


def _zeros(count: int) -> pa.Array:
    return pa.array(np.zeros(count, np.int64))
