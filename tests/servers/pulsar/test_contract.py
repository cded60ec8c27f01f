"""Pulsar keeps the contract of sources and sinks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.serialization import SimpleStringSchema
from firesteel.connectors.pulsar.cursors import At, Cursor
from firesteel.connectors.pulsar.sink import PulsarTopicSink
from firesteel.connectors.pulsar.source import PulsarTopicSource
from firesteel.testing.connectors import SinkContract, SinkPromise, SourceContract
from tests.servers.pulsar.server import PulsarServer


class _FromTopic(SourceContract):
    @pytest.fixture(autouse=True)
    def _topic(self, server: PulsarServer) -> None:
        self.server = server
        self.topic = server.topic(2)

    def produce(self, directory: Path, portion: int) -> list[Any]:
        texts = [f"{portion}-{n}" for n in range(25)]
        self.server.produce(self.topic, texts[:20])
        self.server.produce(f"{self.topic}-partition-1", texts[20:])
        return texts

    def source(self, **options: Any) -> PulsarTopicSource:
        return PulsarTopicSource(
            settings=self.server.settings,
            schema=SimpleStringSchema(),
            subscription="reads",
            topics=(self.topic,),
            **options,
        )


class TestUnboundedSource(_FromTopic):
    def make_source(self, directory: Path) -> Any:
        return self.source()


class TestBoundedSource(_FromTopic):
    def make_source(self, directory: Path) -> Any:
        return self.source(stop=Cursor(At.LATEST), bounded=True)


class TestSink(SinkContract):
    type_info = Types.STRING()
    promise = SinkPromise.AT_LEAST_ONCE

    @pytest.fixture(autouse=True)
    def _topic(self, server: PulsarServer) -> None:
        self.server = server
        self.topic = server.topic(2)

    def make_sink(self, directory: Path) -> Any:
        return PulsarTopicSink(
            settings=self.server.settings, topics=(self.topic,), schema=SimpleStringSchema(), waits=True
        )

    def read(self, directory: Path) -> list[Any]:
        return self.server.values(self.topic)
