"""One HDFS for all tests of the package: each test takes a directory of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from firesteel.storage import filesystems
from tests.servers.hadoop.cluster import Hadoop


@pytest.fixture(scope="package")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    running = Hadoop(tmp_path_factory.mktemp("hadoop"))
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture
def anew() -> Iterator[None]:
    """The test opens its file systems itself, and leaves none of them behind."""
    filesystems._arrow_root.cache_clear()
    yield
    filesystems._arrow_root.cache_clear()


@pytest.fixture
def place(hadoop: Hadoop) -> str:
    """The URI of a directory that is not there yet."""
    return hadoop.place()
