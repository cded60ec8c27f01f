"""Writes documents to a cluster at least once; documents with their own ids end up there exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from firesteel.common.errors import ConnectorError
from firesteel.connectors.elasticsearch.cluster import TOO_MANY, Cluster, Refusal
from firesteel.connectors.elasticsearch.settings import BackOff, FlushOptions
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import Sink, SinkWriter, WriterContext


class Emitter(Protocol):
    """Converts records to actions of the bulk API. It is sent to tasks."""

    @property
    def description(self) -> str: ...

    @property
    def by_key(self) -> bool:
        """Whether a record that comes again replaces its document."""

    def encoder(self) -> Callable[[Any], list[bytes]]:
        """Return the function from the records of a batch to their actions."""


@dataclass(frozen=True, slots=True)
class ElasticSink(Sink):
    """Sends the emitter's actions in bulk requests, and fails if the cluster rejects any of them (Flink:
    ``ElasticsearchSink``)."""

    cluster: Cluster
    emitter: Emitter
    flush: FlushOptions = field(default_factory=FlushOptions)
    back_off: BackOff = field(default_factory=BackOff)

    @property
    def description(self) -> str:
        return self.emitter.description

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise.UPSERT if self.emitter.by_key else SinkPromise.AT_LEAST_ONCE

    def validate(self) -> None:
        self.cluster.check()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        self.cluster.begin_with(context.subtask_index)
        return _BulkWriter(self, context.check_waited_for)


class _BulkWriter(SinkWriter):
    """Sends requests one after the other, so that changes of a document arrive in order."""

    def __init__(self, sink: ElasticSink, check_waited_for: Callable[[], None]) -> None:
        self._check_waited_for = check_waited_for
        self._sink = sink
        self._encode = sink.emitter.encoder()
        self._most = sink.flush.actions or 1 << 62
        self._largest = sink.flush.size or 1 << 62
        interval_ms = sink.flush.interval_ms
        self._interval_s = float("inf") if interval_ms is None else interval_ms / 1000
        self._waiting: list[bytes] = []
        self._size = 0
        self._since_s = 0.0

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        if not self._waiting:
            self._since_s = time.monotonic()
        waiting, most, largest = self._waiting, self._most, self._largest
        for action in self._encode(values):  # hot
            waiting.append(action)
            self._size += len(action)
            if len(waiting) >= most or self._size >= largest:
                self._send()
        if self._waiting and time.monotonic() - self._since_s >= self._interval_s:
            self._send()

    @property
    def flush_interval_ms(self) -> float | None:
        return self._sink.flush.interval_ms

    def flush(self, end_of_input: bool) -> None:
        if self._waiting:
            self._send()

    def _send(self) -> None:
        actions = self._waiting[:]
        self._waiting.clear()
        self._size = 0
        waits_ms = self._sink.back_off.waits_ms()
        self._check_waited_for()
        while refused := self._sink.cluster.bulk(actions):
            wait_ms = next(waits_ms, None)
            if wait_ms is None or any(refusal.status != TOO_MANY for refusal in refused):
                raise self._failure(actions, refused)
            time.sleep(wait_ms / 1000)
            self._check_waited_for()
            actions = [actions[refusal.position] for refusal in refused]

    def _failure(self, actions: Sequence[bytes], refused: Sequence[Refusal]) -> ConnectorError:
        """Return the error for the first action that a retry would not help, else for the first one."""
        worst = next((refusal for refusal in refused if refusal.status != TOO_MANY), refused[0])
        place = "" if worst.index is None else f" of index {worst.index!r}"
        if worst.id is not None:
            place += f" with id {worst.id!r}"
        others = f" and {len(refused) - 1} others of {len(actions)}" if len(refused) > 1 else ""
        busy = (
            f"it is busy, {self._sink.back_off.retries} retries are over: set_bulk_flush_backoff_strategy()"
        )
        return ConnectorError(
            f"Elasticsearch did not take the document{place}{others}: status {worst.status}, {worst.reason}",
            detail=f"the action: {actions[worst.position].decode(errors='replace'):.300}",
            hint=busy if worst.status == TOO_MANY else None,
        )
