"""Sink that writes to a RabbitMQ queue (Flink: ``RMQSink``)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firesteel.common._map_all import map_all
from firesteel.common.errors import ConnectorError
from firesteel.common.serialization import SerializationSchema
from firesteel.connectors.rabbitmq.settings import RabbitSettings, check, declare_queue, load_client
from firesteel.program.sinks import Sink, SinkWriter, WriterContext

if TYPE_CHECKING:
    from pika.adapters.blocking_connection import BlockingChannel

#: Open channels of this process, by target: a connection outlives the epoch.
_channels: dict[tuple[RabbitSettings, str], BlockingChannel] = {}


@dataclass(frozen=True, slots=True)
class RabbitSink(Sink):
    """Sends each record to a queue as a persistent message, at least once. The messages of a subtask's epoch
    are one transaction. A failed attempt therefore leaves none, while an epoch that is run again may
    duplicate some."""

    settings: RabbitSettings
    queue: str
    schema: SerializationSchema

    @property
    def description(self) -> str:
        return f"RabbitMQ {self.queue}"

    def validate(self) -> None:
        check(self.settings, self.queue)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _QueueWriter(self, context.buffer_timeout_ms)


class _QueueWriter(SinkWriter):
    def __init__(self, sink: RabbitSink, buffer_timeout_ms: float | None) -> None:
        self._sink = sink
        self._buffer_timeout_ms = buffer_timeout_ms
        self._name = sink.settings, sink.queue
        self._properties = load_client().BasicProperties(delivery_mode=2)
        self._channel = self._kept() or self._connected()
        sink.schema.open()

    def _kept(self) -> BlockingChannel | None:
        """Return the channel of an earlier epoch, unless the server has closed it."""
        channel = _channels.pop(self._name, None)
        if channel is None:
            return None
        try:
            channel.connection.process_data_events(time_limit=0)
        except load_client().exceptions.AMQPError:
            return None
        return channel if channel.is_open else None

    def _connected(self) -> BlockingChannel:
        channel = self._sink.settings.connect().channel()
        declare_queue(channel, self._sink.queue)
        channel.tx_select()
        return channel

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        queue, properties = self._sink.queue, self._properties
        bodies = map_all(self._sink.schema.serialize, values)
        if None in bodies:
            raise ConnectorError(
                "A message of RabbitMQ needs a body, and the schema has made None of a record.",
                detail=f"of {values[bodies.index(None)]!r:.200}",
                hint="let the schema return bytes, which may be empty",
            )
        with _failing(self._sink):
            for body in bodies:
                self._channel.basic_publish("", queue, body, properties)

    @property
    def flush_interval_ms(self) -> float | None:
        return self._buffer_timeout_ms

    def flush(self, end_of_input: bool) -> None:
        with _failing(self._sink):
            self._channel.tx_commit()

    def close(self) -> None:
        _channels[self._name] = self._channel

    def abort(self) -> None:
        with contextlib.suppress(load_client().exceptions.AMQPError):
            self._channel.connection.close()  # which also aborts the transaction


@contextmanager
def _failing(sink: RabbitSink) -> Iterator[None]:
    try:
        yield
    except load_client().exceptions.AMQPError as error:
        raise ConnectorError(
            f"RabbitMQ at {sink.settings.address} did not take the messages for {sink.queue!r}.",
            detail=repr(error),
        ) from error
