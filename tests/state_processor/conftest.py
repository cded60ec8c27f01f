"""One Spark session for all tests of this package; the jobs themselves run in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from firesteel.spark.session import create_session
from firesteel.spark.shutdown import stop_quietly
from firesteel.testing.local_platform import LocalPlatform
from tests.runtime.support import feeds, local_platform


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    local = str(tmp_path_factory.mktemp("spark-local"))
    session = create_session("local[2,4]", "firesteel-tests", {"spark.local.dir": local})
    yield session
    stop_quietly(session)


@pytest.fixture(autouse=True)
def platform() -> Iterator[LocalPlatform]:
    feeds.clear()
    with local_platform() as running:
        yield running


@pytest.fixture(scope="package")
def kept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A savepoint of ``kept`` with every kind of state."""
    from tests.jobmanager.programs.kept import half_way

    with local_platform():
        path, _ = half_way(tmp_path_factory.mktemp("kept"))
    return path


@pytest.fixture
def target(tmp_path: Path) -> str:
    """Where a test writes a savepoint."""
    return str(tmp_path / "written")
