"""One Pulsar for all tests of the package: each test takes topics of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.fixtures import platform
from tests.servers.pulsar.server import PulsarServer

__all__ = ["platform", "server"]


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PulsarServer]:
    running = PulsarServer(tmp_path_factory.mktemp("pulsar")).start()
    yield running
    running.stop()
