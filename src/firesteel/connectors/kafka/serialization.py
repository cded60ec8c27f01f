"""From records to messages (Flink: ``KafkaRecordSerializationSchema``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import msgspec

from firesteel.common._map_all import map_all
from firesteel.common.errors import ProgramError, TypeMismatchError
from firesteel.common.serialization import SerializationSchema, serialize_all
from firesteel.common.typeinfo import TypeInformation

Headers = list[tuple[str, bytes | None]]


class ProducerRecord(NamedTuple):
    """A message to write (Kafka: ``ProducerRecord``). Without a ``partition`` the key decides, or any
    partition is used; without a ``timestamp`` it is the time of writing; a ``value`` of None is a tombstone.
    """

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: Headers | None = None


class KafkaSinkContext(ABC):
    """The context of a schema or partitioner (Flink: ``KafkaRecordSerializationSchema.KafkaSinkContext``)."""

    @abstractmethod
    def get_parallel_instance_id(self) -> int:
        """Return the index of the subtask."""

    @abstractmethod
    def get_number_of_parallel_instances(self) -> int:
        """Return the number of subtasks."""

    @abstractmethod
    def get_partitions_for_topic(self, topic: str) -> list[int]:
        """Return the partitions of a topic as of the first call in this process."""


class KafkaPartitioner(ABC):
    """Chooses the partition of each message (Flink: ``KafkaPartitioner``)."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        """Called before the first record of a subtask in a worker process."""

    @abstractmethod
    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: list[int]
    ) -> int:
        """Return one of ``partitions``."""


class FlinkFixedPartitioner(KafkaPartitioner):
    """Sends all records of a subtask to one partition, as Flink's does; the default of the legacy
    producer."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self._subtask = parallel_instance_id

    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: list[int]
    ) -> int:
        return partitions[self._subtask % len(partitions)]


class Block(msgspec.Struct, array_like=True):
    """Some messages as columns. A column is None if no message has a value for it. A timestamp of 0 is the
    time of writing; for a partition of -1 the client chooses."""

    topics: str | list[str]
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    partitions: list[int] | None = None
    timestamps: list[int] | None = None
    headers: list[Headers | None] | None = None

    @property
    def first_topic(self) -> str:
        return self.topics if isinstance(self.topics, str) else self.topics[0]

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        keys = sum(len(k) for k in self.keys if k) if self.keys else 0
        return keys + sum(len(v) for v in self.values if v) + 16 * len(self.values)

    def columns(self) -> Iterable[tuple[Any, ...]]:
        """Yield (topic, value, key, partition, None, None, timestamp, headers) of each message, the arguments
        of ``produce``."""
        nothing = repeat(None)
        return zip(
            repeat(self.topics) if isinstance(self.topics, str) else self.topics,
            self.values,
            self.keys or nothing,
            self.partitions or repeat(-1),
            nothing,
            nothing,
            self.timestamps or repeat(0),
            self.headers or nothing,
            strict=False,
        )


class RecordSerializer(ABC):
    """Turns the records of a sink into messages."""

    @property
    def fixed_topic(self) -> str | None:
        """The topic of all messages, or None if it is chosen for each one."""
        return None

    def check_type(self, type_info: TypeInformation | None) -> None:
        """Check that a stream of this declared type can be written.

        :raises ProgramError: it cannot.
        """

    def open(self, context: KafkaSinkContext) -> None:
        """Called before the first record of a subtask in a worker process."""

    @abstractmethod
    def encode(
        self, values: Sequence[Any], timestamps: Sequence[int | None] | None, context: KafkaSinkContext
    ) -> Block:
        """Return the messages of the records, in order."""


@dataclass
class BuiltSerializer(RecordSerializer):
    """Combines separate parts for topic, key, value, headers and partition."""

    value: SerializationSchema
    topic: str | Callable[[Any], str]
    key: SerializationSchema | None = None
    headers: Callable[[Any], Headers | None] | None = None
    partitioner: KafkaPartitioner | None = None
    with_timestamps: bool = True

    @property
    def fixed_topic(self) -> str | None:
        return self.topic if isinstance(self.topic, str) else None

    def check_type(self, type_info: TypeInformation | None) -> None:
        self.value.check_type(type_info)
        if self.key is not None:
            self.key.check_type(type_info)

    def open(self, context: KafkaSinkContext) -> None:
        self.value.open()
        if self.key is not None:
            self.key.open()
        if self.partitioner is not None:
            self.partitioner.open(
                context.get_parallel_instance_id(), context.get_number_of_parallel_instances()
            )

    def encode(
        self, values: Sequence[Any], timestamps: Sequence[int | None] | None, context: KafkaSinkContext
    ) -> Block:
        topics = self.topic if isinstance(self.topic, str) else map_all(self._topic_of, values)
        bodies = serialize_all(self.value, values)
        keys = None if self.key is None else serialize_all(self.key, values)
        stamps = None
        if timestamps is not None and self.with_timestamps:
            stamps = [0 if t is None or t < 0 else t for t in timestamps]
        headers = None if self.headers is None else map_all(self.headers, values)
        block = Block(topics, bodies, keys, None, stamps, headers)
        if self.partitioner is not None:
            block.partitions = [
                self._partition_of(value, row[2], row[1], row[0], context)
                for value, row in zip(values, block.columns(), strict=False)
            ]
        return block

    def _topic_of(self, value: Any) -> str:
        topic = self.topic(value)  # type: ignore[operator]  # not asked of a fixed one
        if isinstance(topic, str) and topic:
            return topic
        raise TypeMismatchError(
            "A topic selector must return the name of a topic.", detail=f"got {topic!r} for {value!r:.200}"
        )

    def _partition_of(
        self, value: Any, key: bytes | None, body: bytes | None, topic: str, context: KafkaSinkContext
    ) -> int:
        assert self.partitioner is not None
        partitions = context.get_partitions_for_topic(topic)
        chosen = self.partitioner.partition(value, key, body, topic, partitions)
        if chosen not in partitions:
            raise ProgramError(
                f"A partitioner chose partition {chosen!r} of topic {topic!r}, which is not there.",
                detail=f"there are {partitions}",
            )
        return chosen
