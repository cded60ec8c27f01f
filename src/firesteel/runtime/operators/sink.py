"""Sinks in the task: a writer for each epoch, whose committables go to the driver with the ack."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from math import ceil
from typing import Any, Final

from firesteel.common._shown import shown
from firesteel.common.errors import TypeMismatchError
from firesteel.common.logs import logger
from firesteel.program.sinks import Sink, SinkWriter, SupportsWriterState, WriterContext
from firesteel.runtime.batch import END, MAX_WATERMARK, Batch
from firesteel.runtime.checkpoint_news import CheckpointEnd, listens, tell
from firesteel.runtime.operators.base import BaseOperator, SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.waited_for import check_waited_for
from firesteel.state.backend import OperatorState

log = logger(__name__)

_STATE: Final = "writer-state"


class SinkOperator(BaseOperator):
    def __init__(self, program: OperatorProgram, sink: Sink) -> None:
        super().__init__(program)
        self._sink = sink
        self._state: OperatorState | None = None
        self._run = ""
        self._writer: SinkWriter | None = None
        self._sees_marks = False
        self._watermark: int | None = None
        self._waits_since_ms: int | None = None  # a record in the writer, which is to be flushed by the clock
        self.committables: list[Any] = []

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._state = state
        of_run = f"{context.state_dir} {context.attempt}".encode()
        self._run = hashlib.blake2b(of_run, digest_size=6).hexdigest()

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self.abandon()  # what an attempt left that did not come to its end
        self.committables = []

    @property
    def listens(self) -> bool:
        return listens(self._function)

    @property
    def _function(self) -> Any:
        """The user's ``SinkFunction``, which is told of checkpoints; a sink has its committer for that."""
        return getattr(self._sink, "function", None)

    def checkpoint_ended(self, end: CheckpointEnd) -> None:
        if self._writer is None:
            self._open_writer()  # a function is open when it is called
        tell(self._function, end, lambda hook, number: hook(number))

    def process(self, batch: Batch, input_index: int = 0) -> None:
        self.records_in += len(batch.values)
        if batch.values and self._writer is None:
            self._open_writer()
        if self._writer is not None:
            self._write(batch, self._writer)
            if self._waits_since_ms is None and batch.values and self._writer.flush_interval_ms is not None:
                self._waits_since_ms = self.context.clock.now_ms
        for _, mark in batch.marks:
            if mark == END:
                self._end()
            elif type(mark) is int:
                self._watermark = mark

    def next_timer_ms(self) -> int | None:
        writer, since_ms = self._writer, self._waits_since_ms
        interval_ms = None if writer is None or since_ms is None else writer.flush_interval_ms
        return None if interval_ms is None or since_ms is None else since_ms + ceil(interval_ms)

    def on_processing_time(self) -> None:
        due_ms = self.next_timer_ms()
        if due_ms is not None and due_ms <= self.context.clock.now_ms:
            assert self._writer is not None
            self._waits_since_ms = None
            check_waited_for()
            self._writer.flush(False)

    def _write(self, batch: Batch, writer: SinkWriter) -> None:
        stamps = batch.timestamps
        if not (batch.marks and self._sees_marks):
            if batch.values:
                check_waited_for()
                writer.write_batch(batch.values, stamps)
            return
        check_waited_for()
        for start, stop, mark in batch.segments():
            if start < stop:
                writer.write_batch(batch.values[start:stop], stamps and stamps[start:stop])
            if type(mark) is int:
                writer.write_watermark(mark)

    def _end(self) -> None:
        """The end of the input is seen by a writer that may still hold something back."""
        self.ended = True
        self._watermark = MAX_WATERMARK
        if self._writer is None and isinstance(self._sink, SupportsWriterState):
            self._open_writer()
        elif self._writer is not None and self._sees_marks:
            self._writer.write_watermark(MAX_WATERMARK)

    def _open_writer(self) -> None:
        c = self.context
        context = WriterContext(
            c.subtask,
            c.parallelism,
            secrets.token_hex(8),
            f"{c.state_dir}/staged",
            c.epoch,
            job_id=c.job_id,
            sink_id=self.program.uid,
            run=self._run,
            now_ms=c.clock.now_ms,
            buffer_timeout_ms=c.buffer_timeout_ms,
            check_waited_for=check_waited_for,
        )
        sink = self._sink
        remembered = self._remembered()
        if remembered and isinstance(sink, SupportsWriterState):
            writer = sink.restore_writer(context, remembered)
        else:
            writer = sink.create_writer(context)
        if not isinstance(writer, SinkWriter):
            raise TypeMismatchError(
                f"{type(sink).__name__} must create a SinkWriter; it gave {shown(writer)}",
                hint="return an object of a class derived from firesteel.connectors.SinkWriter",
            )
        kind = type(writer)
        self._sees_marks = (
            kind.write is not SinkWriter.write or kind.write_watermark is not SinkWriter.write_watermark
        )
        if self._sees_marks and self._watermark is not None:
            writer.write_watermark(self._watermark)
        self._writer = writer

    def _remembered(self) -> list[Any]:
        return [] if self._state is None else list(self._state.list_state(_STATE).get())

    def end_epoch(self) -> None:
        if self._writer is None and self._sink.writes_every_epoch:
            self._open_writer()
        writer = self._writer
        if writer is None:
            return
        self._waits_since_ms = None
        check_waited_for()
        writer.flush(self.ended)
        self.committables = list(writer.prepare_commit())
        if self._state is not None:
            self._state.list_state(_STATE).update(writer.snapshot_state(self.context.checkpoint_id))
        writer.close()
        self._writer = None

    def abandon(self) -> None:
        writer, self._writer = self._writer, None
        self._waits_since_ms = None
        if writer is not None:
            try:
                writer.abort()
            except BaseException:  # best effort: what made the attempt fail is what counts
                log.exception("a sink could not abort operator=%s", self.program.name)

    def snapshot(self) -> Any:
        return self.ended, self._watermark

    def restore(self, carry: Any) -> None:
        self.ended, self._watermark = carry or (False, None)

    def take_over(self, carries: Sequence[Any]) -> None:
        known = [watermark for _, watermark in carries]
        self._watermark = None if None in known else min(known, default=None)
