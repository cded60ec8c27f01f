"""The builder of what a Kafka sink writes."""

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
    """Makes whole messages of records. ``builder()`` puts one together from parts, and is faster than one of
    one's own, which derives from this and defines ``serialize``."""

    @abstractmethod
    def serialize(
        self, element: Any, context: KafkaSinkContext, timestamp: int | None
    ) -> ProducerRecord | None:
        """The message of a record; None: it is left out. ``timestamp``: the record's event time."""

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
        """The name of the topic."""


class HeaderProvider(ABC):
    """Gives each message its headers (Flink: ``HeaderProvider``)."""

    @abstractmethod
    def get_headers(self, element: Any) -> Headers | None:
        """Names and values, in order; None: no headers."""


class KafkaRecordSerializationSchemaBuilder:
    """Needs a topic or a topic selector, and a value schema."""

    def __init__(self) -> None:
        self._topic: str | Callable[[Any], str] | None = None
        self._key: SerializationSchema | None = None
        self._value: SerializationSchema | None = None
        self._headers: Callable[[Any], Headers | None] | None = None
        self._partitioner: KafkaPartitioner | None = None

    def build(self) -> RecordSerializer:
        """What ``set_record_serializer`` takes.

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
        """All messages go there."""
        self._topic = require_text(topic, "topic", _WHO)
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Each message goes where this says."""
        self._topic = _callable(topic_selector, KafkaTopicSelector, "apply", "topic_selector")
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """The key of each message; without this messages have none."""
        self._key = _schema(key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """The value of each message; None from the schema makes a tombstone."""
        self._value = _schema(value_serialization_schema)
        return self

    def set_header_provider(
        self, header_provider: Callable[[Any], Headers | None] | HeaderProvider
    ) -> KafkaRecordSerializationSchemaBuilder:
        """The headers of each message (Flink: ``setHeaderProvider``)."""
        self._headers = _callable(header_provider, HeaderProvider, "get_headers", "header_provider")
        return self

    def set_partitioner(self, partitioner: KafkaPartitioner) -> KafkaRecordSerializationSchemaBuilder:
        """The partition of each message (Flink: ``setPartitioner``); without this the key decides, and
        messages without one are spread."""
        if not isinstance(partitioner, KafkaPartitioner):
            raise WrongArgumentError(
                "Not a KafkaPartitioner.", operator=_WHO, detail=f"got {partitioner!r}", hint="derive from it"
            )
        self._partitioner = partitioner
        return self


def _callable(given: Any, kind: type, method: str, what: str) -> Callable[[Any], Any]:
    if isinstance(given, kind):
        return getattr(given, method)  # type: ignore[no-any-return]
    if not callable(given):
        raise TypeError(f"{what} must be {kind.__name__} or a callable")
    return given  # type: ignore[no-any-return]


def _schema(schema: SerializationSchema) -> SerializationSchema:
    if not isinstance(schema, SerializationSchema):
        raise WrongArgumentError(
            "Not a SerializationSchema.", operator=_WHO, detail=f"got {schema!r}", hint="SimpleStringSchema()"
        )
    return schema
