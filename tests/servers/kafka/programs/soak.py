"""Counts and adds up the values of each key in windows of ten seconds of event time: JSON from Kafka to lines
in Kafka, exactly once. Arguments: the brokers, the topic that is read, the topic that is written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator

from firesteel.common import Duration, SimpleStringSchema, Types, WatermarkStrategy
from firesteel.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from firesteel.datastream.window import TumblingEventTimeWindows

DISORDER_S = 60  # a new partition is found later than its first records were written


class CountAndSum(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: tuple[str, int], accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value[1]

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Line(ProcessWindowFunction):
    def process(
        self, key: str, context: ProcessWindowFunction.Context, elements: Iterable[tuple[int, int]]
    ) -> Iterator[str]:
        ((count, total),) = elements
        yield f"{key} {context.window().start} {count} {total}"


def parse(text: str) -> tuple[str, int]:
    record = json.loads(text)
    return record["key"], record["id"]


def run(env: StreamExecutionEnvironment, brokers: str, topic: str, target: str) -> None:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(brokers)
        .set_topics(topic)
        .set_group_id(f"group-of-{topic}")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_property("partition.discovery.interval.ms", "5000")
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    serializer = KafkaRecordSerializationSchema.builder().set_topic(target)
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(brokers)
        .set_record_serializer(serializer.set_value_serialization_schema(SimpleStringSchema()).build())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"soak-of-{topic}")
        .build()
    )
    marks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(DISORDER_S))
    pairs = env.from_source(source, marks, "kafka").map(parse, Types.TUPLE([Types.STRING(), Types.LONG()]))
    windows = pairs.key_by(lambda pair: pair[0], Types.STRING()).window(
        TumblingEventTimeWindows.of(Duration.of_seconds(10))
    )
    windows.aggregate(CountAndSum(), Line(), output_type=Types.STRING()).sink_to(sink)
    env.execute("soak")


if __name__ == "__main__":
    run(StreamExecutionEnvironment.get_execution_environment(), *sys.argv[1:4])
