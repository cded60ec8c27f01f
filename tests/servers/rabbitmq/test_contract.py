"""RabbitMQ keeps the contract of sources and sinks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.serialization import SimpleStringSchema
from firesteel.connectors.rabbitmq.sink import RabbitSink
from firesteel.connectors.rabbitmq.source import RabbitSource, _QueueEnumerator
from firesteel.testing.connectors import SinkContract, SinkPromise, SourceContract
from tests.servers.rabbitmq.broker import RabbitServer


class TestQueueAsSource(SourceContract):
    @pytest.fixture(autouse=True)
    def place(self, server: RabbitServer, request: pytest.FixtureRequest) -> None:
        self.server = server
        self.queue = f"source-{request.node.name}"

    def produce(self, directory: Path, portion: int) -> list[Any]:
        texts = [f"{portion}-{n}" for n in range(25)]
        self.server.publish(self.queue, *texts)
        return texts

    def make_source(self, directory: Path) -> Any:
        return RabbitSource(self.server.settings, self.queue, True, SimpleStringSchema())

    @pytest.fixture(autouse=True)
    def log(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        """The log keeps only what no checkpoint covers: where all ranges are read again, there is none."""
        if "the_same_records_again" in request.node.name:
            monkeypatch.setattr(_QueueEnumerator, "checkpoint_completed", lambda *_: None)


class TestQueueAsSink(SinkContract):
    type_info = Types.STRING()
    promise = SinkPromise.AT_LEAST_ONCE

    @pytest.fixture(autouse=True)
    def place(self, server: RabbitServer, request: pytest.FixtureRequest) -> None:
        self.server = server
        self.queue = f"sink-{request.node.name}"
        self.seen: list[Any] = []

    def make_sink(self, directory: Path) -> Any:
        return RabbitSink(self.server.settings, self.queue, SimpleStringSchema())

    def read(self, directory: Path) -> list[Any]:
        self.seen += self.server.drain(self.queue)
        return self.seen
