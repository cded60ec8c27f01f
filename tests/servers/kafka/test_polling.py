"""Partitions that are polled, and jobs in real time between topics, on a real broker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.errors import ConfigurationError, ConnectorError
from firesteel.common.serialization import SimpleStringSchema
from firesteel.connectors.kafka.offsets import Reset
from firesteel.connectors.kafka.polling import KafkaPolling
from firesteel.connectors.kafka.records import ValueOnly, batch_decoder
from firesteel.connectors.kafka.source import PartitionSplit
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from firesteel.program.sources import Split
from tests.realtime.support import Count
from tests.runtime.support import environment, local_platform
from tests.servers.kafka.broker import KafkaBroker
from tests.waiting import until

REAL_TIME = {"execution.mode": "real-time", "firesteel.real-time.epoch": "100 ms"}


def numbers(count: int, start: int = 0) -> list[str]:
    return [str(n) for n in range(start, start + count)]


def split(topic: str, partition: int, start: int = 0, stop: int | None = None) -> Split:
    return Split(f"{topic}-{partition}", PartitionSplit(topic, partition, start, stop))


@pytest.fixture
def polling(kafka_broker: KafkaBroker) -> Iterator[Callable[..., KafkaPolling]]:
    made: list[KafkaPolling] = []

    def make(reset: Reset = Reset.NONE, **more: str) -> KafkaPolling:
        schema = ValueOnly(SimpleStringSchema())
        schema.open()
        properties = {"bootstrap.servers": kafka_broker.address} | {
            key.replace("_", "."): value for key, value in more.items()
        }
        made.append(KafkaPolling(properties, batch_decoder(schema), reset))
        return made[-1]

    yield make
    for one in made:
        one.close()


def polled(
    reader: KafkaPolling,
    is_enough: Callable[[dict[str, list[Any]], set[str]], bool],
    held: Collection[str] = (),
) -> tuple[dict[str, list[Any]], dict[str, int], set[str]]:
    """Values and positions by split, and the splits that have ended."""
    values: dict[str, list[Any]] = {}
    positions: dict[str, int] = {}
    ended: set[str] = set()

    def has_enough() -> bool:
        if is_enough(values, ended):
            return True
        for name, chunk in reader.poll(100, 50.0, held):
            assert name not in ended
            values.setdefault(name, []).extend(chunk.values)
            positions[name] = chunk.position
            if chunk.end:
                ended.add(name)
        return False

    until(has_enough, lambda: f"{values}", look_s=0)
    return values, positions, ended


def all_of(count: int) -> Callable[[dict[str, list[Any]], set[str]], bool]:
    return lambda values, ended: sum(map(len, values.values())) >= count


def test_partitions_are_read_in_order_and_followed(
    kafka_broker: KafkaBroker, polling: Callable[..., KafkaPolling]
) -> None:
    topic = kafka_broker.topic(2)
    for partition in range(2):
        kafka_broker.produce(topic, numbers(300), partition)
    reader = polling()
    reader.add_splits([(split(topic, 0), None), (split(topic, 1), 100)])
    values, positions, _ = polled(reader, all_of(500))
    assert values == {f"{topic}-0": numbers(300), f"{topic}-1": numbers(200, 100)}
    assert positions == {f"{topic}-0": 300, f"{topic}-1": 300}
    kafka_broker.produce(topic, ["late"], 1)
    assert polled(reader, all_of(1))[0] == {f"{topic}-1": ["late"]}


def test_large_messages_come_in_pieces(
    kafka_broker: KafkaBroker, polling: Callable[..., KafkaPolling]
) -> None:
    """A piece of them is to fit a CPU cache, as in epochs. What was there is handed on all the same."""
    topic = kafka_broker.topic(1)
    kafka_broker.produce(topic, ["x" * 10_000] * 400)
    reader = polling()
    reader.add_splits([(split(topic, 0), None)])
    pieces: list[int] = []
    most = 0

    def all_is_there() -> bool:
        nonlocal most
        found = [len(chunk.values) for _, chunk in reader.poll(200, 50.0, ())]
        most = max(most, sum(found))
        pieces.extend(filter(None, found))
        return sum(pieces) == 400

    until(all_is_there, lambda: f"{pieces}", look_s=0)
    assert most <= 200
    assert max(pieces[1:]) <= 256 * 1024 // 10_000 + 1


def test_a_split_ends_at_its_offset(kafka_broker: KafkaBroker, polling: Callable[..., KafkaPolling]) -> None:
    topic = kafka_broker.topic(3)
    for partition in range(3):
        kafka_broker.produce(topic, numbers(50), partition)
    reader = polling()
    splits = [split(topic, 0, stop=20), split(topic, 1, stop=50), split(topic, 2, start=50, stop=50)]
    reader.add_splits([(one, None) for one in splits])
    values, positions, ended = polled(reader, lambda _, ended: len(ended) == 3)
    assert values == {f"{topic}-0": numbers(20), f"{topic}-1": numbers(50), f"{topic}-2": []}
    assert positions == {f"{topic}-0": 20, f"{topic}-1": 50, f"{topic}-2": 50}
    assert ended == {one.id for one in splits}


def test_a_split_ends_behind_offsets_without_a_message(
    kafka_broker: KafkaBroker, polling: Callable[..., KafkaPolling]
) -> None:
    """The marker of a transaction has an offset, and a transaction that was given up has nothing else."""
    topic = kafka_broker.topic(1)
    kafka_broker.produce_transaction(topic, numbers(3))
    kafka_broker.produce_transaction(topic, numbers(3, 100), commit=False)
    reader = polling()
    reader.add_splits([(split(topic, 0, stop=8), None)])
    values, positions, _ = polled(reader, lambda _, ended: bool(ended))
    assert values == {f"{topic}-0": numbers(3)}
    assert positions == {f"{topic}-0": 8}


def test_a_partition_that_is_held_loses_nothing(
    kafka_broker: KafkaBroker, polling: Callable[..., KafkaPolling]
) -> None:
    topic = kafka_broker.topic(2)
    for partition in range(2):
        kafka_broker.produce(topic, numbers(2_000), partition)
    reader = polling()
    reader.add_splits([(split(topic, 0), None), (split(topic, 1), None)])
    first, second = f"{topic}-0", f"{topic}-1"
    before, _, _ = polled(reader, lambda values, _: len(values.get(first, ())) >= 100)
    during, _, _ = polled(reader, lambda values, _: bool(values), held={first})
    assert during.keys() == {second}
    after, _, _ = polled(
        reader, all_of(4_000 - sum(map(len, before.values())) - sum(map(len, during.values())))
    )
    for name in (first, second):
        assert before.get(name, []) + during.get(name, []) + after.get(name, []) == numbers(2_000)


def test_records_that_are_gone(kafka_broker: KafkaBroker, polling: Callable[..., KafkaPolling]) -> None:
    topic = kafka_broker.topic(1)
    kafka_broker.produce(topic, numbers(10))
    reader = polling(Reset.NONE)
    reader.add_splits([(split(topic, 0, start=90), None)])
    with pytest.raises(ConnectorError, match="ends at offset 10, before 90"):
        polled(reader, all_of(1))


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE])
def test_from_topic_to_topic_in_real_time(kafka_broker: KafkaBroker, guarantee: DeliveryGuarantee) -> None:
    source_topic, target = kafka_broker.topic(2), kafka_broker.topic(1)
    for partition in range(2):
        kafka_broker.produce(source_topic, numbers(500, 500 * partition), partition)
    strings = SimpleStringSchema()
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka_broker.address)
        .set_topics(source_topic)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(strings)
        .build()
    )
    record = (
        KafkaRecordSerializationSchema.builder().set_topic(target).set_value_serialization_schema(strings)
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(kafka_broker.address)
        .set_record_serializer(record.build())
        .set_delivery_guarantee(guarantee)
        .set_transactional_id_prefix("real-time")
        .build()
    )
    with local_platform():
        env = environment(2, **REAL_TIME)
        env.enable_checkpointing(200)
        lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
        counted = lines.key_by(lambda line: int(line) % 7).process(Count())
        counted.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING()).sink_to(sink)
        env.execute()
    found = sorted(message.value().decode() for message in kafka_broker.messages(target))
    sizes = {key: sum(n % 7 == key for n in range(1_000)) for key in range(7)}
    assert found == sorted(f"{key} {i}" for key, size in sizes.items() for i in range(1, size + 1))


def test_credentials_that_are_refused_are_an_error(polling: Callable[..., KafkaPolling]) -> None:
    """The client tries again for ever: nothing would come, and nobody would know why."""
    reader = polling(
        security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN", sasl_username="us", sasl_password="wrong"
    )
    reader.add_splits([(split("any", 0), None)])
    refused: list[ConfigurationError] = []

    def is_refused() -> bool:
        try:
            list(reader.poll(10, 10.0, ()))
        except ConfigurationError as e:
            refused.append(e)
        return bool(refused)

    until(is_refused)
    assert "refuses the connection" in str(refused[0])
    assert "sasl.password" in str(refused[0])
