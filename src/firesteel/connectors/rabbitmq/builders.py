"""Source and sink functions for RabbitMQ queues (PyFlink: ``pyflink.datastream.connectors.rabbitmq``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from firesteel.common.errors import ConfigurationError
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.rabbitmq.settings import RabbitSettings
from firesteel.connectors.rabbitmq.sink import RabbitSink
from firesteel.connectors.rabbitmq.source import RabbitSource
from firesteel.program.checks import WrongArgumentError, require_int, require_text
from firesteel.program.functions.legacy_connectors import SinkFunction, SourceFunction

_WHO = "RMQConnectionConfig"


class RMQConnectionConfig:
    """How to connect to a server; created by ``RMQConnectionConfig.Builder`` (Flink:
    ``RMQConnectionConfig``).

    Options that are not set are None, and the client's default applies.
    """

    def __init__(self, settings: RabbitSettings) -> None:
        self.settings = settings

    def get_host(self) -> str | None:
        return self.settings.host

    def get_port(self) -> int | None:
        return self.settings.port

    def get_virtual_host(self) -> str | None:
        return self.settings.virtual_host

    def get_user_name(self) -> str | None:
        return self.settings.user

    def get_password(self) -> str | None:
        return self.settings.password

    def get_uri(self) -> str | None:
        return self.settings.uri

    def get_network_recovery_interval(self) -> int:
        """Milliseconds."""
        return self.settings.network_recovery_interval_ms

    def is_automatic_recovery(self) -> bool:
        return self.settings.automatic_recovery

    def is_topology_recovery(self) -> bool:
        """Always true: after reconnecting, a source declares its queue again."""
        return True

    def get_connection_timeout(self) -> int | None:
        """Milliseconds."""
        return self.settings.connection_timeout_ms

    def get_requested_channel_max(self) -> int | None:
        return self.settings.channel_max

    def get_requested_frame_max(self) -> int | None:
        """Bytes."""
        return self.settings.frame_max

    def get_requested_heartbeat(self) -> int | None:
        """Seconds."""
        return self.settings.heartbeat_s

    class Builder:
        """Builds an ``RMQConnectionConfig`` from a URI, or from host, port, virtual host, user name and
        password."""

        def __init__(self) -> None:
            self._settings = RabbitSettings()

        def set_port(self, port: int) -> Self:
            return self._with(port=require_int(port, "port", 1, 65535, _WHO))

        def set_host(self, host: str) -> Self:
            return self._with(host=require_text(host, "host", _WHO))

        def set_virtual_host(self, vhost: str) -> Self:
            return self._with(virtual_host=require_text(vhost, "vhost", _WHO))

        def set_user_name(self, user_name: str) -> Self:
            return self._with(user=require_text(user_name, "user_name", _WHO))

        def set_password(self, password: str) -> Self:
            return self._with(password=password)

        def set_uri(self, uri: str) -> Self:
            """Set the URI: ``amqp://user:password@host:port/virtual-host``."""
            return self._with(uri=require_text(uri, "uri", _WHO))

        def set_topology_recovery_enabled(self, topology_recovery_enabled: bool) -> Self:
            """Accepts only True: a queue that no longer exists when a source reconnects is always
            recreated."""
            if not topology_recovery_enabled:
                raise ConfigurationError(
                    "The recovery of the topology cannot be switched off.",
                    hint="switch automatic recovery off: then a lost connection fails the job",
                )
            return self

        def set_requested_heartbeat(self, requested_heartbeat: int) -> Self:
            """Set the heartbeat in seconds; 0 disables it."""
            return self._with(heartbeat_s=require_int(requested_heartbeat, "heartbeat", 0, None, _WHO))

        def set_requested_frame_max(self, requested_frame_max: int) -> Self:
            """Set the maximum frame size in bytes."""
            return self._with(frame_max=require_int(requested_frame_max, "frame_max", 4096, 131072, _WHO))

        def set_requested_channel_max(self, requested_channel_max: int) -> Self:
            return self._with(channel_max=require_int(requested_channel_max, "channel_max", 1, 65535, _WHO))

        def set_network_recovery_interval(self, network_recovery_interval: int) -> Self:
            """Set the delay between reconnection attempts of a source, in milliseconds."""
            interval = require_int(network_recovery_interval, "network_recovery_interval", 0, None, _WHO)
            return self._with(network_recovery_interval_ms=interval)

        def set_connection_timeout(self, connection_timeout: int) -> Self:
            """Set the connection timeout in milliseconds."""
            timeout = require_int(connection_timeout, "connection_timeout", 1, None, _WHO)
            return self._with(connection_timeout_ms=timeout)

        def set_automatic_recovery(self, automatic_recovery: bool) -> Self:
            """Set whether a source reconnects after losing its connection. Otherwise the job fails, and its
            restart strategy decides. Default: True."""
            return self._with(automatic_recovery=bool(automatic_recovery))

        def set_prefetch_count(self, prefetch_count: int) -> Self:
            """Set how many messages not covered by a checkpoint may be in flight. By default there is no
            limit."""
            return self._with(prefetch_count=require_int(prefetch_count, "prefetch_count", 1, 65535, _WHO))

        def build(self) -> RMQConnectionConfig:
            """Build the configuration. It must name exactly one server."""
            settings = self._settings
            single = (settings.host, settings.port, settings.virtual_host, settings.user, settings.password)
            if settings.uri is None and None in single:
                raise WrongArgumentError(
                    "An RMQConnectionConfig needs a URI, or host, port, virtual host, user and password.",
                    detail=f"host {settings.host!r}, port {settings.port!r}, "
                    f"virtual host {settings.virtual_host!r}, user name {settings.user!r}",
                    hint="set what is missing",
                )
            if settings.uri is not None and any(value is not None for value in single):
                raise WrongArgumentError(
                    "An RMQConnectionConfig takes a URI or its single parts, not both.",
                    hint="leave out set_uri, or everything that the URI says",
                )
            return RMQConnectionConfig(settings)

        def _with(self, **options: Any) -> Self:
            self._settings = replace(self._settings, **options)
            return self


class RMQSource(SourceFunction):
    """Reads the messages of a queue, for ``add_source`` (Flink: ``RMQSource``).

    With checkpoints, messages are acknowledged when a checkpoint that covers them is complete: exactly once
    if they have unique correlation ids, else at least once. Without checkpoints the server deletes messages
    when it has sent them.

    :param use_correlation_id: whether each message has a unique correlation id, set by its producer.
    """

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: DeserializationSchema,
    ) -> None:
        source = RabbitSource(
            _settings(connection_config),
            require_text(queue_name, "queue_name", "RMQSource"),
            bool(use_correlation_id),
            deserialization_schema,
        )
        super().__init__(source)
        produced = getattr(deserialization_schema, "get_produced_type", None)
        self.produced_type: TypeInformation | None = None if produced is None else produced()


class RMQSink(SinkFunction):
    """Sends records to a queue at least once, for ``add_sink`` (Flink: ``RMQSink``)."""

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        serialization_schema: SerializationSchema,
    ) -> None:
        queue = require_text(queue_name, "queue_name", "RMQSink")
        super().__init__(RabbitSink(_settings(connection_config), queue, serialization_schema))


def _settings(connection_config: RMQConnectionConfig) -> RabbitSettings:
    if not isinstance(connection_config, RMQConnectionConfig):
        raise WrongArgumentError(
            "Not an RMQConnectionConfig.",
            detail=f"got {connection_config!r}",
            hint="RMQConnectionConfig.Builder()....build()",
        )
    return connection_config.settings
