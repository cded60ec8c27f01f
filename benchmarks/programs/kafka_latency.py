"""Kafka to Kafka without end: how often a key has come, kept as value state; a checkpoint every 10 s.

One text for two engines, as ``keyed_count.py``. Reads the topic ``latency-in``, writes ``latency-out``. A
record is ``[key, instant]``, a result ``[key, count, instant]``; who ends the program measures.
"""

import argparse
import json

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.common.serialization import SimpleStringSchema
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.state import ValueStateDescriptor

RECORD = Types.TUPLE([Types.LONG(), Types.DOUBLE()])


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield json.dumps([value[0], count, value[1]])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--jars", default="", help="of Flink's connector, with commas between them")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    configuration = Configuration()
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)
    env.enable_checkpointing(10_000)
    if options.jars:
        env.add_jars(*(f"file://{path}" for path in options.jars.split(",")))
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.brokers)
        .set_topics("latency-in")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic("latency-out")
        .set_value_serialization_schema(SimpleStringSchema())
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
    parsed = stream.map(lambda text: tuple(json.loads(text)), output_type=RECORD)
    keyed = parsed.key_by(lambda record: record[0], key_type=Types.LONG())
    keyed.process(Count(), Types.STRING()).sink_to(sink)
    env.execute("latency")


if __name__ == "__main__":
    main()
