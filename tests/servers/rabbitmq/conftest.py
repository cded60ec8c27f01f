"""One RabbitMQ server for all tests of the package: each test takes queues of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.fixtures import platform
from tests.servers.rabbitmq.broker import RabbitServer

__all__ = ["platform", "queue", "server"]


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitServer]:
    running = RabbitServer(tmp_path_factory.mktemp("rabbitmq")).start()
    yield running
    running.stop()


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> str:
    return request.node.name
