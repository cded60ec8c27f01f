"""Sinks in the task: a writer for each epoch, whose committables go to the driver with the ack."""

from __future__ import annotations

import secrets
from typing import Any

from firesteel.connectors.base import Sink, SinkWriter, WriterContext
from firesteel.runtime.batch import END, Batch
from firesteel.runtime.operators.base import BaseOperator
from firesteel.runtime.program import OperatorProgram


class SinkOperator(BaseOperator):
    def __init__(self, program: OperatorProgram, sink: Sink) -> None:
        super().__init__(program)
        self._sink = sink
        self._writer: SinkWriter | None = None
        self.committables: list[Any] = []

    def begin_epoch(self) -> None:
        super().begin_epoch()
        if self._writer is not None:  # left by an attempt that did not come to its end
            self._writer.abort()
        self._writer = None
        self.committables = []

    def process(self, batch: Batch, input_index: int = 0) -> None:
        values = batch.values
        if values:
            self.records_in += len(values)
            try:
                if self._writer is None:
                    self._writer = self._open_writer()
                self._writer.write(values, batch.timestamps)
            except Exception as e:
                raise self.failure(e) from e
        if any(mark == END for _, mark in batch.marks):
            self.ended = True

    def _open_writer(self) -> SinkWriter:
        c = self.context
        return self._sink.create_writer(
            WriterContext(c.subtask, c.parallelism, secrets.token_hex(8), f"{c.state_dir}/staged", c.epoch)
        )

    def end_epoch(self) -> None:
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        try:
            self.committables = writer.prepare_commit()
        except Exception as e:
            writer.abort()
            raise self.failure(e) from e

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.abort()
            self._writer = None

    def snapshot(self) -> Any:
        return self.ended

    def restore(self, carry: Any) -> None:
        self.ended = bool(carry)
