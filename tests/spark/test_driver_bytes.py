"""Records travel from task to task: what the driver gets of a job does not grow with them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame

from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import DataStream
from firesteel.datastream.connectors import NumberSequenceSource
from tests.spark.conftest import MakeEnvironment

pytestmark = pytest.mark.spark

RECORD_BYTES = 10_000
RECORDS = 10_500
KEYS = 7
MOST = 1_000_000
PAIR = Types.TUPLE([Types.LONG(), Types.PICKLED_BYTE_ARRAY()])


class Bytes:
    """What has passed so far, by Spark's own figures."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._known = {stage.stageId() for stage in self._stages()}

    def _stages(self) -> Iterator[Any]:
        context: Any = self._session.sparkContext
        context._jsc.sc().listenerBus().waitUntilEmpty()
        nothing, quantiles = (
            context._jvm.java.util.ArrayList(),
            context._gateway.new_array(context._jvm.double, 0),
        )
        stages = context._jsc.sc().statusStore().stageList(nothing, False, False, quantiles, nothing)
        for number in range(stages.size()):
            yield stages.apply(number)

    def since(self) -> tuple[int, int]:
        """Of the stages since this was made: bytes written for a shuffle, and bytes of results that came to
        the driver, with all that comes with them."""
        new = self._new()
        return sum(s.shuffleWriteBytes() for s in new), sum(s.resultSize() for s in new)

    def blocks_since(self) -> tuple[int, int]:
        """Of the same stages: blocks of shuffles that tasks read in their own executor, and those that came
        over the network."""
        new = self._new()
        local = sum(s.shuffleLocalBlocksFetched() for s in new)
        return local, sum(s.shuffleRemoteBlocksFetched() for s in new)

    def _new(self) -> list[Any]:
        return [stage for stage in self._stages() if stage.stageId() not in self._known]


def pairs(environment: MakeEnvironment, records: int) -> DataStream:
    """Records of bytes that no compression makes less of."""
    numbers = NumberSequenceSource(0, records - 1)
    return (
        environment(parallelism=2)
        .from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
        .map(lambda i: (i % KEYS, random.Random(i).randbytes(RECORD_BYTES)), PAIR)
    )


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes that the driver's Python collects, by call."""
    found: list[int] = []
    collect = DataFrame.toArrow

    def counting(frame: DataFrame) -> pa.Table:
        table = collect(frame)
        found.append(table.nbytes)
        return table

    monkeypatch.setattr(DataFrame, "toArrow", counting)
    return found


@pytest.mark.row("S-CTRL-19")
def test_a_shuffle_of_100_mb_leaves_the_driver_below_1_mb(
    environment: MakeEnvironment, spark_session: SparkSession, collected: list[int]
) -> None:
    passed = Bytes(spark_session)
    sizes = (
        pairs(environment, RECORDS)
        .key_by(lambda pair: pair[0], Types.LONG())
        .map(lambda pair: (pair[0], len(pair[1])), Types.TUPLE([Types.LONG(), Types.LONG()]))
        .key_by(lambda pair: pair[0], Types.LONG())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    # Each key's last sum is the one of all its records: they have arrived.
    whole = {key: RECORD_BYTES * len(range(key, RECORDS, KEYS)) for key in range(KEYS)}
    complete = sizes.filter(lambda pair: pair[1] == whole[pair[0]]).execute_and_collect()
    assert dict(complete) == whole
    shuffled, results = passed.since()
    assert shuffled >= 100_000_000
    assert 0 < results < MOST
    assert 0 < sum(collected) < MOST


def test_what_a_driver_does_collect_is_in_these_figures(
    spark_session: SparkSession, collected: list[int]
) -> None:
    passed = Bytes(spark_session)
    assert spark_session.range(2 * MOST // 8).toArrow().num_rows == 2 * MOST // 8
    assert passed.since()[1] > 2 * MOST
    assert sum(collected) >= 2 * MOST


@pytest.mark.row("S-NET-05")
def test_an_exchange_inside_one_executor_does_not_use_the_network(
    environment: MakeEnvironment, spark_session: SparkSession
) -> None:
    passed = Bytes(spark_session)
    records, epochs = 400, 2
    env = environment(parallelism=2, epoch_records=records // epochs // 2, execution_mode="epochs")
    numbers = env.from_source(NumberSequenceSource(1, records), WatermarkStrategy.no_watermarks(), "numbers")
    pairs = numbers.map(lambda n: (n % KEYS, 1), Types.TUPLE([Types.LONG(), Types.LONG()]))
    counts = pairs.key_by(lambda pair: pair[0], Types.LONG()).reduce(lambda a, b: (a[0], a[1] + b[1]))
    found = list(counts.execute_and_collect())
    assert len(found) == records
    assert max(found) == (KEYS - 1, records // KEYS)
    local, remote = passed.blocks_since()
    assert local >= 2 * 2 * epochs, "each task of the second level reads from both of the first"
    assert remote == 0
