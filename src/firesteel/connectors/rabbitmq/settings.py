"""Connection settings of a RabbitMQ server."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from firesteel.common.errors import ConnectorError
from firesteel.common.extras import extra
from firesteel.common.masking import remember_address, remember_secret

if TYPE_CHECKING:
    from pika import BlockingConnection
    from pika.adapters.blocking_connection import BlockingChannel

_PATIENCE_S = 8.0  # connection timeout, if the settings have none


@dataclass(frozen=True, slots=True, kw_only=True)
class RabbitSettings:
    """Options of a connection; None means the client's default.

    :param uri: ``amqp://user:password@host:port/virtual-host``, instead of the five separate options.
    :param heartbeat_s: seconds; 0 disables heartbeats.
    :param connection_timeout_ms: how long to wait for a connection, in milliseconds.
    :param prefetch_count: maximum number of messages in flight that no checkpoint has covered yet.
    :param automatic_recovery: whether a source reconnects after losing its connection.
    :param network_recovery_interval_ms: milliseconds between reconnection attempts.
    """

    host: str | None = None
    port: int | None = None
    virtual_host: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    uri: str | None = field(default=None, repr=False)
    heartbeat_s: int | None = None
    connection_timeout_ms: int | None = None
    frame_max: int | None = None
    channel_max: int | None = None
    prefetch_count: int | None = None
    automatic_recovery: bool = True
    network_recovery_interval_ms: int = 5000

    @property
    def address(self) -> str:
        """The address of the server, without the password."""
        if self.uri is not None:
            return self.uri.rpartition("@")[2]
        return f"{self.host}:{self.port or 5672}/{(self.virtual_host or '/').lstrip('/')}"

    def connect(self) -> BlockingConnection:
        """Open a connection.

        :raises ConnectorError: it failed; the error says why.
        """
        pika = load_client()
        try:
            return pika.BlockingConnection(self._parameters(pika))
        except (pika.exceptions.AMQPError, OSError) as error:
            raise ConnectorError(
                f"No connection to RabbitMQ at {self.address}.",
                detail=_reason(pika, error),
                hint="check host, port, virtual host, user and password, and that the server runs",
            ) from error

    def _parameters(self, pika: Any) -> Any:
        patience_s = _PATIENCE_S if self.connection_timeout_ms is None else self.connection_timeout_ms / 1000
        limits = {
            "heartbeat": self.heartbeat_s,
            "frame_max": self.frame_max,
            "channel_max": self.channel_max,
        }
        common: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
        common |= {"socket_timeout": patience_s, "stack_timeout": patience_s}
        remember_secret(self.password)
        if self.uri is not None:
            remember_address(self.uri)
            parameters = pika.URLParameters(self.uri)
            for name, value in common.items():
                setattr(parameters, name, value)
            return parameters
        place: dict[str, Any] = {"host": self.host, "port": self.port, "virtual_host": self.virtual_host}
        common |= {name: value for name, value in place.items() if value is not None}
        if self.user is not None:
            common["credentials"] = pika.PlainCredentials(self.user, self.password or "")
        return pika.ConnectionParameters(**common)


def load_client() -> Any:
    """Import the module pika."""
    pika = extra("pika", "RabbitMQ", "rabbitmq")
    logger = logging.getLogger("pika")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)  # it logs each failure eight times, and also raises it
    return pika


def declare_queue(channel: BlockingChannel, queue: str) -> None:
    """Declare a queue as Flink does: create it if it does not exist, as a durable queue."""
    try:
        channel.queue_declare(queue, durable=True)
    except load_client().exceptions.ChannelClosedByBroker as error:
        raise ConnectorError(
            f"Queue {queue!r} of RabbitMQ cannot be used.",
            detail=error.reply_text,
            hint="it must be durable, neither exclusive nor deleted automatically: delete it, or use another",
        ) from error


def check(settings: RabbitSettings, queue: str) -> None:
    """Connect and find the queue, or raise an error that says what is wrong."""
    connection = settings.connect()
    try:
        declare_queue(connection.channel(), queue)
    finally:
        connection.close()


def _reason(pika: Any, error: BaseException) -> str:
    if isinstance(error, pika.exceptions.ProbableAuthenticationError | pika.exceptions.AuthenticationError):
        return "the server refused user and password"
    if isinstance(error, pika.exceptions.ProbableAccessDeniedError):
        return "the server refused the virtual host"
    cause = getattr(error, "exceptions", None) or [error]
    text = str(cause[-1]) or repr(cause[-1])
    inner = error.args[0] if error.args else None
    return str(getattr(inner, "exception", None) or text)
