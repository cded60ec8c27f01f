"""What the operators of table programs share: batches of columns in, batches of columns out.

A subclass says what it does with the rows between two marks (``run``) and with time (``advance``,
``on_processing_time``), and hands rows on with ``emit``. Keyed ones find the keys of rows with ``group_rows``
and have their state in ``self.state``; they set no current key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns, as_values, columns_in
from firesteel.runtime.at_work import enter
from firesteel.runtime.batch import END, MAX_WATERMARK, MIN_WATERMARK, Batch, Mark, Marks
from firesteel.runtime.operators.base import BaseOperator, SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.valve import WatermarkValve
from firesteel.sql.arrow import arrow_type
from firesteel.sql.types import RowType
from firesteel.state.backend import OperatorState

__all__ = [
    "ColumnsCollector",
    "ColumnsOperator",
    "KeyedColumnsOperator",
    "RowwiseOperator",
    "TwoInputColumnsOperator",
    "arrow_types",
    "column_batch",
    "empty_columns",
]

_NO_ROWS: Final[list[Any]] = []


def arrow_types(row: RowType) -> list[pa.DataType]:
    """The Arrow types of the columns of a row type."""
    return [arrow_type(f.data_type) for f in row.fields]


def empty_columns(row: RowType) -> Columns:
    return Columns([pa.array([], kind) for kind in arrow_types(row)], 0)


class ColumnsCollector:
    """Gathers the columns and marks that an operator gives until they are handed on as one batch."""

    __slots__ = ("marks", "parts", "rows", "values")

    def __init__(self) -> None:
        self.parts: list[Columns] = []
        self.rows = 0
        self.marks: list[tuple[int, Mark]] = []
        self.values: list[Any] = []  # single objects: there are none

    def add(self, columns: Columns) -> None:
        if len(columns):
            self.parts.append(columns)
            self.rows += len(columns)

    def mark(self, mark: Mark) -> None:
        marks = self.marks
        if marks and type(mark) is int and marks[-1][0] == self.rows and type(marks[-1][1]) is int:
            marks[-1] = (self.rows, mark)
        else:
            marks.append((self.rows, mark))

    def take(self) -> Batch | None:
        parts, marks = self.parts, self.marks
        if not parts and not marks:
            return None
        self.parts, self.marks, self.rows = [], [], 0
        return column_batch(Columns.concat(parts) if parts else None, marks)


def column_batch(columns: Columns | None, marks: Marks) -> Batch:
    return Batch(_NO_ROWS if columns is None else as_values(columns), None, marks)


class ColumnsOperator(BaseOperator):
    """An operator on columns with one input."""

    #: Whether the rows before a mark and those behind it are to be told apart. An operator for which time
    #: means nothing gets all rows of a batch at once, and its marks follow them.
    minds_time: bool = True

    def __init__(self, program: OperatorProgram, spec: Any) -> None:
        super().__init__(program)
        self.spec = spec
        self.watermark = MIN_WATERMARK
        collector: Any = ColumnsCollector()
        self.outputs.main.collector = collector
        self._collector: ColumnsCollector = collector

    def process(self, batch: Batch, input_index: int = 0) -> None:
        enter(self)
        columns: Any = batch.values
        self.records_in += len(columns)
        start = 0
        for place, mark in self._moved(batch, input_index):
            if place > start:
                self.run(columns[start:place], input_index)
                start = place
            self.on_mark(mark, input_index)
        if len(columns) > start:
            self.run(columns[start:], input_index)
        self.outputs.flush()

    def _moved(self, batch: Batch, input_index: int) -> Marks:
        """The marks of a batch, as far behind as they may come: what an operator does for some rows costs
        about the same as for some thousands, and sources say a watermark every few hundred rows."""
        count = len(batch.values)
        if not batch.marks or batch.marks[0][0] == count:
            return batch.marks
        if not self.minds_time:
            return _behind_all(batch.marks, count)
        heeded = self.heeded(columns_in(batch.values), input_index)
        if heeded is None:
            return batch.marks
        lowest = np.append(np.minimum.accumulate(heeded[::-1])[::-1], MAX_WATERMARK)
        moved: list[tuple[int, Mark]] = []
        place = count
        for at, mark in reversed(batch.marks):
            if type(mark) is not int or mark >= lowest[at]:
                place = at
            elif moved and moved[-1][0] == place and type(moved[-1][1]) is int:
                continue  # the newer watermark, which is there already, says as much
            moved.append((place, mark))
        moved.reverse()
        return moved

    def heeded(self, columns: Columns, input_index: int) -> np.ndarray[Any, Any] | None:
        """For each row the least watermark that must not come before it if it came behind it: a lower one
        makes neither the row late nor anything leave that the row would change. None: any may."""
        return None

    def run(self, columns: Columns, input_index: int) -> None:
        """Process rows, at least one."""
        raise AssertionError("each operator says what it does with rows")

    def emit(self, columns: Columns) -> None:
        self._collector.add(columns)

    def on_mark(self, mark: Mark, input_index: int) -> None:
        if type(mark) is int:
            self.move_watermark(mark)
        elif mark == END:
            self.move_watermark(MAX_WATERMARK)
            self.finish()
            self.ended = True
        self.outputs.mark(mark)

    def move_watermark(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            self.advance(watermark)

    def advance(self, watermark: int) -> None:
        """The watermark has moved; it is handed on behind what is emitted here."""

    def finish(self) -> None:
        """The input has ended, and ``advance`` was called with the greatest watermark."""

    def snapshot(self) -> Any:
        return self.watermark, self.ended

    def restore(self, carry: Any) -> None:
        self.watermark, self.ended = (MIN_WATERMARK, False) if carry is None else carry

    def take_over(self, carries: Sequence[Any]) -> None:
        """Begin with the least watermark: no subtask may take for late what none before has. Inputs say
        again how far they are, and whether they have ended."""
        self.watermark = min((watermark for watermark, _ in carries), default=MIN_WATERMARK)


def _behind_all(marks: Marks, count: int) -> Marks:
    """Marks behind *count* rows: of watermarks that follow each other the last one says it all."""
    moved: list[tuple[int, Mark]] = []
    for _, mark in marks:
        if moved and type(mark) is int and type(moved[-1][1]) is int:
            moved[-1] = (count, mark)
        else:
            moved.append((count, mark))
    return moved


class RowwiseOperator(ColumnsOperator):
    """An operator that gives some rows for each row, whatever the time is: a batch is worked on whole, and
    its marks stay where they are among the rows."""

    #: Whether what becomes of a row depends on the watermark: rows before a mark are told from those behind.
    reads_watermark: bool = False

    def process(self, batch: Batch, input_index: int = 0) -> None:
        enter(self)
        self.records_in += len(batch.values)
        if self.reads_watermark and batch.marks:
            columns: Any = batch.values
            start = 0
            for place, mark in batch.marks:
                self._whole(columns[start:place], [(place - start, mark)])
                start = place
            if len(columns) > start:
                self._whole(columns[start:], [])
        else:
            self._whole(batch.values, batch.marks)

    def _whole(self, columns: Any, marks: Marks) -> None:
        if len(columns):
            result, rows = self.convert(columns)
            if marks and rows is not None:
                before = np.searchsorted(rows, [at for at, _ in marks])
                marks = [(int(at), mark) for at, (_, mark) in zip(before, marks, strict=True)]
        else:
            result = None
        for _, mark in marks:
            self.note(mark)
        if marks or (result is not None and len(result)):
            self.outputs.main.emit(
                column_batch(result if result is not None and len(result) else None, marks)
            )

    def convert(self, columns: Columns) -> tuple[Columns, np.ndarray[Any, Any] | None]:
        """What becomes of rows; for each row that is given the number of the one it was made of, in order.
        None: each was made of its own."""
        raise AssertionError("each operator says what it makes of rows")

    def note(self, mark: Mark) -> None:
        if type(mark) is int:
            self.watermark = max(self.watermark, mark)  # after a change of parallelism it may lie behind
        elif mark == END:
            self.watermark = MAX_WATERMARK
            self.ended = True


class KeyedColumnsOperator(ColumnsOperator):
    """An operator with keyed state. Keys are columns (``state.column_keys``)."""

    state: OperatorState

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        assert state is not None
        self.state = state
        self.on_open()

    def on_open(self) -> None:
        """State is there."""

    @staticmethod
    def key_columns(columns: Columns, keys: Sequence[int]) -> list[pa.Array]:
        return [columns.arrays[i] for i in keys]


class TwoInputColumnsOperator(KeyedColumnsOperator):
    """Two inputs; the watermark is the least of both."""

    def __init__(self, program: OperatorProgram, spec: Any) -> None:
        super().__init__(program, spec)
        self._valve = WatermarkValve((0, 1))

    def on_mark(self, mark: Mark, input_index: int) -> None:
        for merged in self._valve.feed(input_index, mark):
            super().on_mark(merged, input_index)

    def snapshot(self) -> Any:
        return super().snapshot(), self._valve.snapshot()

    def restore(self, carry: Any) -> None:
        super().restore(None if carry is None else carry[0])
        if carry is None:
            self._valve = WatermarkValve((0, 1))
        else:
            self._valve.restore(carry[1])

    def take_over(self, carries: Sequence[Any]) -> None:
        super().take_over([carry for carry, _ in carries])
