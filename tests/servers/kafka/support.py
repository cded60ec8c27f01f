"""What the tests of the Kafka connector share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from firesteel.common import SimpleStringSchema, WatermarkStrategy
from firesteel.common.job_client import JobClient
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaSourceBuilder,
)
from tests.runtime.support import collect, environment
from tests.servers.kafka.broker import KafkaBroker

NO_WATERMARKS = WatermarkStrategy.no_watermarks()


def reading(broker: KafkaBroker, *topics: str, **properties: str) -> KafkaSourceBuilder:
    """Text from the earliest record on; ``properties``: with ``_`` for ``.``."""
    builder = KafkaSource.builder().set_bootstrap_servers(broker.address)
    if topics:
        builder.set_topics(*topics)
    for name, value in properties.items():
        builder.set_property(name.replace("_", "."), value)
    return builder.set_value_only_deserializer(SimpleStringSchema())


def bounded(broker: KafkaBroker, *topics: str, **properties: str) -> KafkaSource:
    return reading(broker, *topics, **properties).set_bounded(KafkaOffsetsInitializer.latest()).build()


def read_all(source: KafkaSource, parallelism: int = 1, **options: Any) -> list[Any]:
    env = environment(parallelism, **options)
    return collect(env.from_source(source, NO_WATERMARKS, "kafka"))


@contextmanager
def running(env: StreamExecutionEnvironment, name: str = "job") -> Iterator[JobClient]:
    """The program's job, which is cancelled in the end."""
    client = env.execute_async(name)
    try:
        yield client
    finally:
        client.cancel().result()


def writing(
    broker: KafkaBroker,
    topic: str,
    guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
    prefix: str | None = None,
    **properties: str,
) -> KafkaSink:
    """Text into one topic."""
    serializer = KafkaRecordSerializationSchema.builder().set_topic(topic)
    serializer.set_value_serialization_schema(SimpleStringSchema())
    builder = KafkaSink.builder().set_bootstrap_servers(broker.address)
    builder.set_record_serializer(serializer.build()).set_delivery_guarantee(guarantee)
    if prefix is not None:
        builder.set_transactional_id_prefix(prefix)
    for name, value in properties.items():
        builder.set_property(name.replace("_", "."), value)
    return builder.build()
