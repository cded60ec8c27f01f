"""One Spark session that can run jobs in real time, for all tests of this package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pytest
from pyspark.sql import SparkSession

from firesteel.common.configuration import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.spark.session import create_session
from firesteel.spark.shutdown import stop_quietly

SLOTS = 16


@pytest.fixture(scope="package")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    directory = str(tmp_path_factory.mktemp("spark-local"))
    session = create_session(f"local[{SLOTS},4]", "real-time", {"spark.local.dir": directory})
    yield session
    stop_quietly(session)


class MakeEnvironment(Protocol):
    def __call__(self, parallelism: int = 2, **options: str) -> StreamExecutionEnvironment: ...


@pytest.fixture
def environment(spark_session: SparkSession) -> MakeEnvironment:
    """Environments on the shared session, in real-time mode; ``options``: keys with ``_`` for ``.``."""

    def make(parallelism: int = 2, **options: str) -> StreamExecutionEnvironment:
        configuration = Configuration()
        given = {"execution.mode": "real-time", "firesteel.real-time.epoch": "200 ms"}
        for key, value in (given | {key.replace("_", "."): v for key, v in options.items()}).items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark_session)
        env.set_parallelism(parallelism)
        return env

    return make
