"""Builder of the Kafka source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from enum import Enum
from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors.kafka.offsets import EARLIEST, Kind, OffsetsInitializer, Partition, Reset
from firesteel.connectors.kafka.records import KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.settings import BOOTSTRAP, CLIENT_ID_PREFIX, GROUP_ID
from firesteel.connectors.kafka.source import KafkaTopicSource, Subscription
from firesteel.program.checks import WrongArgumentError, property_value, require_int, require_text
from firesteel.program.connector_wrappers import SourceWrapper

_WHO: Final = "KafkaSource"


class KafkaTopicPartition:
    """A partition of a topic."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = require_text(topic, "topic", _WHO)
        self._partition = require_int(partition, "partition", 0, None, _WHO)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KafkaTopicPartition):
            return False
        return (self._topic, self._partition) == (other._topic, other._partition)

    def __hash__(self) -> int:
        return hash((self._topic, self._partition))

    def __repr__(self) -> str:
        return f"KafkaTopicPartition({self._topic!r}, {self._partition})"


class KafkaOffsetResetStrategy(Enum):
    """What to do if there is no offset, or the offset cannot be read (Kafka: ``auto.offset.reset``)."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class KafkaOffsetsInitializer:
    """Where to start or stop reading partitions; created by its static methods."""

    def __init__(self, rule: OffsetsInitializer) -> None:
        self.rule = rule

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """The offsets that the consumer group has committed. For a partition without one the strategy
        applies; with NONE the job fails."""
        return KafkaOffsetsInitializer(OffsetsInitializer(Kind.COMMITTED, _reset(offset_reset_strategy)))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record whose timestamp (epoch milliseconds) is ``timestamp`` or later; the end of the
        partition if there is none."""
        require_int(timestamp, "timestamp (in epoch milliseconds)", 0, None, _WHO)
        return KafkaOffsetsInitializer(OffsetsInitializer(Kind.TIMESTAMP, timestamp=timestamp))

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first record that still exists."""
        return KafkaOffsetsInitializer(EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """After the last record that exists when the job starts."""
        return KafkaOffsetsInitializer(OffsetsInitializer(Kind.LATEST))

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """The given offsets. Partitions that are not named start at the committed offset of the group; where
        no record can be read, the strategy applies."""
        given = {}
        for partition, offset in offsets.items():
            if not isinstance(partition, KafkaTopicPartition):
                raise WrongArgumentError(
                    "Offsets are given by KafkaTopicPartition.", operator=_WHO, detail=f"got {partition!r}"
                )
            given[_partition(partition)] = require_int(offset, "offset", 0, None, _WHO)
        rule = OffsetsInitializer(Kind.OFFSETS, _reset(offset_reset_strategy), offsets=given)
        return KafkaOffsetsInitializer(rule)


def _reset(strategy: KafkaOffsetResetStrategy) -> Reset:
    if not isinstance(strategy, KafkaOffsetResetStrategy):
        raise WrongArgumentError("Not a KafkaOffsetResetStrategy.", operator=_WHO, detail=f"got {strategy!r}")
    return Reset(strategy.value)


def _partition(partition: KafkaTopicPartition) -> Partition:
    return Partition(partition._topic, partition._partition)


def offsets_rule(initializer: KafkaOffsetsInitializer) -> OffsetsInitializer:
    """Return the rule that the initializer stands for."""
    if not isinstance(initializer, KafkaOffsetsInitializer):
        raise WrongArgumentError(
            "Not a KafkaOffsetsInitializer.",
            operator=_WHO,
            detail=f"got {initializer!r}",
            hint="KafkaOffsetsInitializer.earliest()",
        )
    return initializer.rule


class KafkaSource(SourceWrapper):
    """Reads Kafka topics; see ``builder``. Each partition is read in order by one subtask and has its own
    watermark. The timestamp of a message becomes the event time of its records.

    >>> from firesteel.common import SimpleStringSchema
    >>> source = (
    ...     KafkaSource.builder()
    ...     .set_bootstrap_servers("localhost:9092")
    ...     .set_topics("orders")
    ...     .set_group_id("billing")
    ...     .set_value_only_deserializer(SimpleStringSchema())
    ...     .build()
    ... )
    """

    def __init__(self, source: KafkaTopicSource) -> None:
        super().__init__(source)
        self.produced_type = source.deserializer.get_produced_type()

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        return KafkaSourceBuilder()


class KafkaSourceBuilder:
    """Requires the bootstrap servers, one of topics, pattern or partitions, and a deserializer."""

    def __init__(self) -> None:
        self._subscription: Subscription | None = None
        self._deserializer: KafkaRecordDeserializationSchema | None = None
        self._properties: dict[str, str] = {}
        self._starting = EARLIEST
        self._stopping: OffsetsInitializer | None = None
        self._bounded = False

    def build(self) -> KafkaSource:
        """Build the source.

        :raises ProgramError: a setting is missing or invalid, or settings contradict each other.
        """
        if BOOTSTRAP not in self._properties:
            raise ProgramError(
                f"Property {BOOTSTRAP} is required but not provided", hint="set_bootstrap_servers()"
            )
        if self._subscription is None:
            raise ProgramError(
                "No subscribe mode is specified, should be one of topics, topic pattern and partition set."
            )
        if self._deserializer is None:
            raise ProgramError(
                "Deserialization schema is required but not provided.", hint="set_value_only_deserializer()"
            )
        source = KafkaTopicSource(
            self._subscription,
            self._deserializer,
            dict(self._properties),
            self._starting,
            self._stopping,
            self._bounded,
        )
        source.check()
        return KafkaSource(source)

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Set the addresses of some brokers as ``host:port``, separated by commas."""
        return self.set_property(BOOTSTRAP, bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the consumer group to commit offsets to at checkpoints, for monitoring."""
        return self.set_property(GROUP_ID, group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read these topics, which must exist."""
        if not topics:
            raise ProgramError("set_topics() needs the name of a topic.")
        return self._subscribe(Subscription(topics=tuple(require_text(t, "topic", _WHO) for t in topics)))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose full name matches the pattern, including topics created later."""
        try:
            re.compile(require_text(topic_pattern, "topic pattern", _WHO))
        except re.error as error:
            raise ProgramError(
                "The topic pattern is not a valid regular expression.", detail=str(error)
            ) from error
        return self._subscribe(Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: Set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read these partitions, which must exist."""
        if not partitions or not all(isinstance(p, KafkaTopicPartition) for p in partitions):
            raise WrongArgumentError(
                "set_partitions() needs KafkaTopicPartitions.", operator=_WHO, detail=f"got {partitions!r}"
            )
        return self._subscribe(Subscription(partitions=tuple(sorted(map(_partition, partitions)))))

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise ProgramError(
                "What is to be read is already set.",
                detail=f"first {self._subscription}, then {subscription}",
                hint="use one of set_topics, set_topic_pattern and set_partitions, once",
            )
        self._subscription = subscription
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set where a job starts that is not restored from a checkpoint; the default is the earliest record.
        Partitions that are created later are always read from their first record."""
        self._starting = offsets_rule(starting_offsets_initializer)
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Stop at these offsets, which are looked up when the job starts. The source still counts as
        unbounded."""
        self._stopping, self._bounded = offsets_rule(stopping_offsets_initializer), False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Stop at these offsets, which are looked up when the job starts. The source is bounded."""
        self._stopping, self._bounded = offsets_rule(stopping_offsets_initializer), True
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """Read the value of each message. A message without a value (a tombstone) is a bad record, unless the
        schema accepts None."""
        return self.set_deserializer(KafkaRecordDeserializationSchema.value_only(deserialization_schema))

    def set_deserializer(self, record_deserializer: KafkaRecordDeserializationSchema) -> KafkaSourceBuilder:
        """Convert whole messages to records: key, headers, topic and offset (Flink: ``setDeserializer``)."""
        if not isinstance(record_deserializer, KafkaRecordDeserializationSchema):
            raise WrongArgumentError(
                "Not a KafkaRecordDeserializationSchema.",
                operator=_WHO,
                detail=f"got {record_deserializer!r}",
                hint="set_value_only_deserializer() takes a DeserializationSchema",
            )
        self._deserializer = record_deserializer
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the client id in the brokers' logs and quotas; the default is the group id."""
        return self.set_property(CLIENT_ID_PREFIX, prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """Set a property of Kafka's consumer, by its Java name or its librdkafka name, or one of Flink's:
        ``partition.discovery.interval.ms`` (default 300000; 0 or less: look for partitions once),
        ``commit.offsets.on.checkpoint`` (default true if there is a group id)."""
        self._properties[require_text(key, "property", _WHO)] = property_value(key, value, _WHO)
        return self

    def set_properties(self, props: dict[str, Any]) -> KafkaSourceBuilder:
        """Set several properties, as ``set_property`` does."""
        for key, value in props.items():
            self.set_property(key, value)
        return self
