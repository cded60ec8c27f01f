"""Writing messages: the producer that all sinks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from firesteel.common.errors import ConnectorError
from firesteel.connectors.kafka.client import Cluster, Complaints, describe, make_client
from firesteel.connectors.kafka.serialization import Block, KafkaSinkContext
from firesteel.connectors.kafka.settings import (
    ONE_MINUTE,
    TRANSACTION_TIMEOUT,
    TRANSACTIONAL_ID,
    client_settings,
    number,
)

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_DEFAULTS: Final[dict[str, Any]] = {
    "enable.idempotence": True,  # as in Kafka's Java client: a retry neither duplicates nor reorders messages
    "partitioner": "murmur2_random",  # the same partitions as Java clients
    "delivery.timeout.ms": 120_000,
    "queue.buffering.max.kbytes": 64 << 10,
    "linger.ms": 50,  # for large batches; the end of an epoch and a commit do not wait for it
}


def new_producer(
    properties: Mapping[str, str], failures: Failures, linger_ms: float | None = None
) -> Producer:
    """Create a producer that reports undelivered messages to ``failures``.

    :param linger_ms: how long a message may wait for others; None: for as long as makes large batches.
    """
    from confluent_kafka import Producer

    given = client_settings(properties, producer=True)
    defaults = dict(_DEFAULTS)
    if linger_ms is not None:
        defaults["linger.ms"] = linger_ms
    if str(given.get("acks", "all")) not in ("all", "-1"):
        del defaults["enable.idempotence"]  # it requires acks from all replicas
    reports = {"on_delivery": failures, "delivery.report.only.error": True, "error_cb": Complaints()}
    return make_client(Producer, {**defaults, **given, **reports})


def new_transactional_producer(
    properties: Mapping[str, str], transactional_id: str, complaints: Complaints
) -> Producer:
    """Create a producer that still has to be initialised. Delivery failures are reported when it commits: a
    delivery report would collide with the exception that the client raises when it is fenced."""
    from confluent_kafka import Producer

    # A message must not be waited for longer than its transaction lasts.
    timeout = min(_DEFAULTS["delivery.timeout.ms"], number(properties, TRANSACTION_TIMEOUT, ONE_MINUTE))
    settings = _DEFAULTS | {"delivery.timeout.ms": timeout} | client_settings(properties, producer=True)
    return make_client(Producer, {**settings, TRANSACTIONAL_ID: transactional_id, "error_cb": complaints})


class Failures:
    """Holds the first message that was not delivered."""

    def __init__(self) -> None:
        self.first: tuple[str, KafkaError] | None = None

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self.first is None:
            self.first = (message.topic() or "", error)

    def check(self) -> None:
        """:raises ConnectorError: a message was not delivered. The failure is then cleared."""
        if self.first is None:
            return
        (topic, error), self.first = self.first, None
        raise ConnectorError(f"Kafka did not take a message for topic {topic!r}.", detail=describe(error))


def produce(producer: Producer, block: Block) -> None:
    """Hand over the messages; blocks while the client's queue is full.

    :raises ConnectorError: the client rejects a message: it is too large, or its partition does not exist.
    """
    from confluent_kafka import KafkaException

    send = producer.produce
    for arguments in block.columns():  # hot
        try:
            send(*arguments)
        except BufferError:
            _send_when_there_is_room(producer, arguments)
        except KafkaException as error:
            raise ConnectorError(
                f"Kafka does not take a message for topic {arguments[0]!r}.",
                detail=describe(error),
                hint="message.max.bytes, or max.request.size as Java calls it, is how large one may be",
            ) from error
    producer.poll(0)


def _send_when_there_is_room(producer: Producer, arguments: tuple[Any, ...]) -> None:
    while True:
        producer.poll(0.05)
        try:
            producer.produce(*arguments)
            return
        except BufferError:
            continue


def flush(producer: Producer, failures: Failures) -> None:
    """Wait until all messages are delivered.

    :raises ConnectorError: a message was not delivered within ``delivery.timeout.ms``.
    """
    from confluent_kafka import KafkaException

    try:
        while producer.flush(1.0) > 0:
            failures.check()
    except (KafkaException, SystemError) as error:  # fatal; SystemError if the client was in a callback
        reason = error if isinstance(error, KafkaException) else error.__cause__ or error
        raise ConnectorError("Kafka takes no more messages.", detail=describe(reason)) from error
    failures.check()


class TaskContext(KafkaSinkContext):
    """A subtask of the sink in a worker process."""

    def __init__(self, subtask: int, parallelism: int, properties: Mapping[str, str]) -> None:
        self._subtask = subtask
        self._parallelism = parallelism
        self._properties = properties
        self._partitions: dict[str, list[int]] = {}

    def get_parallel_instance_id(self) -> int:
        return self._subtask

    def get_number_of_parallel_instances(self) -> int:
        return self._parallelism

    def get_partitions_for_topic(self, topic: str) -> list[int]:
        found = self._partitions.get(topic)
        if found is None:
            metadata = Cluster(self._properties).metadata(topic).topics[topic]
            if metadata.error is not None:
                raise ConnectorError(
                    f"There is no Kafka topic {topic!r} to write to.", detail=str(metadata.error)
                )
            found = self._partitions[topic] = sorted(metadata.partitions)
        return found
