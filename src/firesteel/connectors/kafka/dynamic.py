"""Streams that move between clusters and topics while they are read (Flink: ``DynamicKafkaSource``).

A metadata service maps each stream to topics of clusters. Each cluster has an enumerator and, in the tasks, a
reader, as for a ``KafkaSource``. When the mapping changes they are rebuilt from the state of the previous
ones.
"""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from firesteel.common.errors import ConfigurationError, ConnectorError
from firesteel.common.logs import logger
from firesteel.connectors.kafka.client import Cluster, require_client
from firesteel.connectors.kafka.enumerator import KafkaEnumerator
from firesteel.connectors.kafka.offsets import EARLIEST, Kind, OffsetsInitializer
from firesteel.connectors.kafka.reader import KafkaReader
from firesteel.connectors.kafka.records import KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.settings import CLIENT_ID_PREFIX, DISCOVERY_INTERVAL, GROUP_ID, number
from firesteel.connectors.kafka.source import KafkaTopicSource, PartitionSplit, Subscription
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourcePromise,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.storage.records import record

log = logger(__name__)

STREAM_DISCOVERY_INTERVAL: Final = "stream-metadata-discovery-interval-ms"
STREAM_DISCOVERY_FAILURES: Final = "stream-metadata-discovery-failure-threshold"


@record("kafka cluster")
@dataclass(frozen=True)
class ClusterMetadata:
    """The topics of a stream in one cluster, and how to connect to the cluster."""

    topics: Collection[str]
    properties: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class KafkaStream:
    """The current location of a stream. ``cluster_metadata_map`` is keyed by cluster id."""

    stream_id: str
    cluster_metadata_map: Mapping[str, ClusterMetadata]


class KafkaMetadataService(ABC):
    """Knows where streams are. It is plain data that can be pickled, and is called on the driver."""

    @abstractmethod
    def get_all_streams(self) -> Iterable[KafkaStream]: ...

    @abstractmethod
    def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        """Return the streams by id. Raises an exception if one of them does not exist or cannot be looked
        up."""

    @abstractmethod
    def is_cluster_active(self, kafka_cluster_id: str) -> bool:
        """Return False if errors of the cluster are to be ignored."""

    def close(self) -> None:
        """Called when the job ends."""


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Treats each topic of one cluster as a stream.

    :param properties: of the cluster; at least ``bootstrap.servers``.
    """

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        self._id = kafka_cluster_id
        self._properties = dict(properties)
        self._cluster: Cluster | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cluster": None}

    def get_all_streams(self) -> Iterable[KafkaStream]:
        return [self._stream(topic) for topic in self._topics() if not topic.startswith("__")]

    def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        missing = sorted(set(stream_ids) - set(self._topics()))
        if missing:
            raise ConfigurationError(
                f"Streams that are to be read are not in the Kafka cluster {self._id!r}.",
                detail=", ".join(missing),
                hint="here the id of a stream is the name of a topic: create it first",
            )
        return {stream: self._stream(stream) for stream in stream_ids}

    def is_cluster_active(self, kafka_cluster_id: str) -> bool:
        return kafka_cluster_id == self._id

    def close(self) -> None:
        self._cluster = None

    def _topics(self) -> Collection[str]:
        if self._cluster is None:
            self._cluster = Cluster(self._properties)
        topics: Mapping[str, Any] = self._cluster.metadata().topics
        return topics.keys()

    def _stream(self, topic: str) -> KafkaStream:
        return KafkaStream(topic, {self._id: ClusterMetadata((topic,), self._properties)})


class KafkaStreamSubscriber(ABC):
    """Chooses the streams to read."""

    @abstractmethod
    def get_subscribed_streams(self, kafka_metadata_service: KafkaMetadataService) -> Iterable[KafkaStream]:
        """Return the streams to read now."""


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Chooses the streams with these ids."""

    def __init__(self, stream_ids: Iterable[str]) -> None:
        self._ids = tuple(sorted(stream_ids))

    def get_subscribed_streams(self, kafka_metadata_service: KafkaMetadataService) -> Iterable[KafkaStream]:
        return kafka_metadata_service.describe_streams(self._ids).values()


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Chooses the streams whose id contains a match of the pattern, as in Flink."""

    def __init__(self, stream_pattern: str) -> None:
        try:
            self._pattern = re.compile(stream_pattern)
        except (re.error, TypeError) as error:
            raise ConfigurationError(
                "The stream pattern is not a valid regular expression.", detail=f"{stream_pattern!r}: {error}"
            ) from error

    def get_subscribed_streams(self, kafka_metadata_service: KafkaMetadataService) -> Iterable[KafkaStream]:
        return [s for s in kafka_metadata_service.get_all_streams() if self._pattern.search(s.stream_id)]


@dataclass(frozen=True)
class DynamicTopicSource(Source):
    """The source that ``DynamicKafkaSource.builder()`` builds. ``properties`` are those of Kafka's consumer,
    which apply to all clusters, and Flink's own."""

    subscriber: KafkaStreamSubscriber
    service: KafkaMetadataService
    deserializer: KafkaRecordDeserializationSchema
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    starting: OffsetsInitializer = EARLIEST
    stopping: OffsetsInitializer | None = None
    bounded: bool = False

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def description(self) -> str:
        return "DynamicKafkaSource"

    @property
    def discovery_interval_ms(self) -> int | None:
        """None: the service is asked only when a job starts or is restored."""
        interval = -1 if self.bounded else number(self.properties, STREAM_DISCOVERY_INTERVAL, -1)
        return interval if interval > 0 else None

    @property
    def tolerated_failures(self) -> int:
        return 0 if self.bounded else number(self.properties, STREAM_DISCOVERY_FAILURES, 1)

    def clusters(self) -> dict[str, ClusterMetadata]:
        """Return all topics to read now, by cluster. Raises whatever the service raises."""
        topics: dict[str, set[str]] = {}
        properties: dict[str, Mapping[str, str]] = {}
        for stream in self.subscriber.get_subscribed_streams(self.service):
            for cluster, metadata in stream.cluster_metadata_map.items():
                topics.setdefault(cluster, set()).update(metadata.topics)
                properties[cluster] = dict(metadata.properties)
        return {c: ClusterMetadata(tuple(sorted(topics[c])), properties[c]) for c in sorted(topics)}

    def of_cluster(self, cluster: str, metadata: ClusterMetadata) -> KafkaTopicSource:
        """Return the part of the source that reads one cluster. As in Flink, the properties of the source
        take precedence over those of the service."""
        own = {k: v for k, v in self.properties.items() if not k.startswith("stream-metadata-discovery-")}
        merged = {DISCOVERY_INTERVAL: "-1", **metadata.properties, **own}
        prefix = merged.get(CLIENT_ID_PREFIX, merged.get(GROUP_ID, self.description))
        return KafkaTopicSource(
            Subscription(topics=tuple(metadata.topics)),
            self.deserializer,
            merged | {CLIENT_ID_PREFIX: f"{prefix}-{cluster}"},
            self.starting,
            self.stopping,
            self.bounded,
        )

    def check(self) -> None:
        """Check everything that does not need the service.

        :raises ProgramError: settings contradict each other.
        """
        self.starting.check(self.properties)
        if self.stopping is not None:
            self.stopping.check(self.properties)
        _ = self.discovery_interval_ms, self.tolerated_failures  # raises if they are not numbers

    def validate(self) -> None:
        """Ask the service, and connect to the clusters it names."""
        require_client()
        for cluster, metadata in self.clusters().items():
            self.of_cluster(cluster, metadata).validate()

    def promise(self, checkpointing: bool) -> SourcePromise:
        latest = self.starting.kind is Kind.LATEST
        return SourcePromise.from_start(latest=latest and not checkpointing)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return DynamicEnumerator(self)

    def create_reader(self) -> SourceReader:
        return DynamicReader(self.deserializer, self.starting)


