"""Builder of a Kafka source whose streams move between clusters and topics (PyFlink:
``pyflink.datastream.connectors.dynamic_kafka``); needs the extra ``kafka``."""

from __future__ import annotations

from collections.abc import Mapping, Set

from firesteel.common.errors import ProgramError
from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors.kafka.builders_source import KafkaOffsetsInitializer, offsets_rule
from firesteel.connectors.kafka.client import require_client
from firesteel.connectors.kafka.dynamic import (
    DynamicTopicSource,
    KafkaMetadataService,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    StreamPatternSubscriber,
)
from firesteel.connectors.kafka.offsets import EARLIEST, OffsetsInitializer
from firesteel.connectors.kafka.records import KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.settings import (
    AUTO_COMMIT,
    CLIENT_ID_PREFIX,
    COMMIT_ON_CHECKPOINT,
    GROUP_ID,
    flag,
)
from firesteel.program.checks import WrongArgumentError, property_value, require_text
from firesteel.program.connector_wrappers import SourceWrapper

_WHO = "DynamicKafkaSource"


class DynamicKafkaSource(SourceWrapper):
    """Reads streams, which a metadata service maps to topics of clusters; see ``builder``.

    >>> from firesteel.common import SimpleStringSchema
    >>> from firesteel.datastream.connectors.dynamic_kafka import SingleClusterTopicMetadataService
    >>> service = SingleClusterTopicMetadataService("cluster-a", {"bootstrap.servers": "localhost:9092"})
    >>> source = (
    ...     DynamicKafkaSource.builder()
    ...     .set_stream_ids({"stream-a"})
    ...     .set_kafka_metadata_service(service)
    ...     .set_value_only_deserializer(SimpleStringSchema())
    ...     .build()
    ... )
    """

    def __init__(self, source: DynamicTopicSource) -> None:
        super().__init__(source)
        self.produced_type = source.deserializer.get_produced_type()

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        return DynamicKafkaSourceBuilder()


class DynamicKafkaSourceBuilder:
    """Requires stream ids, a pattern or a subscriber, plus a metadata service and a deserializer."""

    def __init__(self) -> None:
        self._subscriber: KafkaStreamSubscriber | None = None
        self._service: KafkaMetadataService | None = None
        self._deserializer: KafkaRecordDeserializationSchema | None = None
        self._properties: dict[str, str] = {}
        self._starting = EARLIEST
        self._stopping: OffsetsInitializer | None = None

    def build(self) -> DynamicKafkaSource:
        """Build the source.

        :raises ProgramError: a setting is missing or invalid, or settings contradict each other.
        """
        require_client()
        if self._subscriber is None:
            raise ProgramError(
                "Kafka stream subscriber is required but not provided",
                hint="set_stream_ids(), set_stream_pattern() or set_kafka_stream_subscriber()",
            )
        if self._service is None:
            raise ProgramError(
                "Kafka Metadata Service is required but not provided", hint="set_kafka_metadata_service()"
            )
        if self._deserializer is None:
            raise ProgramError(
                "Deserialization schema is required but not provided.", hint="set_value_only_deserializer()"
            )
        commits = any(flag(self._properties, name, False) for name in (AUTO_COMMIT, COMMIT_ON_CHECKPOINT))
        if GROUP_ID not in self._properties and commits:
            raise ProgramError(f"Property {GROUP_ID} is required when offset commit is enabled")
        source = DynamicTopicSource(
            self._subscriber,
            self._service,
            self._deserializer,
            dict(self._properties),
            self._starting,
            self._stopping,
            self._stopping is not None,
        )
        source.check()
        return DynamicKafkaSource(source)

    def set_stream_ids(self, stream_ids: Set[str]) -> DynamicKafkaSourceBuilder:
        """Read the streams with these ids. The metadata service must know all of them."""
        if isinstance(stream_ids, str) or not stream_ids:
            raise WrongArgumentError(
                "set_stream_ids() needs ids of streams.", operator=_WHO, detail=f"got {stream_ids!r}"
            )
        ids = [require_text(stream, "stream id", _WHO) for stream in stream_ids]
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(ids))

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        """Read all streams whose id contains a match of the pattern, including streams that appear later."""
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(
        self, kafka_stream_subscriber: KafkaStreamSubscriber
    ) -> DynamicKafkaSourceBuilder:
        """Choose the streams with a subscriber of your own."""
        _require(kafka_stream_subscriber, KafkaStreamSubscriber)
        if self._subscriber is not None:
            raise ProgramError(
                "What is to be read is already set.",
                detail=f"by a {type(self._subscriber).__name__}",
                hint="use one of set_stream_ids, set_stream_pattern and set_kafka_stream_subscriber, once",
            )
        self._subscriber = kafka_stream_subscriber
        return self

    def set_kafka_metadata_service(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> DynamicKafkaSourceBuilder:
        """Set the service that knows where streams are: ``SingleClusterTopicMetadataService`` or a class of
        your own."""
        _require(kafka_metadata_service, KafkaMetadataService)
        self._service = kafka_metadata_service
        return self

    def set_deserializer(self, deserializer: KafkaRecordDeserializationSchema) -> DynamicKafkaSourceBuilder:
        """Convert whole messages to records: key, headers, topic and offset."""
        _require(deserializer, KafkaRecordDeserializationSchema)
        self._deserializer = deserializer
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> DynamicKafkaSourceBuilder:
        """Read the value of each message."""
        return self.set_deserializer(KafkaRecordDeserializationSchema.value_only(deserialization_schema))

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> DynamicKafkaSourceBuilder:
        """Set where to start in topics that exist when their cluster is first read; the default is the
        earliest record. Topics and partitions added later are read from their first record."""
        self._starting = offsets_rule(starting_offsets_initializer)
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> DynamicKafkaSourceBuilder:
        """Stop at these offsets, which are looked up when the job starts. Streams that change afterwards are
        read as they were at that time."""
        self._stopping = offsets_rule(stopping_offsets_initializer)
        return self

    def set_properties(self, props: Mapping[str, str]) -> DynamicKafkaSourceBuilder:
        """Set several properties, as ``set_property`` does."""
        for key, value in props.items():
            self.set_property(key, value)
        return self

    def set_property(self, key: str, value: str) -> DynamicKafkaSourceBuilder:
        """Set a property of Kafka's consumer for all clusters, or one of Flink's:
        ``stream-metadata-discovery-interval-ms`` (default -1: ask the service once),
        ``stream-metadata-discovery-failure-threshold`` (default 1: consecutive failures tolerated while the
        job runs), and those of ``KafkaSource``. ``partition.discovery.interval.ms`` defaults to -1 here."""
        self._properties[require_text(key, "property", _WHO)] = property_value(key, value, _WHO)
        return self

    def set_group_id(self, group_id: str) -> DynamicKafkaSourceBuilder:
        """Set the consumer group to commit offsets to at checkpoints, in each cluster."""
        return self.set_property(GROUP_ID, group_id)

    def set_client_id_prefix(self, prefix: str) -> DynamicKafkaSourceBuilder:
        """Set the prefix of the client ids in the brokers' logs; the id of the cluster is appended to it."""
        return self.set_property(CLIENT_ID_PREFIX, prefix)


def _require(given: object, kind: type) -> None:
    if not isinstance(given, kind):
        raise WrongArgumentError(
            f"Not a {kind.__name__}.",
            operator=_WHO,
            detail=f"got {given!r}",
            hint=f"derive a class from {kind.__name__}",
        )
