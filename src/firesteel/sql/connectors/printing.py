"""``print``: rows on the standard output of the tasks, as Flink prints them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.columns import columns_in
from firesteel.program.sinks import Sink, SinkWriter, WriterContext
from firesteel.program.transformations import SinkTransformation, Transformation
from firesteel.sql import physical as p
from firesteel.sql.connectors.factory import TableConnector, TableContext
from firesteel.sql.connectors.options import boolean, text
from firesteel.sql.connectors.sinks import sink_transformation
from firesteel.sql.row_texts import row_texts
from firesteel.sql.types import RowType

__all__ = ["CONNECTOR"]


@dataclass(frozen=True, slots=True)
class TablePrintSink(Sink):
    """:param identifier: what each line begins with."""

    row: RowType
    identifier: str = ""
    error: bool = False

    @property
    def description(self) -> str:
        return "Print to Std. Err" if self.error else "Print to Std. Out"

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(self, context)


class _Writer(SinkWriter):
    """Lines are written when the epoch ends: an attempt that fails prints nothing."""

    def __init__(self, sink: TablePrintSink, context: WriterContext) -> None:
        self._sink = sink
        several = context.parallelism > 1
        number = str(context.subtask_index + 1) if several else ""
        parts = [part for part in (sink.identifier, number) if part]
        self._prefix = ":".join(parts) + "> " if parts else ""
        self._lines: list[str] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._lines += [self._prefix + line for line in row_texts(columns_in(values), self._sink.row)]

    def flush(self, end_of_input: bool) -> None:
        if self._lines:
            stream = sys.stderr if self._sink.error else sys.stdout
            stream.write("\n".join(self._lines) + "\n")
            stream.flush()
            self._lines = []


@dataclass(frozen=True, slots=True)
class _Print:
    identifier: str
    error: bool
    parallelism: int | None

    def changelog_mode(self, made: frozenset[str]) -> frozenset[str]:
        return made

    def attach(self, environment: Any, rows: Transformation, node: p.Sink) -> SinkTransformation:
        sink = TablePrintSink(node.row, self.identifier, self.error)
        return sink_transformation(environment, rows, node, sink, self.parallelism)


def create(context: TableContext) -> _Print:
    options = context.options
    return _Print(options["print-identifier"] or "", options["standard-error"], options["sink.parallelism"])


CONNECTOR: Final = TableConnector(
    name="print", options=(text("print-identifier"), boolean("standard-error", False)), sink=create
)
