"""What is wrong is said in one error within ten seconds, before the first epoch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import SimpleStringSchema, Types
from firesteel.common.errors import ConfigurationError, ConnectorError, FiresteelError
from firesteel.connectors.kafka import client
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from firesteel.testing.local_platform import LocalPlatform
from tests.places import free_port
from tests.runtime.support import environment
from tests.servers.kafka.broker import PASSWORD, USER, KafkaBroker
from tests.servers.kafka.support import NO_WATERMARKS, bounded, read_all, reading, writing
from tests.waiting import in_time

LIMIT_S = 10.0


@pytest.fixture
def refused(platform: LocalPlatform) -> Callable[[Any], FiresteelError]:
    def run(program: Callable[[], Any]) -> FiresteelError:
        with in_time(LIMIT_S), pytest.raises(FiresteelError) as caught:
            program()
        assert sum(engine.epochs for engine in platform.engines) == 0
        assert caught.value.detail
        assert caught.value.hint
        return caught.value

    return run


def with_sasl(user: str, password: str) -> dict[str, str]:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
    }


def written(sink: Any) -> None:
    env = environment(1)
    env.from_collection(["a"], Types.STRING()).sink_to(sink)
    env.execute()


def test_an_unknown_topic(kafka_broker: KafkaBroker, refused: Any) -> None:
    error = refused(lambda: read_all(bounded(kafka_broker, "no-such-topic")))
    assert isinstance(error, ConfigurationError)
    assert "no-such-topic" in error.detail
    assert error.operator == "Source: kafka"
    error = refused(lambda: written(writing(kafka_broker, "no-such-topic")))
    assert "'no-such-topic'" in error.message


def test_a_broker_that_is_not_there(kafka_broker: KafkaBroker, refused: Any) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    source = reading(kafka_broker, "any").set_bootstrap_servers(nobody).build()
    error = refused(lambda: read_all(source))
    assert isinstance(error, ConnectorError)
    assert nobody in error.message
    assert "refused" in error.detail


def test_wrong_credentials_and_right_ones(kafka_broker: KafkaBroker, refused: Any) -> None:
    topic = kafka_broker.topic()
    kafka_broker.produce(topic, ["a"])

    def source(password: str) -> KafkaSource:
        builder = reading(kafka_broker, topic).set_bootstrap_servers(kafka_broker.sasl_address)
        builder.set_bounded(KafkaOffsetsInitializer.latest())
        return builder.set_properties(with_sasl(USER, password)).build()

    error = refused(lambda: read_all(source("wrong")))
    assert isinstance(error, ConfigurationError)
    assert "refuses the connection" in error.message
    assert "uthentication" in error.detail
    assert read_all(source(PASSWORD)) == ["a"]


def test_a_property_that_nobody_knows(kafka_broker: KafkaBroker, refused: Any) -> None:
    topic = kafka_broker.topic()
    error = refused(lambda: read_all(bounded(kafka_broker, topic, fetch_min_bites="1")))
    assert "fetch.min.bites" in error.detail
    error = refused(lambda: written(writing(kafka_broker, topic, linger_minutes="1")))
    assert "linger.minutes" in error.detail


@pytest.mark.row("S-SINK-10", "S-CFG-23")
def test_a_transaction_that_the_brokers_would_not_wait_for(kafka_broker: KafkaBroker, refused: Any) -> None:
    sink = writing(
        kafka_broker,
        kafka_broker.topic(),
        DeliveryGuarantee.EXACTLY_ONCE,
        "prefix",
        transaction_timeout_ms=str(3_600_000),
    )
    error = refused(lambda: written(sink))
    assert error.message == "transaction.timeout.ms is larger than the brokers allow."
    assert "900000" in error.detail


def test_the_client_is_not_installed(monkeypatch: pytest.MonkeyPatch, refused: Any) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    builder = KafkaSource.builder().set_bootstrap_servers("a:1").set_topics("t")
    builder.set_value_only_deserializer(SimpleStringSchema())
    error = refused(builder.build)
    assert "pip install 'confluent-kafka>=" in error.hint


def test_offsets_that_nobody_committed(kafka_broker: KafkaBroker, refused: Any, tmp_path: Path) -> None:
    topic = kafka_broker.topic()
    builder = reading(kafka_broker, topic, group_id="nobody")
    source = builder.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build()
    env = environment(1)
    env.from_source(source, NO_WATERMARKS, "kafka").print()
    with pytest.raises(FiresteelError, match="no rule for that case"):
        env.execute()


@pytest.mark.row("S-CONN-20")
def test_names_of_javas_properties(kafka_broker: KafkaBroker) -> None:
    """They are translated, have no effect here (said once), or belong to the other side."""
    topic = kafka_broker.topic()
    properties = {
        "fetch.max.wait.ms": "30",
        "max.poll.records": "7",
        "request.timeout.ms": "20000",
        "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
        "ssl.endpoint.identification.algorithm": "",
        "receive.buffer.bytes": "65536",
        "acks": "1",
    }
    builder = reading(kafka_broker, topic).set_properties(properties)
    assert read_all(builder.set_bounded(KafkaOffsetsInitializer.latest()).build()) == []
    sink = writing(
        kafka_broker, topic, buffer_memory="33554432", acks="1", max_request_size="2000000", group_id="g"
    )
    written(sink)
    assert kafka_broker.values(topic) == ["a"]
    assert client.PATIENCE_S < LIMIT_S
