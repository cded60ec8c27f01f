"""The broker of these tests is one: it keeps what it has acknowledged when it is killed."""

from __future__ import annotations

from tests.servers.kafka.broker import KafkaBroker


def test_a_killed_broker_comes_back_with_its_records(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic(2)
    kafka_broker.produce(topic, ["a", "b"])
    kafka_broker.produce(topic, ["c"], 1)
    kafka_broker.kill()
    kafka_broker.start()
    assert kafka_broker.values(topic) == ["a", "b", "c"]
    assert kafka_broker.end_offsets(topic) == [2, 1]
