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
    """One message to be written (Kafka: ``ProducerRecord``). ``partition`` None: by the key, else any;
    ``timestamp`` None: when it is written; ``value`` None: a tombstone."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: Headers | None = None


class KafkaSinkContext(ABC):
    """Where a schema or partitioner is asked (Flink: ``KafkaRecordSerializationSchema.KafkaSinkContext``)."""

    @abstractmethod
    def get_parallel_instance_id(self) -> int:
        """The index of the subtask."""

    @abstractmethod
    def get_number_of_parallel_instances(self) -> int:
        """The number of subtasks."""

    @abstractmethod
    def get_partitions_for_topic(self, topic: str) -> list[int]:
        """The partitions of a topic, as they were when this process first asked."""


class KafkaPartitioner(ABC):
    """Chooses the partition of each message (Flink: ``KafkaPartitioner``)."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        """Called before the first record of a subtask in a worker process."""

    @abstractmethod
    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: list[int]
    ) -> int:
        """One of ``partitions``."""


class FlinkFixedPartitioner(KafkaPartitioner):
    """All records of a subtask go to one partition (Flink: the same; the legacy producer's default)."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self._subtask = parallel_instance_id

    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: list[int]
    ) -> int:
        return partitions[self._subtask % len(partitions)]


class Block(msgspec.Struct, array_like=True):
    """Some messages, as columns; None: no message has one. A timestamp of 0 is the time of writing, a
    partition of -1 is chosen by the client."""

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
        """About how many bytes."""
        keys = sum(len(k) for k in self.keys if k) if self.keys else 0
        return keys + sum(len(v) for v in self.values if v) + 16 * len(self.values)

    def columns(self) -> Iterable[tuple[Any, ...]]:
        """(topic, value, key, partition, None, None, timestamp, headers) of each: what ``produce`` takes."""
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
    """What a sink knows of the messages it writes."""

    #: Where all messages go; None: that is chosen for each.
    fixed_topic: str | None = None

    def check_type(self, type_info: TypeInformation | None) -> None:
        """Raise a ProgramError when a stream of this declared type cannot be written."""

    def open(self, context: KafkaSinkContext) -> None:
        """Called before the first record of a subtask in a worker process."""

    @abstractmethod
    def encode(
        self, values: Sequence[Any], timestamps: Sequence[int | None] | None, context: KafkaSinkContext
    ) -> Block:
        """The messages of some records, in order."""


@dataclass
class BuiltSerializer(RecordSerializer):
    """Topic, key, value, headers and partition, each by a part of its own."""

    value: SerializationSchema
    topic: str | Callable[[Any], str]
    key: SerializationSchema | None = None
    headers: Callable[[Any], Headers | None] | None = None
    partitioner: KafkaPartitioner | None = None
    with_timestamps: bool = True

    @property
    def fixed_topic(self) -> str | None:  # type: ignore[override]
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
        topic = self.topic(value)  # type: ignore[operator]
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
