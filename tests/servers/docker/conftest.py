"""One engine, and one image of this version, for all tests of the package."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.docker.engine import Docker


@pytest.fixture(scope="package")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docker]:
    running = Docker(tmp_path_factory.mktemp("docker"))
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture(scope="package")
def image(docker: Docker) -> str:
    return docker.build()


@pytest.fixture(scope="package")
def program(docker: Docker, image: str) -> str:
    return docker.build_program(image)
