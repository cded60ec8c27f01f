"""The Kafka client library: importing it, connecting to a cluster, describing its errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from firesteel.common.errors import ConfigurationError, ConnectorError
from firesteel.common.extras import extra
from firesteel.common.logs import logger
from firesteel.connectors.kafka.settings import BOOTSTRAP, connection_settings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import AdminClient, ClusterMetadata

log = logger(__name__)

Answer = TypeVar("Answer")

PATIENCE_S: Final = 8.0  # how long to wait for a cluster that does not answer when a job starts

_TIMELY: Final = {  # by default librdkafka waits up to 10 s before it retries a broker
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1000,
}


def require_client() -> None:
    """:raises ConfigurationError: the extra is not installed."""
    extra("confluent_kafka", "The Kafka connector", "kafka", "confluent-kafka")


class Complaints:
    """The client's ``error_cb``: remembers why a call timed out."""

    def __init__(self) -> None:
        self.last: KafkaError | None = None
        self.refused: KafkaError | None = None  # retrying will not help

    def __call__(self, error: KafkaError) -> None:
        if self.last is None or error.code() != error._ALL_BROKERS_DOWN:  # which says nothing of the reason
            self.last = error
        if error.code() in (error._AUTHENTICATION, error._SSL, error.SASL_AUTHENTICATION_FAILED):
            self.refused = error


def make_client(kind: type[Any], settings: Mapping[str, Any]) -> Any:
    """Create a client of confluent_kafka that logs to our logger.

    :raises ConfigurationError: librdkafka rejects a setting.
    """
    from confluent_kafka import KafkaException

    try:
        return kind({**_TIMELY, **settings, "logger": log})
    except (KafkaException, ValueError, TypeError) as error:
        raise ConfigurationError(
            "The Kafka client does not take a property.",
            detail=describe(error),
            hint="names are those of Kafka's Java clients or of librdkafka's CONFIGURATION.md",
        ) from error


def refusal(address: str, error: KafkaError) -> ConfigurationError:
    """What is raised where a cluster refuses the connection."""
    return ConfigurationError(
        f"The Kafka cluster at {address} refuses the connection.",
        detail=describe(error),
        hint="see security.protocol, sasl.mechanism, sasl.username and sasl.password, or ssl.ca.location",
    )


def describe(error: BaseException | KafkaError) -> str:
    """Return the message of a client error, without its wrapping."""
    inner = error.args[0] if isinstance(error, BaseException) and error.args else error
    return inner.str() if hasattr(inner, "str") else str(inner)


def ask_again(ask: Callable[[], Answer]) -> Answer:
    """Ask a coordinator, retrying while brokers report that the group is being moved.

    :raises KafkaException: the error is a different one, or it persists.
    """
    from confluent_kafka import KafkaError, KafkaException

    passing = {
        *(KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError._WAIT_COORD),
        *(KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError._TRANSPORT, KafkaError.UNSTABLE_OFFSET_COMMIT),
    }
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in passing or time.monotonic() >= deadline:
                raise
            time.sleep(0.1)


class Cluster:
    """An administrative connection, on the driver."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        require_client()
        from confluent_kafka.admin import AdminClient

        self.address = properties.get(BOOTSTRAP, "")
        self._complaints = Complaints()
        settings = {**connection_settings(properties), "error_cb": self._complaints}
        self.admin: AdminClient = make_client(AdminClient, settings)

    def metadata(self, topic: str | None = None, patience_s: float = PATIENCE_S) -> ClusterMetadata:
        """Return the metadata of all topics, or of ``topic``. Asking for one topic may create it,
        if the brokers create topics automatically.

        :raises ConnectorError: the cluster does not answer in time.
        :raises ConfigurationError: the cluster denies access.
        """
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + patience_s
        while True:
            timeout_s = min(1.0, max(0.1, deadline - time.monotonic()))
            try:
                return (
                    self.admin.list_topics(topic, timeout=timeout_s)
                    if topic
                    else self.admin.list_topics(timeout=timeout_s)
                )
            except KafkaException as error:
                self.admin.poll(0)
                if self._complaints.refused is not None:
                    raise self._refused() from error
                if time.monotonic() >= deadline or not _is_transport(error.args[0]):
                    raise self.unreachable(error, patience_s) from error

    def broker_config(self, name: str) -> str | None:
        """Return a setting of a broker, or None if we are not allowed to read it."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import ConfigResource

        broker = next(iter(self.metadata().brokers))
        resource = ConfigResource(ConfigResource.Type.BROKER, str(broker))
        try:
            found = next(iter(self.admin.describe_configs([resource]).values())).result(PATIENCE_S)
        except (KafkaException, TimeoutError):
            return None
        return found[name].value if name in found else None

    def _refused(self) -> ConfigurationError:
        assert self._complaints.refused is not None
        return refusal(self.address, self._complaints.refused)

    def unreachable(self, error: BaseException, patience_s: float) -> ConnectorError:
        last = self._complaints.last
        return ConnectorError(
            f"The Kafka cluster at {self.address} does not answer within {patience_s:.0f} s.",
            detail=describe(last) if last is not None else describe(error),
            hint="see bootstrap.servers, and whether the advertised.listeners can be reached from here",
        )


def _is_transport(error: KafkaError) -> bool:
    return error.retriable() or error.code() in (error._TRANSPORT, error._TIMED_OUT, error._ALL_BROKERS_DOWN)
