"""ORDER BY of what has an end, ORDER BY time, and LIMIT in batch mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.expressions import Ordering
from firesteel.sql.operators.aggregates import signs_of
from firesteel.sql.operators.base import ColumnsOperator, KeyedColumnsOperator
from firesteel.sql.operators.map_state import maps_state
from firesteel.sql.operators.ordering import sorted_rows
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.operators.row_state import Field, rows_state
from firesteel.sql.operators.specs import FinalRows, Limit, Sort, TemporalSort
from firesteel.sql.operators.watermarks import milliseconds
from firesteel.state.column_keys import canonical_column_keys, hash_codes

__all__ = ["FinalRowsOperator", "LimitOperator", "SortOperator", "TemporalSortOperator"]

_NAME: tuple[()] = ()
_TIME = Ordering(0)


class _OneKey(KeyedColumnsOperator):
    """All rows are of one key; they are kept by a rising number."""

    def on_open(self) -> None:
        self._codec = RowCodec(self.spec.input)
        self._rows = maps_state(self.state, "rows", str(self.spec.input))
        self._key = canonical_column_keys([_NAME], hash_codes([], 1))[0]

    def held(self) -> dict[Any, Any]:
        return self._rows.of(_NAME, self._key)


class SortOperator(_OneKey):
    """Rows that are taken back are gone when the others leave. (Flink: ``StreamSortOperator``.)"""

    spec: Sort
    minds_time = False

    def on_open(self) -> None:
        super().on_open()
        self._memory: list[Columns] = []

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._memory = []

    def run(self, columns: Columns, input_index: int) -> None:
        if self.context.batch_mode:
            self._memory.append(columns.settled())
            return
        held = self.held()
        signs = signs_of(columns)
        steps = [1] * len(columns) if signs is None else signs.tolist()
        for body, step in zip(self._codec.encode(columns), steps, strict=True):
            count = held.get(body, 0) + step
            if count:
                self._rows.put(_NAME, body, count)
            elif body in held:
                self._rows.remove(_NAME, body)

    def finish(self) -> None:
        if self._memory:
            columns = Columns.concat(self._memory)
            self._memory = []
        else:
            bodies = [body for body, count in self.held().items() for _ in range(count)]
            columns = Columns(self._codec.decode(bodies), len(bodies))
            self._rows.clear(_NAME, self._key)
        self.emit(columns.take(sorted_rows(columns.arrays, self.spec.order)))


class FinalRowsOperator(ColumnsOperator):
    """Rows that are taken back are gone when the others leave, in the order in which they came."""

    spec: FinalRows
    minds_time = False

    def __init__(self, program: OperatorProgram, spec: FinalRows) -> None:
        super().__init__(program, spec)
        self._codec = RowCodec(spec.input)
        self._counts: dict[Any, int] = {}

    def run(self, columns: Columns, input_index: int) -> None:
        counts = self._counts
        signs = signs_of(columns)
        steps = [1] * len(columns) if signs is None else signs.tolist()
        for body, step in zip(self._codec.encode(columns), steps, strict=True):
            count = counts.get(body, 0) + step
            if count:
                counts[body] = count
            else:
                del counts[body]

    def finish(self) -> None:
        bodies = [body for body, count in self._counts.items() for _ in range(count)]
        self._counts = {}
        self.emit(Columns(self._codec.decode(bodies), len(bodies)))

    def snapshot(self) -> Any:
        return super().snapshot(), self._counts

    def restore(self, carry: Any) -> None:  # the parallelism of a job in batch mode does not change
        super().restore(None if carry is None else carry[0])
        self._counts = {} if carry is None else carry[1]


class TemporalSortOperator(_OneKey):
    """Flink: ``RowTimeSortOperator``, ``ProcTimeSortOperator``. A row is late when one of its time, or of a
    later one, has left."""

    spec: TemporalSort

    def __init__(self, program: OperatorProgram, spec: TemporalSort) -> None:
        super().__init__(program, spec)
        self._number = 0

    def on_open(self) -> None:
        super().on_open()
        self._left = rows_state(
            self.state, "left", (Field("int64"),)
        )  # the time of the last row that has left

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._number = max((n for _, n in self.held()), default=-1) + 1
        self._slot = self._left.find([_NAME], hash_codes([], 1))

    def run(self, columns: Columns, input_index: int) -> None:
        if self.spec.event_time:
            times = milliseconds(columns.arrays[self.spec.time])
            late = np.zeros(len(columns), bool)
            if self._left.alive[self._slot[0]]:
                late = times <= self._left.fields[0][self._slot[0]]
        else:
            times = np.full(len(columns), self.context.clock.now_ms, np.int64)
            late = np.zeros(len(columns), bool)
        self.held()
        kept = np.flatnonzero(~late)
        rows = columns if len(kept) == len(columns) else columns.take(kept)
        for time, body in zip(times[kept].tolist(), self._codec.encode(rows), strict=True):
            self._rows.put(_NAME, (time, self._number), body)
            self._number += 1

    def advance(self, watermark: int) -> None:
        if self.spec.event_time:
            self._release(watermark)

    def finish(self) -> None:
        if not self.spec.event_time:
            self._release(self.context.clock.now_ms)

    def on_processing_time(self) -> None:
        if not self.spec.event_time and not self.ended:
            self._release(self.context.clock.now_ms - 1)
            self.outputs.flush()

    def next_timer_ms(self) -> int | None:
        if self.spec.event_time or self.ended:
            return None
        first = min((time for time, _ in self.held()), default=None)
        return None if first is None else first + 1

    def _release(self, until: int) -> None:
        held = self.held()
        due = sorted(pair for pair in held if pair[0] <= until)
        if not due:
            return
        bodies = [held[pair] for pair in due]
        self._left.put(self._slot, [np.array([due[-1][0]], np.int64)])
        for pair in due:
            self._rows.remove(_NAME, pair)
        arrays = self._codec.decode(bodies)
        times = pa.array([time for time, _ in due], pa.int64())
        order = [_shifted(o) for o in self.spec.order]
        rows = sorted_rows([times, *arrays], [_TIME, *order])
        self.emit(Columns(arrays, len(due)).take(rows))


class LimitOperator(ColumnsOperator):
    """The first rows of a bounded input."""

    spec: Limit

    def __init__(self, program: OperatorProgram, spec: Limit) -> None:
        super().__init__(program, spec)
        self._seen = 0

    def run(self, columns: Columns, input_index: int) -> None:
        first, seen = self.spec.offset, self._seen
        stop = len(columns) + seen if self.spec.fetch is None else first + self.spec.fetch
        self._seen += len(columns)
        self.emit(columns[max(first - seen, 0) : max(min(stop - seen, len(columns)), 0)])

    def snapshot(self) -> Any:
        return super().snapshot(), self._seen

    def restore(self, carry: Any) -> None:
        super().restore(None if carry is None else carry[0])
        self._seen = 0 if carry is None else carry[1]


def _shifted(ordering: Ordering) -> Ordering:
    return replace(ordering, index=ordering.index + 1)
