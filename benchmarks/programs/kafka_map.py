"""Kafka to Kafka: parse JSON, apply a function to each record, write JSON; at least once.

One text for two engines, as ``keyed_count.py``. Reads the topic ``in-<size>-<records>``.
"""

import argparse
import json
import sys
import time

from pyflink.common import Configuration, Row, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema

RECORD = Types.ROW_NAMED(
    ["id", "name", "value", "pad"], [Types.LONG(), Types.STRING(), Types.LONG(), Types.STRING()]
)


def change(row):
    return Row(row[0], row[1].upper(), row[2] * 2 + 1, row[3])


def run(records, options):
    configuration = Configuration()
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)
    if options.jars:
        env.add_jars(*(f"file://{path}" for path in options.jars.split(",")))
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.brokers)
        .set_topics(f"in-{options.size}-{records}")
        .set_value_only_deserializer(JsonRowDeserializationSchema.builder().type_info(RECORD).build())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .build()
    )
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(f"out-{options.size}-{records}")
        .set_value_serialization_schema(JsonRowSerializationSchema.builder().with_type_info(RECORD).build())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(options.brokers)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .build()
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    stream.map(change, output_type=RECORD).sink_to(sink)
    started = time.perf_counter()
    env.execute("kafka map")
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--records",
        type=int,
        nargs="*",
        default=[10_000],
        help="of each job; none: as stdin has them",
    )
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--size", type=int, default=100, help="bytes of a record")
    parser.add_argument("--jars", default="", help="of Flink's connector, with commas between them")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for records in options.records or map(int, sys.stdin):
        seconds = run(records, options)
        print(json.dumps({"records": records, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