@record("dynamic kafka split")
class DynamicSplit(NamedTuple):
    """The payload of a split. ``split`` is the payload in the cluster; ``age`` counts how often its topic was
    removed."""

    cluster: str
    properties: Mapping[str, str]
    split: Split
    age: int

    @property
    def partition(self) -> PartitionSplit:
        payload: PartitionSplit = self.split.payload
        return payload


class _ClusterReading(NamedTuple):
    metadata: ClusterMetadata
    source: KafkaTopicSource
    enumerator: KafkaEnumerator


class DynamicEnumerator(SplitEnumerator):
    """Combines the enumerators of the clusters. A partition that no longer belongs to any stream ends at its
    current position. If its topic comes back it is a new split, which starts where the source says."""

    def __init__(self, source: DynamicTopicSource) -> None:
        self._source = source
        self._clusters: dict[str, _ClusterReading] = {}
        self._ages: dict[tuple[str, str], int] = {}  # by cluster and topic
        self._inner: dict[str, tuple[str, str]] = {}  # by split: the cluster and the split in it
        self._asked = False
        self._next_ms: int | None = None
        self._failures = 0

    # ---- clusters

    def discover(self, now_ms: int) -> list[Split]:
        if not self._asked or (self._next_ms is not None and now_ms >= self._next_ms):
            self._ask_service(now_ms)
        found = []
        for cluster, reading in self._clusters.items():
            try:
                found += [self._outer(cluster, split) for split in reading.enumerator.discover(now_ms)]
            except (ConnectorError, ConfigurationError) as error:
                if self._source.service.is_cluster_active(cluster):
                    raise
                log.warning("a cluster that is not active is passed over cluster=%s: %s", cluster, error)
        return found

    def _ask_service(self, now_ms: int) -> None:
        interval = self._source.discovery_interval_ms
        self._next_ms = None if interval is None else now_ms + interval
        try:
            wanted = self._source.clusters()
        except Exception as error:  # a user's service may raise anything
            self._failures += 1
            if not self._clusters or self._failures > self._source.tolerated_failures:
                raise
            log.warning("the metadata service fails, its last answer holds: %s", error)
        else:
            self._failures = 0
            self._change_to(wanted)
        self._asked = True

    def _change_to(self, wanted: Mapping[str, ClusterMetadata]) -> None:
        before = self._clusters
        self._clusters = {}
        for cluster, reading in before.items():
            metadata = wanted.get(cluster)
            left = [t for t in reading.metadata.topics if metadata is None or t not in metadata.topics]
            for topic in left:
                log.info("topic is not read any more cluster=%s topic=%s", cluster, topic)
                self._ages[cluster, topic] = self._ages.get((cluster, topic), 0) + 1
        for cluster, metadata in wanted.items():
            known = before.pop(cluster, None)
            if known is not None and known.metadata == metadata:
                self._clusters[cluster] = known
            else:
                self._clusters[cluster] = self._begin(cluster, metadata, known)
        for reading in before.values():
            reading.enumerator.close()

    def _begin(
        self, cluster: str, metadata: ClusterMetadata, known: _ClusterReading | None
    ) -> _ClusterReading:
        log.info("reading cluster=%s topics=%s", cluster, metadata.topics)
        source = self._source.of_cluster(cluster, metadata)
        enumerator = KafkaEnumerator(source)
        if known is not None:
            partitions, discovered = known.enumerator.snapshot()
            known.enumerator.close()
            enumerator.restore(([p for p in partitions if p.topic in metadata.topics], discovered))
            enumerator.look_again()
        return _ClusterReading(metadata, source, enumerator)

    @property
    def finished(self) -> bool:
        if not self._asked or self._source.discovery_interval_ms is not None:
            return False
        return all(reading.enumerator.finished for reading in self._clusters.values())

    # ---- splits

    def _outer(self, cluster: str, split: Split) -> Split:
        age = self._ages.get((cluster, split.payload.topic), 0)
        name = f"{cluster}:{split.id}" + (f"#{age}" if age else "")
        self._inner[name] = cluster, split.id
        return Split(name, DynamicSplit(cluster, self._clusters[cluster].source.properties, split, age))

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        payload: DynamicSplit = split.payload
        reading = self._clusters.get(payload.cluster)
        age = self._ages.get((payload.cluster, payload.partition.topic), 0)
        if reading is None or payload.age != age:
            return _end_of(split, position, max_records, max_bytes)
        found = reading.enumerator.plan(payload.split, position, max_records, max_bytes, now_ms)
        return None if found is None else replace(found, split=self._outer(payload.cluster, found.split))

    def pending_records(self) -> dict[str, int]:
        waiting = {c: r.enumerator.pending_records() for c, r in self._clusters.items()}
        return {
            name: waiting[cluster][split]
            for name, (cluster, split) in self._inner.items()
            if split in waiting.get(cluster, ())
        }

    # ---- the life of the source

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        by_cluster: dict[str, dict[str, Any]] = {}
        for name, position in positions.items():
            if name in self._inner:
                cluster, split = self._inner[name]
                by_cluster.setdefault(cluster, {})[split] = position
        for cluster, reading in self._clusters.items():
            reading.enumerator.checkpoint_completed(by_cluster.get(cluster, {}))

    def snapshot(self) -> Any:
        clusters = {c: (r.metadata, r.enumerator.snapshot()) for c, r in self._clusters.items()}
        return clusters, self._ages, self._inner

    def restore(self, state: Any) -> None:
        clusters, self._ages, self._inner = state
        for cluster, (metadata, inner) in clusters.items():
            reading = self._begin(cluster, metadata, None)
            reading.enumerator.restore(inner)
            self._clusters[cluster] = reading

    def close(self) -> None:
        for reading in self._clusters.values():
            reading.enumerator.close()
        self._source.service.close()


