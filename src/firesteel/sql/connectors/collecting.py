"""The rows of a result, on their way into the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.common.columns import Columns, columns_in
from firesteel.connectors._staging import stage
from firesteel.connectors.collect import CollectSink
from firesteel.program.pickling import dumps_block
from firesteel.program.sinks import SinkWriter, WriterContext
from firesteel.sql.connectors.columns_source import columns_to_bytes

__all__ = ["ColumnsCollectSink"]


@dataclass(frozen=True, slots=True)
class ColumnsCollectSink(CollectSink):
    """A collecting sink of columns: each record that comes to the program is ``columns_to_bytes`` of some
    rows."""

    @property
    def is_cheap(self) -> bool:
        return True

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(context)


class _Writer(SinkWriter):
    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self._parts: list[Columns] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._parts.append(columns_in(values))

    def prepare_commit(self) -> list[Any]:
        if not self._parts:
            return []
        data = columns_to_bytes(Columns.concat(self._parts))
        self._parts = []
        return [stage(dumps_block([data]), self._context)]
