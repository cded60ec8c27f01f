"""Apache Kafka (PyFlink: ``pyflink.datastream.connectors.kafka``); needs the extra ``kafka``."""

from __future__ import annotations

from firesteel.connectors.kafka.builders_legacy import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
from firesteel.connectors.kafka.builders_serializer import (
    HeaderProvider,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from firesteel.connectors.kafka.builders_sink import KafkaSink, KafkaSinkBuilder
from firesteel.connectors.kafka.builders_source import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from firesteel.connectors.kafka.records import ConsumerRecord, KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.serialization import (
    FlinkFixedPartitioner,
    KafkaPartitioner,
    KafkaSinkContext,
    ProducerRecord,
)
from firesteel.program.connector_wrappers import DeliveryGuarantee

__all__ = [
    "ConsumerRecord",
    "DeliveryGuarantee",
    "FlinkFixedPartitioner",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "HeaderProvider",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaPartitioner",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSinkContext",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "ProducerRecord",
    "Semantic",
]