def _end_of(split: Split, position: Any, max_records: int, max_bytes: int) -> ReadRange:
    """Return an empty range that ends the split."""
    payload: DynamicSplit = split.payload
    start = payload.partition.start if position is None else position
    ended = replace(payload.split, payload=payload.partition._replace(stop=start))
    return ReadRange(
        replace(split, payload=payload._replace(split=ended)), start, max_records, max_bytes, start
    )


class DynamicReader(SourceReader):
    """Holds a reader for each cluster, created with the first range of that cluster."""

    def __init__(self, deserializer: KafkaRecordDeserializationSchema, starting: OffsetsInitializer) -> None:
        self._deserializer = deserializer
        self._starting = starting
        self._readers: dict[str, tuple[Mapping[str, str], KafkaReader]] = {}

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        payload: DynamicSplit = range_.split.payload
        return self._reader(payload).read(replace(range_, split=payload.split))

    def _reader(self, payload: DynamicSplit) -> KafkaReader:
        properties, reader = self._readers.get(payload.cluster, (None, None))
        if reader is None or properties != payload.properties:
            if reader is not None:
                reader.close()
            schema = copy.deepcopy(self._deserializer)  # each one is opened once
            reader = KafkaReader(payload.properties, schema, self._starting.reset_rule)
            reader.open()
            self._readers[payload.cluster] = payload.properties, reader
        return reader

    def close(self) -> None:
        for _, reader in self._readers.values():
            reader.close()
        self._readers.clear()
