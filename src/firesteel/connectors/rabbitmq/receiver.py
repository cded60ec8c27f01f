"""The thread that consumes messages from a queue and acknowledges them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from firesteel.common.errors import ConnectorError
from firesteel.common.logs import logger
from firesteel.connectors.rabbitmq.settings import RabbitSettings, declare_queue, load_client

if TYPE_CHECKING:
    from pika import BlockingConnection
    from pika.adapters.blocking_connection import BlockingChannel

log = logger(__name__)

_BUFFER_BYTES: Final = 64 << 20  # above this the server has to wait
_ACK_PATIENCE_S: Final = 30.0
_LOOK_EVERY_S: Final = 0.2


class Delivery(NamedTuple):
    """A message. ``session`` and ``tag`` identify it to the server while the connection lasts."""

    session: int
    tag: int
    correlation_id: str | None
    body: bytes


class Acknowledgement:
    """Of some messages: under way, or done.

    :param messages: by number.
    """

    def __init__(self, messages: Mapping[int, Delivery]) -> None:
        self.messages = messages
        self._session = 0  # in which the server has processed it
        self._done = threading.Event()

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def done_in(self, session: int) -> None:
        self._session = session
        self._done.set()

    def wait(self, seconds: float) -> bool:
        """Return whether it was done in time."""
        return self._done.wait(seconds)

    @property
    def acknowledged(self) -> list[int]:
        """The numbers of those that do not come again: not of an earlier connection."""
        return [number for number, delivery in self.messages.items() if delivery.session == self._session]


class Receiver:
    """Consumes one queue. Only its thread uses the connection, as the client requires.

    :param auto_ack: the server deletes a message when it has sent it.
    """

    def __init__(self, settings: RabbitSettings, queue: str, auto_ack: bool) -> None:
        self._settings = settings
        self._queue = queue
        self._auto_ack = auto_ack
        self._changed = threading.Condition()
        self._buffer: list[Delivery] = []
        self._size = 0
        self._consumer: str | None = None
        self._session = 0
        self._closed = threading.Event()
        self._error: ConnectorError | None = None
        self._connection: BlockingConnection
        self._channel: BlockingChannel
        self._thread = threading.Thread(target=self._run, name=f"rabbitmq {queue}", daemon=True)

    def start(self) -> None:
        """Connect.

        :raises ConnectorError: the connection failed; the error says why.
        """
        self._connect()
        self._thread.start()

    def take(self, wait_s: float = 0.0) -> list[Delivery]:
        """Return the messages that have arrived since the last call.

        :param wait_s: how long to wait for one.
        :raises ConnectorError: the connection is lost for good.
        """
        with self._changed:
            if wait_s > 0:
                self._changed.wait_for(lambda: self._buffer or self._error is not None, wait_s)
            if self._error is not None:
                raise self._error
            taken, self._buffer = self._buffer, []
            self._size = 0
        return taken

    def acknowledge(self, messages: Mapping[int, Delivery]) -> list[int]:
        """Acknowledge messages, given by number, and wait until the server has processed it. Return the
        numbers of those that do not come again; messages of an earlier connection do.

        :raises ConnectorError: the server does not answer.
        """
        asked = self.begin_to_acknowledge(messages)
        if not asked.wait(_ACK_PATIENCE_S):
            raise ConnectorError(
                f"RabbitMQ did not take the acknowledgement of {len(messages)} messages of {self._queue!r}.",
                hint="they come again when the connection is there again",
            )
        return asked.acknowledged

    def begin_to_acknowledge(self, messages: Mapping[int, Delivery]) -> Acknowledgement:
        """Acknowledge messages, given by number, and do not wait. It is never done when the connection is
        lost meanwhile: the messages come again."""
        asked = Acknowledgement(messages)

        def acknowledge() -> None:
            for session, tag, _, _ in messages.values():
                if session == self._session:
                    self._channel.basic_ack(tag)
            self._channel.tx_commit()
            asked.done_in(self._session)

        with contextlib.suppress(load_client().exceptions.ConnectionWrongStateError):
            self._connection.add_callback_threadsafe(acknowledge)
        return asked

    def close(self) -> None:
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(_ACK_PATIENCE_S)

    # ---- in the thread

    def _connect(self) -> None:
        self._connection = self._settings.connect()
        self._channel = channel = self._connection.channel()
        declare_queue(channel, self._queue)
        if self._settings.prefetch_count is not None:
            channel.basic_qos(prefetch_count=self._settings.prefetch_count)
        if not self._auto_ack:
            channel.tx_select()
        self._session += 1
        self._consume()

    def _consume(self) -> None:
        self._consumer = self._channel.basic_consume(self._queue, self._arrived, auto_ack=self._auto_ack)

    def _arrived(self, _channel: Any, method: Any, properties: Any, body: bytes) -> None:
        delivery = Delivery(self._session, method.delivery_tag, properties.correlation_id, body)
        with self._changed:
            self._buffer.append(delivery)
            self._size += len(body)
            self._changed.notify_all()

    def _run(self) -> None:
        exceptions = load_client().exceptions
        while not self._closed.is_set():
            try:
                self._connection.process_data_events(time_limit=_LOOK_EVERY_S)
                self._keep_limit()
            except (exceptions.AMQPError, OSError) as error:
                self._lost(error)
        with contextlib.suppress(exceptions.AMQPError, OSError):
            self._connection.close()

    def _keep_limit(self) -> None:
        with self._changed:
            full = self._size > _BUFFER_BYTES
        if full and self._consumer is not None:
            for method, properties, body in self._channel.basic_cancel(self._consumer):
                self._arrived(None, method, properties, body)  # the server has deleted them already
            self._consumer = None
        elif not full and self._consumer is None:
            self._consume()

    def _lost(self, error: BaseException) -> None:
        """Reconnect until it succeeds, if automatic recovery is enabled."""
        log.warning("lost the connection to RabbitMQ at %s: %r", self._settings.address, error)
        if not self._settings.automatic_recovery:
            with self._changed:
                self._error = ConnectorError(
                    f"The connection to RabbitMQ at {self._settings.address} is lost.", detail=repr(error)
                )
            self._closed.set()
        with contextlib.suppress(load_client().exceptions.AMQPError, OSError):
            self._connection.close()  # where the channel alone is lost
        while not self._closed.is_set():
            try:
                self._connect()
            except ConnectorError as failed:
                log.warning("%s", failed)
                self._closed.wait(self._settings.network_recovery_interval_ms / 1000)
            else:
                return
