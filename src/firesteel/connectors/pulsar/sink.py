"""Sink that writes to topics, at least once or without a guarantee (Flink: ``PulsarSink``)."""

from __future__ import annotations

import datetime
import enum
import os
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from firesteel.common.errors import ConnectorError
from firesteel.common.serialization import SerializationSchema
from firesteel.connectors.pulsar.client import (
    CHECK_S,
    Admin,
    PulsarSettings,
    check_brokers,
    client,
    load_client,
    topic_name,
)
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import Sink, SinkWriter, WriterContext

if TYPE_CHECKING:
    from pulsar import Producer

_SWITCH_AFTER: Final = 1000  # messages for one partition before moving on to the next

_REFRESH_MS: Final = 60_000  # between two checks for new partitions

#: Open producers, by process and target: a connection outlives the epoch.
_producers: dict[tuple[int, PulsarSettings, str, str | None], Producer] = {}
#: Partitions of topics, and when they were requested.
_partitions: dict[tuple[PulsarSettings, tuple[str, ...]], tuple[int, list[str]]] = {}
_lock = threading.Lock()


class Routing(enum.Enum):
    """How the partition of a message is chosen."""

    ROUND_ROBIN = "in turns"
    ONE = "one for each subtask"  # equivalent to hashing, as messages have no keys


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarTopicSink(Sink):
    """Sends each record as a message.

    :param waits: whether an epoch ends only when all of its messages are stored, so that none is lost.
    :param delay_ms: delay until consumers of a shared subscription see a message.
    """

    settings: PulsarSettings
    topics: tuple[str, ...]
    schema: SerializationSchema
    waits: bool = False
    routing: Routing = Routing.ROUND_ROBIN
    producer_name: str | None = None
    delay_ms: int = 0

    @property
    def description(self) -> str:
        return f"Pulsar {', '.join(self.topics)}"

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise.AT_LEAST_ONCE if self.waits else SinkPromise.NONE

    def validate(self) -> None:
        """Check that the topics, and the brokers that serve them, can be reached."""
        for partition in self.partitions(Admin(self.settings, CHECK_S))[:1]:
            check_brokers(self.settings, partition)

    def partitions(self, admin: Admin) -> list[str]:
        return [part for topic in self.topics for part in admin.partitions(topic_name(topic))]

    def create_writer(self, context: WriterContext) -> SinkWriter:
        self.schema.open()
        return _TopicWriter(self, context)


def _producer(sink: PulsarTopicSink, partition: str) -> Producer:
    pulsar = load_client()
    key = os.getpid(), sink.settings, partition, sink.producer_name
    with _lock:
        found = _producers.get(key)
        if found is None:
            name = sink.producer_name
            if name is not None:  # brokers reject a duplicate name, as of a moved task
                name = f"{name}-{socket.gethostname()}-{os.getpid()}"
            try:
                found = client(sink.settings).create_producer(
                    partition, name, batching_enabled=True, block_if_queue_full=True
                )
            except pulsar.PulsarException as error:
                raise ConnectorError(
                    f"No connection to Pulsar at {sink.settings.service_url} that can write {partition}.",
                    detail=f"{type(error).__name__}: {error}",
                    hint="check set_service_url(), as in pulsar://host:6650, and that the cluster runs",
                ) from error
            _producers[key] = found
        return found


def _known_partitions(sink: PulsarTopicSink, now_ms: int) -> list[str]:
    key = sink.settings, sink.topics
    asked_ms, found = _partitions.get(key, (0, []))
    if not found or now_ms - asked_ms >= _REFRESH_MS:
        found = sink.partitions(Admin(sink.settings))
        _partitions[key] = now_ms, found
    return found


class _TopicWriter(SinkWriter):
    def __init__(self, sink: PulsarTopicSink, context: WriterContext) -> None:
        self._sink = sink
        self._partitions = _known_partitions(sink, context.now_ms)
        self._turn = context.subtask_index % len(self._partitions)
        self._sent = 0
        self._used: dict[str, Producer] = {}
        self._options: dict[str, Any] = {}
        if sink.delay_ms:
            self._options["deliver_after"] = datetime.timedelta(milliseconds=sink.delay_ms)
        self._ok = load_client().Result.Ok
        self._failures: list[Any] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        serialize, options, done = self._sink.schema.serialize, self._options, self._done
        for i, value in enumerate(values):  # hot
            stamp = None if timestamps is None else timestamps[i]
            self._next_producer().send_async(
                serialize(value),
                done,
                event_timestamp=stamp if stamp is not None and stamp > 0 else None,
                **options,
            )
        self._check()

    def _next_producer(self) -> Producer:
        if self._sink.routing is Routing.ROUND_ROBIN and self._sent == _SWITCH_AFTER:
            self._turn, self._sent = (self._turn + 1) % len(self._partitions), 0
        self._sent += 1
        partition = self._partitions[self._turn]
        found = self._used.get(partition)
        if found is None:
            found = self._used[partition] = _producer(self._sink, partition)
        return found

    def _done(self, result: Any, _message_id: Any) -> None:
        if result != self._ok:
            self._failures.append(result)

    def flush(self, end_of_input: bool) -> None:
        if self._sink.waits or end_of_input:  # this process is not used again after the job
            for producer in self._used.values():
                try:
                    producer.flush()
                except load_client().PulsarException as error:
                    self._failures.append(error)
        self._check()

    def _check(self) -> None:
        if self._failures:
            raise ConnectorError(
                f"Pulsar at {self._sink.settings.service_url} did not take {len(self._failures)} messages.",
                detail=f"for {', '.join(self._used)}: {self._failures[0]}",
            )
