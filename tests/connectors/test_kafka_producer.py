"""The settings with which sinks make their Kafka producers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from firesteel.common import SimpleStringSchema, Types
from firesteel.connectors.kafka.sink import Guarantee, KafkaTopicSink
from firesteel.connectors.kafka.transactions import Prefix, SubtaskCommit
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from firesteel.program.functions.legacy_connectors import unwrap_sink
from firesteel.program.sinks import WriterContext


class Made(Exception):
    """A producer has been made; nothing is sent."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The settings of each producer, which the real client has taken."""
    found: list[dict[str, Any]] = []
    client: Any = confluent_kafka.Producer

    def producer(settings: dict[str, Any]) -> Any:
        client(dict(settings))
        found.append(settings)
        raise Made

    monkeypatch.setattr(confluent_kafka, "Producer", producer)
    return found


def sink(guarantee: DeliveryGuarantee, **properties: str) -> KafkaTopicSink:
    serializer = KafkaRecordSerializationSchema.builder().set_topic("out")
    serializer.set_value_serialization_schema(SimpleStringSchema())
    builder = (
        KafkaSink.builder().set_bootstrap_servers("127.0.0.1:1").set_record_serializer(serializer.build())
    )
    for name, value in properties.items():
        builder.set_property(name.replace("_", "."), value)
    builder.set_delivery_guarantee(guarantee).set_transactional_id_prefix("prefix")
    built = unwrap_sink(builder.build(), Types.STRING())
    assert isinstance(built, KafkaTopicSink)
    return built


def write(made: list[dict[str, Any]], to: KafkaTopicSink, directory: Path) -> dict[str, Any]:
    """Begin to write as a task does; the settings of the producer that it makes."""
    with pytest.raises(Made):
        _write(to, directory)
    (settings,) = made
    return settings


def _write(to: KafkaTopicSink, directory: Path) -> None:
    if to.guarantee is Guarantee.EXACTLY_ONCE:  # what its writers stage is written by the tasks of a commit
        assert to.transactional_id_prefix is not None
        SubtaskCommit(Prefix(to.properties, to.transactional_id_prefix, "out"), 1, 1)(0, [])
    else:
        to.create_writer(WriterContext(0, 1, "attempt", str(directory)))


@pytest.mark.parametrize("guarantee", list(DeliveryGuarantee))
@pytest.mark.row("S-SINK-12")
def test_producers_are_idempotent(
    made: list[dict[str, Any]], tmp_path: Path, guarantee: DeliveryGuarantee
) -> None:
    """So a broker drops a message that a client has sent again."""
    settings = write(made, sink(guarantee), tmp_path)
    assert settings["enable.idempotence"] is True
    assert ("transactional.id" in settings) is (guarantee is DeliveryGuarantee.EXACTLY_ONCE)


@pytest.mark.row("S-SINK-12")
def test_a_producer_that_does_not_wait_for_all_replicas_cannot_be_idempotent(
    made: list[dict[str, Any]], tmp_path: Path
) -> None:
    """The client would refuse both together."""
    settings = write(made, sink(DeliveryGuarantee.AT_LEAST_ONCE, acks="1"), tmp_path)
    assert settings["acks"] == "1"
    assert "enable.idempotence" not in settings
