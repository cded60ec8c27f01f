"""One server of each kind for all tests of the package: each test takes an index of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.servers.elasticsearch.server import SearchServer
from tests.servers.fixtures import platform

__all__ = ["index", "opensearch", "platform", "server", "servers"]


@pytest.fixture(scope="package")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, SearchServer]]:
    """They start side by side."""
    kinds = ("elasticsearch", "opensearch")
    running = {kind: SearchServer(kind, tmp_path_factory.mktemp(kind)) for kind in kinds}
    try:
        for one in running.values():
            one.launch()
        yield running
    finally:
        for one in running.values():
            one.stop()


@pytest.fixture(scope="package")
def server(servers: dict[str, SearchServer]) -> SearchServer:
    return servers["elasticsearch"].wait()


@pytest.fixture(scope="package")
def opensearch(servers: dict[str, SearchServer]) -> SearchServer:
    return servers["opensearch"].wait()


@pytest.fixture
def index(request: pytest.FixtureRequest) -> str:
    return re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")
