"""DynamicKafkaSource: streams that move between clusters, which are one broker here under several ids."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import SimpleStringSchema, Types
from firesteel.common.errors import ConfigurationError, ProgramError
from firesteel.datastream.connectors.dynamic_kafka import (
    ClusterMetadata,
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
    KafkaMetadataService,
    KafkaStream,
    SingleClusterTopicMetadataService,
)
from firesteel.datastream.connectors.kafka import KafkaOffsetsInitializer
from firesteel.testing.connectors import SourceContract
from tests.jobmanager.checkpoint_support import DIRECTORY, INTERVAL
from tests.runtime.support import MODE, collect, environment, in_both_modes, note, notes
from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.support import NO_WATERMARKS, running
from tests.waiting import until

LATEST = KafkaOffsetsInitializer.latest()


class Written(KafkaMetadataService):
    """What a file says: stream -> cluster -> topics. A file that is no JSON is a service that fails."""

    def __init__(self, path: Path, address: str, *, dead: Collection[str] = ()) -> None:
        self._path = path
        self._address = address
        self._dead = dead

    def get_all_streams(self) -> Iterable[KafkaStream]:
        streams: dict[str, dict[str, list[str]]] = json.loads(self._path.read_text())
        return [KafkaStream(s, {c: self._cluster(t) for c, t in at.items()}) for s, at in streams.items()]

    def _cluster(self, topics: list[str]) -> ClusterMetadata:
        return ClusterMetadata(topics, {"bootstrap.servers": self._address})

    def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        return {s.stream_id: s for s in self.get_all_streams() if s.stream_id in stream_ids}

    def is_cluster_active(self, kafka_cluster_id: str) -> bool:
        return kafka_cluster_id not in self._dead


def reading(service: KafkaMetadataService, **properties: str) -> DynamicKafkaSourceBuilder:
    builder = DynamicKafkaSource.builder().set_kafka_metadata_service(service)
    for name, value in properties.items():
        builder.set_property(name.replace("_", "-"), value)
    return builder.set_value_only_deserializer(SimpleStringSchema())


class _Reading(SourceContract):
    @pytest.fixture(autouse=True)
    def topic(self, kafka_broker: KafkaBroker) -> None:
        self.broker = kafka_broker
        self.names = [kafka_broker.topic(2), kafka_broker.topic(1), kafka_broker.topic(1)]

    def produce(self, directory: Path, portion: int) -> list[Any]:
        """With portion 1 a stream has another cluster, with portion 2 another stream comes up."""
        first, second, third = self.names
        streams = {"s-one": {"a": [first]}}
        if portion >= 1:
            streams["s-one"]["b"] = [second]
        if portion >= 2:
            streams["s-two"] = {"a": [third]}
        written = directory.parent / "streams"
        beside = written.with_suffix(".new")
        beside.write_text(json.dumps(streams))
        beside.replace(written)
        made = []
        for topic in self.names[: portion + 1]:
            made += [f"{portion}-{topic}-{n}" for n in range(40)]
            self.broker.produce(topic, made[-40:])
        return made

    def service(self, directory: Path) -> Written:
        return Written(directory.parent / "streams", self.broker.address)


class TestBounded(_Reading):
    def make_source(self, directory: Path) -> Any:
        return reading(self.service(directory)).set_stream_ids({"s-one"}).set_bounded(LATEST).build()


class TestUnbounded(_Reading):
    def make_source(self, directory: Path) -> Any:
        builder = reading(self.service(directory), stream_metadata_discovery_interval_ms="10")
        return builder.set_stream_pattern("^s-").build()


def test_streams_of_one_cluster(kafka_broker: KafkaBroker) -> None:
    """Their ids are topics; a pattern need not match a whole one."""
    first, second = kafka_broker.topic(1, "dynamic-first"), kafka_broker.topic(1, "dynamic-second")
    kafka_broker.produce(first, ["1"])
    kafka_broker.produce(second, ["2"])
    service = SingleClusterTopicMetadataService("one", {"bootstrap.servers": kafka_broker.address})

    def read(builder: DynamicKafkaSourceBuilder) -> list[Any]:
        stream = environment(1).from_source(builder.set_bounded(LATEST).build(), NO_WATERMARKS, "dynamic")
        return sorted(collect(stream))

    assert read(reading(service).set_stream_ids({first})) == ["1"]
    assert read(reading(service).set_stream_pattern("amic-")) == ["1", "2"]
    with pytest.raises(ConfigurationError, match="not in the Kafka cluster 'one'"):
        read(reading(service).set_stream_ids({first, "absent"}))


@in_both_modes
def test_a_stream_moves_and_comes_back(kafka_broker: KafkaBroker, tmp_path: Path, mode: str) -> None:
    """What it has left is not read any more; the service may fail once in between."""
    old, new = kafka_broker.topic(), kafka_broker.topic()
    written = tmp_path / "streams"
    written.write_text(json.dumps({"s": {"a": [old]}}))
    service = Written(written, kafka_broker.address)
    builder = reading(service, stream_metadata_discovery_interval_ms="50")
    env = environment(1, **{INTERVAL: "100 ms", DIRECTORY: str(tmp_path / "checkpoints"), MODE: mode})
    stream = env.from_source(builder.set_stream_ids({"s"}).build(), NO_WATERMARKS, "dynamic", Types.STRING())
    moves = f"moves in {mode}"
    stream.map(lambda value: note(moves, value), Types.STRING())

    def seen(*values: str) -> None:
        until(lambda: set(values) <= set(notes[moves]), f"{values} are not all read")

    kafka_broker.produce(old, ["1"])
    with running(env):
        seen("1")
        written.write_text(json.dumps({"s": {"b": [new]}}))
        kafka_broker.produce(new, ["2"])
        seen("1", "2")
        kafka_broker.produce(old, ["3"])
        kafka_broker.produce(new, ["4"])
        seen("1", "2", "4")
        assert "3" not in notes[moves]
        written.write_text(json.dumps({"s": {"a": [old], "b": [new]}}))
        seen("1", "2", "3", "4")


def test_refusals_of_the_builder(tmp_path: Path) -> None:
    service = Written(tmp_path / "absent", "127.0.0.1:1")
    with pytest.raises(ProgramError, match="subscriber is required"):
        reading(service).build()
    with pytest.raises(ProgramError, match="already set"):
        reading(service).set_stream_ids({"s"}).set_stream_pattern("s")
    with pytest.raises(ProgramError, match="Metadata Service is required"):
        DynamicKafkaSource.builder().set_stream_ids({"s"}).build()
    with pytest.raises(ProgramError, match="Not a KafkaMetadataService"):
        DynamicKafkaSource.builder().set_kafka_metadata_service("s")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="Deserialization schema is required"):
        DynamicKafkaSource.builder().set_kafka_metadata_service(service).set_stream_ids({"s"}).build()
    with pytest.raises(ProgramError, match=r"group\.id is required"):
        reading(service).set_stream_ids({"s"}).set_property("enable.auto.commit", "true").build()
    with pytest.raises(ProgramError, match="is a number"):
        reading(service, stream_metadata_discovery_interval_ms="soon").set_stream_ids({"s"}).build()
    with pytest.raises(ProgramError, match="not a valid regular expression"):
        reading(service).set_stream_pattern("(")
