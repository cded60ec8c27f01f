"""Where to start and stop reading partitions (Flink: ``OffsetsInitializer``)."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from firesteel.common.errors import ConfigurationError, ConnectorError, ProgramError
from firesteel.connectors.kafka.client import PATIENCE_S, Answer, Cluster, ask_again, describe
from firesteel.connectors.kafka.settings import GROUP_ID, ISOLATION
from firesteel.storage.records import record

_READ_UNCOMMITTED: Final = "read_uncommitted"


@record("kafka partition")
class Partition(NamedTuple):
    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


class Reset(enum.Enum):
    """What to do if there is no offset, or the offset cannot be read (Kafka: ``auto.offset.reset``)."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class Kind(enum.Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    COMMITTED = "committed"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"


@dataclass(frozen=True)
class OffsetsInitializer:
    """A rule that gives each partition an offset. It is evaluated once, when the partition is discovered."""

    kind: Kind
    reset: Reset = Reset.EARLIEST
    timestamp: int = 0
    offsets: Mapping[Partition, int] = field(default_factory=dict)

    def check(self, properties: Mapping[str, str]) -> None:
        """:raises ProgramError: the rule does not work with these properties."""
        if self.kind is Kind.COMMITTED and GROUP_ID not in properties:
            raise ProgramError(
                "Property group.id is required because offsets are initialized with committed offsets",
                hint="set_group_id() on the builder",
            )
        wrong = {str(p): offset for p, offset in self.offsets.items() if offset < 0}
        if wrong:
            raise ProgramError("An offset cannot be negative", detail=str(wrong))

    @property
    def reset_rule(self) -> Reset:
        """What a reader does if the records it should read are gone. Overrides ``auto.offset.reset``, as in
        Flink."""
        return Reset.LATEST if self.kind in (Kind.LATEST, Kind.TIMESTAMP) else self.reset

    def start(self, partitions: Sequence[Partition], look_up: OffsetLookup) -> dict[Partition, int]:
        """Return where to start: as ``resolve``, but the reset rule applies where the offset has no
        record."""
        found = self.resolve(partitions, look_up)
        if self.kind in (Kind.COMMITTED, Kind.OFFSETS):
            first, end = look_up.beginning(partitions), look_up.end(partitions)
            found |= self._reset([p for p in partitions if not first[p] <= found[p] <= end[p]], look_up)
        return found

    def resolve(self, partitions: Sequence[Partition], look_up: OffsetLookup) -> dict[Partition, int]:
        """Return the offset of each partition.

        :raises ConfigurationError: a partition has no offset and ``reset`` is NONE.
        """
        match self.kind:
            case Kind.EARLIEST:
                return look_up.beginning(partitions)
            case Kind.LATEST:
                return look_up.end(partitions)
            case Kind.TIMESTAMP:
                return look_up.at_time(partitions, self.timestamp)
            case Kind.COMMITTED | Kind.OFFSETS:
                found = {p: self.offsets[p] for p in partitions if p in self.offsets}
                unknown = [p for p in partitions if p not in found]
                found |= look_up.committed(unknown)
                return found | self._reset([p for p in unknown if p not in found], look_up)

    def _reset(self, partitions: Sequence[Partition], look_up: OffsetLookup) -> dict[Partition, int]:
        match self.reset:
            case Reset.EARLIEST:
                return look_up.beginning(partitions)
            case Reset.LATEST:
                return look_up.end(partitions)
            case Reset.NONE if not partitions:
                return {}
            case Reset.NONE:
                raise ConfigurationError(
                    "There is no offset that can be read from, and no rule for that case.",
                    detail="partitions " + ", ".join(map(str, partitions)),
                    hint="commit offsets for the group first, or give a KafkaOffsetResetStrategy",
                )


EARLIEST: Final = OffsetsInitializer(Kind.EARLIEST)


class OffsetLookup:
    """Asks the brokers for the offsets of many partitions at once."""

    def __init__(self, cluster: Cluster, properties: Mapping[str, str]) -> None:
        self._cluster = cluster
        self._group = properties.get(GROUP_ID)
        self._committed_only = properties.get(ISOLATION) != _READ_UNCOMMITTED

    def beginning(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        from confluent_kafka.admin import OffsetSpec

        return self._wait(self.request(partitions, OffsetSpec.earliest()))

    def end(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the offsets after the last readable record. Records of an open transaction are not
        readable."""
        from confluent_kafka.admin import OffsetSpec

        return self._wait(self.request(partitions, OffsetSpec.latest()))

    def at_time(self, partitions: Sequence[Partition], timestamp: int) -> dict[Partition, int]:
        """Return the offsets of the first record at or after ``timestamp``, or the end if there is none."""
        from confluent_kafka.admin import OffsetSpec

        ends = self.end(partitions)  # asked first, so that records written in between are not missed
        found = self._wait(self.request(partitions, OffsetSpec.for_timestamp(timestamp)))
        return {p: ends[p] if offset < 0 else offset for p, offset in found.items()}

    def committed(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """Return the offsets committed by the consumer group, without partitions that have none."""
        if self._group is None or not partitions:
            return {}
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        wanted = ConsumerGroupTopicPartitions(self._group, [TopicPartition(*p) for p in partitions])
        admin = self._cluster.admin

        def ask() -> Any:
            futures = admin.list_consumer_group_offsets([wanted], request_timeout=PATIENCE_S)
            return next(iter(futures.values())).result(PATIENCE_S + 2)

        answer = self._checked(lambda: ask_again(ask))
        return {Partition(t.topic, t.partition): t.offset for t in answer.topic_partitions if t.offset >= 0}

    def find_leaders(self) -> None:
        """Make the client look up the leaders of the partitions. Otherwise it uses cached leaders for
        minutes, even if brokers answer that they are wrong."""
        with suppress(ConnectorError):
            self._cluster.metadata(patience_s=0)

    def request(self, partitions: Iterable[Partition], spec: Any) -> dict[Partition, Any]:
        """Return a future for each partition."""
        from confluent_kafka import IsolationLevel, TopicPartition

        wanted = {TopicPartition(*p): spec for p in partitions}
        if not wanted:
            return {}
        level = IsolationLevel.READ_COMMITTED if self._committed_only else IsolationLevel.READ_UNCOMMITTED
        futures = self._cluster.admin.list_offsets(wanted, isolation_level=level, request_timeout=PATIENCE_S)
        return {Partition(tp.topic, tp.partition): future for tp, future in futures.items()}

    def _wait(self, futures: Mapping[Partition, Any]) -> dict[Partition, int]:
        return self._checked(lambda: {p: f.result(PATIENCE_S + 2).offset for p, f in futures.items()})

    def _checked(self, ask: Callable[[], Answer]) -> Answer:
        from confluent_kafka import KafkaException

        try:
            return ask()
        except KafkaException as error:
            raise ConnectorError(
                f"The Kafka cluster at {self._cluster.address} does not say where partitions begin or end.",
                detail=describe(error),
            ) from error
        except TimeoutError as error:
            raise self._cluster.unreachable(error, PATIENCE_S) from error
