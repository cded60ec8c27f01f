"""One Spark session for all tests of this package that run in the test process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from pyspark.sql import SparkSession

from firesteel.common.clock import Clock
from firesteel.common.configuration import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.spark.session import create_session
from firesteel.spark.shutdown import stop_quietly


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start programs of their own come first: then only one JVM is at work at any time."""
    here = Path(__file__).parent
    ours = [i for i, item in enumerate(items) if here in item.path.parents]
    ordered = sorted(
        (items[i] for i in ours), key=lambda item: "spark_session" in getattr(item, "fixturenames", ())
    )
    for i, item in zip(ours, ordered, strict=True):
        items[i] = item


@pytest.fixture(scope="session")
def spark_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session keeps its shuffle files."""
    return tmp_path_factory.mktemp("spark-local")


@pytest.fixture(scope="package")
def spark_session(spark_dir: Path) -> Iterator[SparkSession]:
    """Ends with the package: tests elsewhere begin sessions of their own."""
    session = create_session("local[2,4]", "firesteel-tests", {"spark.local.dir": str(spark_dir)})
    yield session
    stop_quietly(session)


class MakeEnvironment(Protocol):
    def __call__(
        self,
        parallelism: int = 2,
        *,
        epoch_records: int | None = None,
        clock: Clock | None = None,
        **options: str,
    ) -> StreamExecutionEnvironment: ...


@pytest.fixture
def environment(spark_session: SparkSession) -> MakeEnvironment:
    """Environments on the shared session; ``options``: configuration keys with ``_`` for ``.``."""

    def make(
        parallelism: int = 2,
        *,
        epoch_records: int | None = None,
        clock: Clock | None = None,
        **options: str,
    ) -> StreamExecutionEnvironment:
        configuration = Configuration()
        if epoch_records is not None:
            configuration.set_string("firesteel.epoch.max-records", str(epoch_records))
        for key, value in options.items():
            configuration.set_string(key.replace("_", "."), value)
        env = StreamExecutionEnvironment.get_execution_environment(
            configuration, spark=spark_session, clock=clock
        )
        env.set_parallelism(parallelism)
        return env

    return make
