"""``sink.buffer-flush.*``: rows wait in a sink, and of those of a key only the last one is written (Flink:
``ReducingUpsertSink``, ``TableBufferReducedStatementExecutor``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.common.clock import Clock, SystemClock
from firesteel.common.columns import Columns, as_values, columns_in
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from firesteel.sql.connectors.options import Option, duration, integer
from firesteel.state.column_keys import identities

__all__ = ["FLUSH_INTERVAL", "FLUSH_ROWS", "BufferedSink", "buffer_options"]

FLUSH_ROWS: Final = "sink.buffer-flush.max-rows"
FLUSH_INTERVAL: Final = "sink.buffer-flush.interval"


def buffer_options(rows: int, interval_ms: int) -> tuple[Option, ...]:
    """Return the options of a connector, with its defaults."""
    return integer(FLUSH_ROWS, rows), duration(FLUSH_INTERVAL, interval_ms)


@dataclass(frozen=True, slots=True)
class BufferedSink(Sink):
    """Holds rows back from *inner* until they are enough, the first one is too old, or the epoch ends.

    :param keys: places of the columns that a key is made of; none: every row is written.
    :param max_rows: how many rows are held, one for each key; 0: any number. :param interval_ms: 0: no limit.
    """

    inner: Sink
    keys: tuple[int, ...]
    max_rows: int = 0
    interval_ms: int = 0
    clock: Clock = field(default_factory=SystemClock)

    @property
    def description(self) -> str:
        return self.inner.description

    @property
    def promise(self) -> SinkPromise:
        return self.inner.promise

    def validate(self) -> None:
        self.inner.validate()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _BufferingWriter(self, self.inner.create_writer(context))

    def create_committer(self, context: CommitterContext) -> Committer | None:
        return self.inner.create_committer(context)


class _BufferingWriter(SinkWriter):
    def __init__(self, sink: BufferedSink, inner: SinkWriter) -> None:
        self._sink = sink
        self._inner = inner
        self._waiting: list[Columns] = []
        self._count = 0
        self._most = sink.max_rows or 1 << 62
        self._since_s = 0.0

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        columns = columns_in(values)
        sink = self._sink
        if not self._waiting:
            self._since_s = sink.clock.monotonic_s()
        self._waiting.append(columns.settled())
        self._count += len(columns)
        if self._count >= self._most:
            self._reduce()
        late = sink.interval_ms and sink.clock.monotonic_s() - self._since_s >= sink.interval_ms / 1000
        if self._count >= self._most or late:
            self._send()

    def _reduce(self) -> None:
        """Keep the last row of each key."""
        rows = Columns.concat(self._waiting)
        if self._sink.keys:
            keys = identities([rows.arrays[k] for k in self._sink.keys], len(rows))
            last = sorted({key: place for place, key in enumerate(keys)}.values())
            rows = rows if len(last) == len(rows) else rows.take(last)
        self._waiting, self._count = [rows], len(rows)

    def _send(self) -> None:
        self._reduce()
        rows = self._waiting[0]
        self._waiting, self._count = [], 0
        self._inner.write_batch(as_values(rows), None)

    @property
    def flush_interval_ms(self) -> float | None:
        return self._sink.interval_ms or None

    def flush(self, end_of_input: bool) -> None:
        if self._waiting:
            self._send()
        self._inner.flush(end_of_input)

    def prepare_commit(self) -> list[Any]:
        return self._inner.prepare_commit()

    def close(self) -> None:
        self._inner.close()

    def abort(self) -> None:
        self._inner.abort()
