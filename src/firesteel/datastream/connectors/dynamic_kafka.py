"""Streams of Kafka that move between clusters and topics (PyFlink:
``pyflink.datastream.connectors.dynamic_kafka``); needs the extra ``kafka``."""

from __future__ import annotations

from firesteel.connectors.kafka.builders_dynamic import DynamicKafkaSource, DynamicKafkaSourceBuilder
from firesteel.connectors.kafka.dynamic import (
    ClusterMetadata,
    KafkaMetadataService,
    KafkaStream,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from firesteel.connectors.kafka.records import KafkaRecordDeserializationSchema

__all__ = [
    "ClusterMetadata",
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaStream",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]
