"""The source and sink functions that preceded KafkaSource and KafkaSink. PyFlink still has them, but the Java
classes they wrap were removed from Flink's connector."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any, Final

from firesteel.common._no_effect import tell_no_effect
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.kafka.builders_source import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
)
from firesteel.connectors.kafka.serialization import BuiltSerializer
from firesteel.connectors.kafka.settings import COMMIT_ON_CHECKPOINT, TRANSACTIONAL_ID
from firesteel.connectors.kafka.sink import Guarantee, KafkaTopicSink
from firesteel.program.checks import property_value, require_text
from firesteel.program.functions.legacy_connectors import SinkFunction, SourceFunction
from firesteel.program.sinks import Sink
from firesteel.program.sources import Source

_RESET: Final = {
    "earliest": KafkaOffsetResetStrategy.EARLIEST,
    "latest": KafkaOffsetResetStrategy.LATEST,
    "none": KafkaOffsetResetStrategy.NONE,
}


class FlinkKafkaConsumer(SourceFunction):
    """Reads topics, for ``add_source``; new programs use KafkaSource. Starts at the committed offsets of the
    group named in ``properties`` unless another start is set."""

    def __init__(
        self,
        topics: str | list[str],
        deserialization_schema: DeserializationSchema,
        properties: dict[str, Any],
    ) -> None:
        warnings.warn("Deprecated in 1.16. Use KafkaSource instead.", DeprecationWarning, stacklevel=2)
        self._topics = topics if isinstance(topics, list) else [topics]
        self._schema = deserialization_schema
        self._properties = {
            key: property_value(key, value, "FlinkKafkaConsumer") for key, value in properties.items()
        }
        self.set_start_from_group_offsets()

    @property
    def source(self) -> Source:  # type: ignore[override]  # of what is set until it is asked for
        """The source that this function wraps."""
        builder = KafkaSource.builder().set_topics(*self._topics).set_properties(self._properties)
        builder.set_value_only_deserializer(self._schema).set_starting_offsets(self._starting)
        found: Source = builder.build().wrapped_source
        return found

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumer:
        """Set whether offsets are committed to the group at checkpoints. The default is true if there is a
        group."""
        self._properties[COMMIT_ON_CHECKPOINT] = str(commit_on_checkpoints).lower()
        return self

    def set_start_from_earliest(self) -> FlinkKafkaConsumer:
        """Start at the first record of each partition."""
        return self._start(KafkaOffsetsInitializer.earliest())

    def set_start_from_latest(self) -> FlinkKafkaConsumer:
        """Start after the last record of each partition."""
        return self._start(KafkaOffsetsInitializer.latest())

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumer:
        """Start at the first record whose timestamp is at or after the given one (epoch milliseconds)."""
        return self._start(KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp))

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumer:
        """Start at the offsets that the group has committed; without one, as ``auto.offset.reset`` says."""
        reset = self._properties.get("auto.offset.reset", "latest")
        if reset not in _RESET:
            raise ProgramError("auto.offset.reset is earliest, latest or none.", detail=f"got {reset!r}")
        return self._start(KafkaOffsetsInitializer.committed_offsets(_RESET[reset]))

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumer:
        """Has no effect, and a warning says so: a job always continues to read the partitions it has
        started."""
        tell_no_effect(
            "disable_filter_restored_partitions_with_subscribed_topics",
            "restored partitions are never filtered: those that a job has begun to read it reads on",
        )
        return self

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of the records."""
        return self._schema.get_produced_type()

    def _start(self, starting: KafkaOffsetsInitializer) -> FlinkKafkaConsumer:
        self._starting = starting
        return self


class Semantic(Enum):
    """What a failure may do to the output of a FlinkKafkaProducer."""

    EXACTLY_ONCE = (0,)
    AT_LEAST_ONCE = (1,)
    NONE = 2


_GUARANTEES: Final = {
    Semantic.EXACTLY_ONCE: Guarantee.EXACTLY_ONCE,
    Semantic.AT_LEAST_ONCE: Guarantee.AT_LEAST_ONCE,
    Semantic.NONE: Guarantee.NONE,
}


_POOL_SIZE: Final = 5  # Flink's default


class FlinkKafkaProducer(SinkFunction):
    """Writes to one topic, for ``add_sink``; new programs use KafkaSink.

    :param kafka_producer_pool_size: has no effect, and a warning says so.
    :param semantic: EXACTLY_ONCE needs ``transactional.id`` in ``producer_config``, as a prefix.
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: dict[str, Any],
        kafka_producer_pool_size: int = _POOL_SIZE,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        if kafka_producer_pool_size != _POOL_SIZE:
            tell_no_effect("kafka_producer_pool_size", "no producers wait for checkpoints")
        self._topic = require_text(topic, "topic", "FlinkKafkaProducer")
        self._schema = serialization_schema
        self._properties = {
            key: property_value(key, value, "FlinkKafkaProducer") for key, value in producer_config.items()
        }
        self._guarantee = _GUARANTEES[semantic]
        self._with_timestamps = False

    def to_sink(self, type_info: TypeInformation | None) -> Sink:
        """Return the sink to add to a stream."""
        serializer = BuiltSerializer(self._schema, self._topic, with_timestamps=self._with_timestamps)
        prefix = self._properties.get(TRANSACTIONAL_ID)
        sink = KafkaTopicSink(serializer, self._properties, self._guarantee, prefix)
        sink.check()
        return sink

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducer:
        """Accepts only False: a record that cannot be written fails the job."""
        if log_failures_only:
            raise UnsupportedFeatureError(
                "Records that Kafka does not take cannot be logged and forgotten.",
                operator="FlinkKafkaProducer",
                hint="leave set_log_failures_only() out; Semantic.NONE waits for no answers",
            )
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducer:
        """False: checkpoints do not wait for the brokers to acknowledge messages."""
        if not flush_on_checkpoint and self._guarantee is Guarantee.AT_LEAST_ONCE:
            self._guarantee = Guarantee.NONE
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> FlinkKafkaProducer:
        """Set whether the timestamp of a message is the event time of its record; otherwise it is the time of
        writing."""
        self._with_timestamps = write_timestamp_to_kafka
        return self

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Has no effect, and a warning says so."""
        tell_no_effect(
            "ignore_failures_after_transaction_timeout", "a transaction is open only while it is committed"
        )
        return self
