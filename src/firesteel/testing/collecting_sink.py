"""A sink that keeps what it gets, for tests of whole jobs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from firesteel.connectors.base import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from firesteel.connectors.collect import CollectSink
from firesteel.runtime.batch import NO_TIMESTAMP
from firesteel.testing.events import StreamRecord

__all__ = ["CollectingSink"]


class CollectingSink(Sink):
    """Keeps the records of each committed epoch, in the process that runs the job.

    Records of one subtask come in order. What is here is what was committed: an epoch that was run again is
    here once.
    """

    def __init__(self, sink: CollectSink | None = None) -> None:
        self._sink = CollectSink() if sink is None else sink
        self._records: list[StreamRecord] = []
        self._more = threading.Condition()

    def __reduce__(self) -> tuple[Any, ...]:
        return CollectingSink, (self._sink,)  # what was collected stays here

    @property
    def description(self) -> str:
        return "Collect"

    @property
    def records(self) -> list[StreamRecord]:
        """What came so far, with timestamps."""
        return list(self._records)

    @property
    def values(self) -> list[Any]:
        """What came so far."""
        return [record.value for record in self._records]

    def wait_for(self, count: int, timeout_s: float = 60.0) -> list[Any]:
        """Wait, in real time, until at least ``count`` records have come; the values.

        :raises TimeoutError: they do not come in time.
        """
        with self._more:
            if not self._more.wait_for(lambda: len(self._records) >= count, timeout_s):
                raise TimeoutError(
                    f"after {timeout_s} s {len(self._records)} of {count} records have come: {self.values!r}"
                )
        return self.values

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _StampingWriter(self._sink.create_writer(context))

    def create_committer(self, context: CommitterContext) -> Committer | None:
        self._sink.attach(self._came)
        return self._sink.create_committer(context)

    def _came(self, records: list[StreamRecord]) -> None:
        with self._more:
            self._records += records
            self._more.notify_all()


class _StampingWriter(SinkWriter):
    """Keeps the timestamp beside the value."""

    def __init__(self, writer: SinkWriter) -> None:
        self._writer = writer

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        stamps = [None] * len(values) if timestamps is None else timestamps
        records = [
            StreamRecord(value, None if stamp == NO_TIMESTAMP else stamp)
            for value, stamp in zip(values, stamps, strict=True)
        ]
        self._writer.write_batch(records, None)

    def prepare_commit(self) -> list[Any]:
        return self._writer.prepare_commit()

    def abort(self) -> None:
        self._writer.abort()
