"""The functions before KafkaSource and KafkaSink, in a usual program: totals of orders in windows."""

from __future__ import annotations

import pytest

from firesteel.common import SimpleStringSchema, Types, WatermarkStrategy
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.time import Time
from firesteel.datastream.connectors.kafka import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.testing.local_platform import LocalPlatform
from tests.runtime.support import environment
from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.support import running
from tests.waiting import until


def test_orders_to_totals(kafka_broker: KafkaBroker, platform: LocalPlatform) -> None:
    orders, totals = kafka_broker.topic(2), kafka_broker.topic()
    for minute, order in ((100, "ada 10"), (104, "ada 5"), (101, "bob 7"), (106, "ada 1"), (160, "end 0")):
        kafka_broker.produce(orders, [order], timestamp=minute * 60_000)
    properties = {"bootstrap.servers": kafka_broker.address, "group.id": "orders"}
    env = environment(1)
    with pytest.warns(DeprecationWarning, match="Use KafkaSource instead"):
        consumer = FlinkKafkaConsumer(orders, SimpleStringSchema(), properties).set_start_from_earliest()
    enriched = env.add_source(consumer).map(lambda text: (text.split()[0], int(text.split()[1])))
    timed = enriched.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())
    windows = timed.key_by(lambda order: order[0]).window(TumblingEventTimeWindows.of(Time.minutes(5)))
    lines = windows.reduce(lambda a, b: (a[0], a[1] + b[1])).map(str, Types.STRING())
    producer = FlinkKafkaProducer(totals, SimpleStringSchema(), properties)
    lines.add_sink(producer.set_write_timestamp_to_kafka(True))
    with running(env):
        until(lambda: len(kafka_broker.messages(totals)) == 3, "totals do not come")
    assert sorted(kafka_broker.values(totals)) == ["('ada', 1)", "('ada', 15)", "('bob', 7)"]
    assert {m.timestamp()[1] for m in kafka_broker.messages(totals)} == {105 * 60_000 - 1, 110 * 60_000 - 1}


def test_what_is_refused() -> None:
    servers = {"bootstrap.servers": "a:1"}
    producer = FlinkKafkaProducer("t", SimpleStringSchema(), servers, 5, Semantic.EXACTLY_ONCE)
    with pytest.raises(ProgramError, match="transactional id prefix"):
        producer.to_sink(None)
    with pytest.raises(UnsupportedFeatureError, match="logged and forgotten"):
        producer.set_log_failures_only(True)
    with pytest.warns(DeprecationWarning, match="KafkaSource"):
        consumer = FlinkKafkaConsumer(["t"], SimpleStringSchema(), servers)
    with pytest.raises(ProgramError, match=r"group\.id is required"):
        _ = consumer.source
