"""Builder of the schema that turns records into Kafka messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.common.serialization import SerializationSchema
from firesteel.connectors.kafka.serialization import (
    Block,
    BuiltSerializer,
    Headers,
    KafkaPartitioner,
    KafkaSinkContext,
    ProducerRecord,
    RecordSerializer,
)
from firesteel.program.checks import WrongArgumentError, require_text

_WHO: Final = "KafkaSink"


class KafkaRecordSerializationSchema(RecordSerializer):
    """Turns records into whole messages. ``builder()`` assembles one from parts. It is faster than a class of
    your own, which derives from this one and defines ``serialize``."""

    @abstractmethod
    def serialize(
        self, element: Any, context: KafkaSinkContext, timestamp: int | None
    ) -> ProducerRecord | None:
        """Return the message of a record, or None to skip it. ``timestamp`` is the event time of the
        record."""

    def encode(
        self, values: Sequence[Any], timestamps: Sequence[int | None] | None, context: KafkaSinkContext
    ) -> Block:
        stamps = [None if t is None or t < 0 else t for t in timestamps or [None] * len(values)]
        made = [self.serialize(v, context, t) for v, t in zip(values, stamps, strict=True)]
        kept = [record for record in made if record is not None]
        return Block(
            [r.topic for r in kept],
            [r.value for r in kept],
            [r.key for r in kept],
            [-1 if r.partition is None else r.partition for r in kept],
            [r.timestamp or 0 for r in kept],
            [r.headers for r in kept],
        )

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        return KafkaRecordSerializationSchemaBuilder()


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the name of the topic for ``data``."""


class HeaderProvider(ABC):
    """Provides the headers of each message (Flink: ``HeaderProvider``)."""

    @abstractmethod
    def get_headers(self, element: Any) -> Headers | None:
        """Return names and values in order, or None for no headers."""


class KafkaRecordSerializationSchemaBuilder:
    """Requires a topic or a topic selector, and a value schema."""

    def __init__(self) -> None:
        self._topic: str | Callable[[Any], str] | None = None
        self._key: SerializationSchema | None = None
        self._value: SerializationSchema | None = None
        self._headers: Callable[[Any], Headers | None] | None = None
        self._partitioner: KafkaPartitioner | None = None

    def build(self) -> RecordSerializer:
        """Build the schema, for ``set_record_serializer``.

        :raises ProgramError: the topic or the value schema is missing.
        """
        if self._value is None:
            raise ProgramError(
                "No value serializer is configured.", hint="set_value_serialization_schema()", operator=_WHO
            )
        if self._topic is None:
            raise ProgramError("No topic selector is configured.", hint="set_topic()", operator=_WHO)
        return BuiltSerializer(self._value, self._topic, self._key, self._headers, self._partitioner)

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write all messages to this topic."""
        self._topic = require_text(topic, "topic", _WHO)
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the topic of each message with ``topic_selector``."""
        self._topic = _callable(topic_selector, KafkaTopicSelector, "apply", "topic_selector")
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the schema of the message keys; without it messages have no key."""
        self._key = _schema(key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the schema of the message values. If it returns None the message is a tombstone."""
        self._value = _schema(value_serialization_schema)
        return self

    def set_header_provider(
        self, header_provider: Callable[[Any], Headers | None] | HeaderProvider
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set what provides the headers of each message (Flink: ``setHeaderProvider``)."""
        self._headers = _callable(header_provider, HeaderProvider, "get_headers", "header_provider")
        return self

    def set_partitioner(self, partitioner: KafkaPartitioner) -> KafkaRecordSerializationSchemaBuilder:
        """Set what chooses the partition of each message (Flink: ``setPartitioner``). By default the key
        decides; messages without a key are spread over the partitions."""
        if not isinstance(partitioner, KafkaPartitioner):
            raise WrongArgumentError(
                "Not a KafkaPartitioner.", operator=_WHO, detail=f"got {partitioner!r}", hint="derive from it"
            )
        self._partitioner = partitioner
        return self


def _callable(given: Any, kind: type, method: str, what: str) -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = getattr(given, method) if isinstance(given, kind) else given
    if not callable(found):
        raise TypeError(f"{what} must be {kind.__name__} or a callable")
    return found


def _schema(schema: SerializationSchema) -> SerializationSchema:
    if not isinstance(schema, SerializationSchema):
        raise WrongArgumentError(
            "Not a SerializationSchema.", operator=_WHO, detail=f"got {schema!r}", hint="SimpleStringSchema()"
        )
    return schema
