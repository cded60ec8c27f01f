"""Mini-batches: rows that wait until there are so many, or until a mark, or the end of the epoch. Buffers of
real time that leave do not end them: they are there to make fewer results."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from firesteel.common.columns import Columns
from firesteel.runtime.batch import Mark
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import ColumnsOperator, KeyedColumnsOperator

__all__ = ["BundlingOperator", "KeyedBundlingOperator"]

#: Of a bundle for which the program says no size.
ROWS: Final = 1 << 16


class BundlingOperator(ColumnsOperator):
    """Its spec has ``mini_batch`` and ``bundle``, the most rows of a bundle."""

    #: Whether rows wait in batch mode, where nothing leaves before the end.
    waits_in_batch_mode: ClassVar[bool] = False

    def __init__(self, program: OperatorProgram, spec: Any) -> None:
        super().__init__(program, spec)
        self.minds_time = bool(spec.mini_batch)  # a mark ends the bundle of the rows before it
        self._held: list[Columns] = []
        self._held_rows = 0

    @property
    def bundles(self) -> bool:
        return bool(self.spec.mini_batch) or (self.waits_in_batch_mode and self.context.batch_mode)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._held, self._held_rows = [], 0

    def run(self, columns: Columns, input_index: int) -> None:
        if not self.bundles:
            self.process_rows(columns)
            return
        most = self.spec.bundle or ROWS
        while self._held_rows + len(columns) >= most:
            rest = most - self._held_rows
            self._held.append(columns[:rest].settled())
            columns = columns[rest:]
            self._finish_bundle()
        if len(columns):
            self._held.append(columns.settled())
            self._held_rows += len(columns)

    def process_rows(self, columns: Columns) -> None:
        """Process rows that came together."""
        raise AssertionError("each operator says what it does with rows")

    def _finish_bundle(self) -> None:
        if self._held:
            columns = Columns.concat(self._held)
            self._held, self._held_rows = [], 0
            self.process_rows(columns)

    def on_mark(self, mark: Mark, input_index: int) -> None:
        self._finish_bundle()
        super().on_mark(mark, input_index)

    def end_epoch(self) -> None:
        self._finish_bundle()


class KeyedBundlingOperator(BundlingOperator, KeyedColumnsOperator):
    """One with keyed state."""
