"""Counts the records of each key in windows of a second of event time: Kafka to Kafka, exactly once.

Arguments: the brokers, the topic that is read, its partitions, where each stops, the topic that is written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from firesteel.common import Duration, SimpleStringSchema, Types, WatermarkStrategy
from firesteel.connectors import _subtask_commits
from firesteel.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from firesteel.datastream.window import TumblingEventTimeWindows


class Line(ProcessWindowFunction):
    def process(
        self, key: str, context: ProcessWindowFunction.Context, elements: Iterable[str]
    ) -> Iterator[str]:
        numbers = [int(text.split()[1]) for text in elements]
        yield f"{key} {context.window().start} {len(numbers)} {sum(numbers)}"


def run(
    env: StreamExecutionEnvironment, brokers: str, topic: str, partitions: int, stop: int, target: str
) -> None:
    stops = {KafkaTopicPartition(topic, n): stop for n in range(partitions)}
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(brokers)
        .set_topics(topic)
        .set_group_id(f"group-of-{topic}")
        .set_value_only_deserializer(SimpleStringSchema())
        .set_bounded(KafkaOffsetsInitializer.offsets(stops))
        .build()
    )
    serializer = KafkaRecordSerializationSchema.builder().set_topic(target)
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(brokers)
        .set_record_serializer(serializer.set_value_serialization_schema(SimpleStringSchema()).build())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"windows-of-{topic}")
        .build()
    )
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1))
    lines = env.from_source(source, in_order, "kafka").key_by(lambda text: text.split()[0], Types.STRING())
    windows = lines.window(TumblingEventTimeWindows.of(Duration.of_seconds(1)))
    windows.process(Line(), Types.STRING()).sink_to(sink)
    env.execute("windows")


if __name__ == "__main__":
    _subtask_commits.SMALL_BYTES = 0  # what is written is little, and is to be written by tasks all the same
    environment = StreamExecutionEnvironment.get_execution_environment()
    run(environment, sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
