"""The Kafka source: partitions are splits, offsets are positions (Flink: ``KafkaSource``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from firesteel.common.errors import ConfigurationError, ProgramError
from firesteel.connectors.kafka.client import Cluster, require_client
from firesteel.connectors.kafka.offsets import EARLIEST, Kind, OffsetsInitializer, Partition
from firesteel.connectors.kafka.records import KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.settings import (
    AUTO_COMMIT,
    BOOTSTRAP,
    COMMIT_ON_CHECKPOINT,
    DISCOVERY_INTERVAL,
    GROUP_ID,
    client_settings,
    flag,
    number,
)
from firesteel.program.sources import (
    Boundedness,
    EnumeratorContext,
    Source,
    SourcePromise,
    SourceReader,
    SplitEnumerator,
)
from firesteel.storage.records import record

_FIVE_MINUTES: Final = 300_000


@record("kafka split")
class PartitionSplit(NamedTuple):
    """The payload of a split. If ``stop`` is None the split has no end."""

    topic: str
    number: int
    start: int
    stop: int | None

    @property
    def partition(self) -> Partition:
        return Partition(self.topic, self.number)


@dataclass(frozen=True)
class Subscription:
    """What to read: exactly one of topic names, a pattern for full topic names, or partitions."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[Partition, ...] = ()

    def find(self, cluster: Cluster) -> list[Partition]:
        """Return the partitions that exist now, in order.

        :raises ConfigurationError: a named topic or partition does not exist.
        """
        known = cluster.metadata().topics
        if self.pattern is not None:
            matches = re.compile(self.pattern).fullmatch
            names = [name for name in known if matches(name)]
        else:
            names = list(self.topics or {p.topic for p in self.partitions})
            self._refuse([name for name in names if name not in known], "Topics", cluster)
        found = {Partition(name, number) for name in names for number in known[name].partitions}
        if self.partitions:
            self._refuse([str(p) for p in self.partitions if p not in found], "Partitions", cluster)
            return sorted(self.partitions)
        return sorted(found)

    def _refuse(self, missing: list[str], what: str, cluster: Cluster) -> None:
        if missing:
            raise ConfigurationError(
                f"{what} that are to be read do not exist, or may not be seen.",
                detail=f"{', '.join(sorted(missing))} in the Kafka cluster at {cluster.address}",
                hint="create them first; set_topic_pattern() also takes topics that come later",
            )


@dataclass(frozen=True)
class KafkaTopicSource(Source):
    """The source that ``KafkaSource.builder()`` builds. ``properties`` are those of Kafka's consumer and
    Flink's own ``partition.discovery.interval.ms``, ``commit.offsets.on.checkpoint`` and
    ``client.id.prefix``."""

    subscription: Subscription
    deserializer: KafkaRecordDeserializationSchema
    properties: Mapping[str, str] = field(repr=False)
    starting: OffsetsInitializer = EARLIEST
    stopping: OffsetsInitializer | None = None
    bounded: bool = False

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def description(self) -> str:
        return "KafkaSource"

    @property
    def discovery_interval_ms(self) -> int | None:
        """None: look for partitions only once."""
        interval = -1 if self.bounded else number(self.properties, DISCOVERY_INTERVAL, _FIVE_MINUTES)
        return interval if interval > 0 else None

    @property
    def commits_on_checkpoint(self) -> bool:
        return GROUP_ID in self.properties and flag(self.properties, COMMIT_ON_CHECKPOINT, True)

    def check(self) -> None:
        """Check everything that does not need the cluster.

        :raises ProgramError: a setting is missing, or settings contradict each other.
        """
        require_client()
        if BOOTSTRAP not in self.properties:
            raise ProgramError(f"Property {BOOTSTRAP} is required but not provided")
        commits = flag(self.properties, AUTO_COMMIT, False) or flag(
            self.properties, COMMIT_ON_CHECKPOINT, False
        )
        if GROUP_ID not in self.properties and commits:
            raise ProgramError(f"Property {GROUP_ID} is required when offset commit is enabled")
        self.starting.check(self.properties)
        if self.stopping is not None:
            self.stopping.check(self.properties)
        client_settings(self.properties, producer=False)

    def validate(self) -> None:
        """Check that the cluster answers, grants access and has what is to be read."""
        self.check()
        from firesteel.connectors.kafka.reader import new_consumer

        new_consumer(self.properties).close()
        self.subscription.find(Cluster(self.properties))

    def promise(self, checkpointing: bool) -> SourcePromise:
        latest = self.starting.kind is Kind.LATEST
        return SourcePromise.from_start(latest=latest and not checkpointing)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        from firesteel.connectors.kafka.enumerator import KafkaEnumerator

        return KafkaEnumerator(self)

    def create_reader(self) -> SourceReader:
        from firesteel.connectors.kafka.reader import KafkaReader

        return KafkaReader(self.properties, self.deserializer, self.starting.reset_rule)
