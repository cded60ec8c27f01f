"""Watermarks of tables, and those that end mini-batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.errors import TypeMismatchError
from firesteel.runtime.batch import ACTIVE, END, IDLE, MAX_WATERMARK, MIN_WATERMARK, Batch, Mark
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.expressions import Call, Expression, InputRef, Literal
from firesteel.sql.operators.base import ColumnsOperator, column_batch
from firesteel.sql.operators.evaluation import Evaluation
from firesteel.sql.operators.specs import MiniBatchAssigner, WatermarkAssigner
from firesteel.sql.types import DayTimeIntervalType
from firesteel.state.backend import OperatorState

__all__ = ["MiniBatchAssignerOperator", "WatermarkAssignerOperator", "milliseconds"]

_UNITS_OF_MS = {"s": 1, "ms": 1, "us": 1_000, "ns": 1_000_000}


def milliseconds(times: pa.Array) -> np.ndarray[Any, Any]:
    """A column of timestamps in milliseconds, rounded down; MIN_WATERMARK where it is null."""
    numbers = times.view(pa.int64())
    if numbers.null_count:
        numbers = numbers.fill_null(0)
    found: np.ndarray[Any, Any] = numbers.to_numpy(zero_copy_only=False)
    per_ms = _UNITS_OF_MS[times.type.unit]
    if per_ms > 1:
        found = found // per_ms
    if times.null_count:
        found = np.where(times.is_null().to_numpy(zero_copy_only=False), MIN_WATERMARK, found)
    return found


def delay_of(expression: Expression, rowtime: int) -> int | None:
    """Milliseconds, where *expression* is the rowtime column less a constant of days to seconds, as most
    watermarks are; else None. Another column may have nulls."""
    match expression:
        case InputRef(index=index) if index == rowtime:
            return 0
        case Call("MINUS", (InputRef(index=index), Literal(value, DayTimeIntervalType()))) if (
            index == rowtime
        ):
            return None if value is None else int(value)
    return None


class WatermarkAssignerOperator(ColumnsOperator):
    """The watermark of a row is handed on behind it when it has risen by more than the interval of automatic
    watermarks, and otherwise at the end of each flush, as by Flink's timer. (Flink:
    ``WatermarkAssignerOperator``.)
    """

    def __init__(self, program: OperatorProgram, spec: WatermarkAssigner) -> None:
        super().__init__(program, spec)
        self._expression = Evaluation((spec.expression,), spec.input, spec.functions)
        self._delay_ms = delay_of(spec.expression, spec.column)
        self._idle = False
        self._seen_ms = 0  # processing time of the last row
        # Both start at 0, as in Flink: no watermark before 1970 is ever said.
        self._last = self._current = 0

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._expression.open(context)

    def process(self, batch: Batch, input_index: int = 0) -> None:
        columns: Any = batch.values
        self.records_in += len(columns)
        marks: list[tuple[int, Mark]] = []
        if len(columns):
            marks = self._marks(columns)
        for _, mark in batch.marks:
            if mark == END:
                self.ended = True
                self.watermark = self._current = MAX_WATERMARK
                marks.append((len(columns), END))
        if len(columns) or marks:
            self.outputs.main.emit(column_batch(columns if len(columns) else None, marks))

    def _marks(self, columns: Columns) -> list[tuple[int, Mark]]:
        marks: list[tuple[int, Mark]] = []
        if self._idle:
            self._idle = False
            marks.append((0, ACTIVE))
        self._seen_ms = self.context.clock.now_ms
        if columns.arrays[self.spec.column].null_count:
            raise TypeMismatchError(
                "A rowtime column must not be null.",
                detail=f"column {self.spec.input.fields[self.spec.column].name!r}",
                hint="filter such rows, or give them a time, before the watermark",
            )
        found = self._found(columns)
        highest = np.maximum.accumulate(np.maximum(found, self._current))
        interval, last = self.context.watermark_interval_ms, self._last
        if self.context.batch_mode:
            self._current = int(highest[-1])
            return marks
        find = highest.searchsorted  # the function of NumPy takes three times as long for a single value
        while True:
            # The next row whose watermark is above the last one by more than the interval.
            at = int(find(last + interval, "right"))
            if at >= len(highest):
                break
            last = int(highest[at])
            marks.append((at + 1, last))
        self._current = int(highest[-1])
        if marks and last != self._last:
            self.watermark = self._last = last
        return marks

    def _found(self, columns: Columns) -> np.ndarray[Any, Any]:  # hot
        """The watermark of each row."""
        if self._delay_ms is None:
            return milliseconds(self._expression.run(columns, self.watermark)[0])
        return milliseconds(columns.arrays[self.spec.column]) - self._delay_ms

    def _catch_up(self) -> list[Mark]:
        """What the timer of the interval hands on."""
        if self._current > self._last and not self.context.batch_mode:
            self.watermark = self._last = self._current
            return [self.watermark]
        return []

    def _say(self, marks: list[Mark]) -> None:
        if marks:
            self.outputs.main.emit(column_batch(None, [(0, mark) for mark in marks]))

    def tick(self) -> None:
        if self.ended:
            return
        marks = self._catch_up()
        timeout = self.spec.idle_timeout_ms
        if timeout and not self._idle and self.context.clock.now_ms - self._seen_ms >= timeout:
            self._idle = True
            marks.append(IDLE)
        self._say(marks)

    def on_processing_time(self) -> None:
        self.tick()

    def end_epoch(self) -> None:
        if not self.ended:
            self._say(self._catch_up())

    def next_timer_ms(self) -> int | None:
        timeout = self.spec.idle_timeout_ms
        return None if self.ended or self._idle or not timeout else self._seen_ms + timeout

    def snapshot(self) -> Any:
        return self.watermark, self._last, self._current, self._idle, self._seen_ms, self.ended

    def restore(self, carry: Any) -> None:
        fresh = MIN_WATERMARK, 0, 0, False, self.context.clock.now_ms, False
        self.watermark, self._last, self._current, self._idle, self._seen_ms, self.ended = carry or fresh

    def take_over(self, carries: Sequence[Any]) -> None:
        """Go on from the least watermark, which is said again: the channels behind are others. An idle
        subtask, and one that has ended, held nothing back."""
        live = [carry for carry in carries if not (carry[3] or carry[5])] or carries
        self.watermark = min((carry[0] for carry in live), default=MIN_WATERMARK)
        self._current = min((carry[2] for carry in live), default=0)


class MiniBatchAssignerOperator(ColumnsOperator):
    """Says where mini-batches end: with the watermarks that it lets pass. (Flink:
    ``ProcTimeMiniBatchAssignerOperator``, ``RowTimeMiniBatchAssigner``.)"""

    def __init__(self, program: OperatorProgram, spec: MiniBatchAssigner) -> None:
        super().__init__(program, spec)
        self._next = MIN_WATERMARK
        self._held = MIN_WATERMARK
        self._has_rows = False  # since the last mark, or the epoch began: its end is one of batches, too

    def run(self, columns: Columns, input_index: int) -> None:
        if not self.spec.event_time:
            self._pass_time()
            self._has_rows = True
        self.emit(columns)

    def _pass_time(self) -> None:
        interval = max(1, self.spec.interval_ms)
        start = self.context.clock.now_ms // interval * interval
        if start > self.watermark:
            self.watermark = start
            self.outputs.mark(start)
            self._has_rows = False

    def on_mark(self, mark: Mark, input_index: int) -> None:
        if type(mark) is not int:
            if mark == END:
                self._release()
                self.ended = True
            self.outputs.mark(mark)
        elif self.spec.event_time:
            self._held = max(self._held, mark)
            if self._held >= self._next:
                self._release()

    def _release(self) -> None:
        if self._held > self.watermark:
            self.watermark = self._held
            self.outputs.mark(self._held)
            interval = max(1, self.spec.interval_ms)
            self._next = self._held // interval * interval + interval - 1
            if self._next <= self._held:
                self._next += interval

    def on_processing_time(self) -> None:
        if not self.spec.event_time and not self.ended:
            self._pass_time()
            self.outputs.flush()

    def end_epoch(self) -> None:
        self._has_rows = False

    def next_timer_ms(self) -> int | None:
        return self.watermark + max(1, self.spec.interval_ms) if self._has_rows and not self.ended else None

    def snapshot(self) -> Any:
        return self.watermark, self._next, self._held, self.ended

    def restore(self, carry: Any) -> None:
        fresh = MIN_WATERMARK, MIN_WATERMARK, MIN_WATERMARK, False
        self.watermark, self._next, self._held, self.ended = carry or fresh

    def take_over(self, carries: Sequence[Any]) -> None:
        """Its input says again how far it is, and time goes on: nothing is to be remembered."""
