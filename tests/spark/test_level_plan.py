"""A plan that is filled with other functions for each run."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from firesteel.spark import level_plan
from firesteel.spark.level_plan import LevelPlan
from firesteel.spark.session import EPOCHS, child_session

SCHEMA = StructType([StructField("target", IntegerType(), False), StructField("value", LongType(), False)])
ARROW = pa.schema([pa.field("target", pa.int32(), False), pa.field("value", pa.int64(), False)])


@pytest.fixture
def plan(spark_session: SparkSession) -> LevelPlan:
    return LevelPlan(child_session(spark_session, EPOCHS), (2, 3, 2), SCHEMA, ("value",))


def begins(count: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The numbers from the count down to 0, from each task those that are its own."""
    list(batches)
    own = [n for n in range(count, -1, -1) if n % 2 == subtask()]
    yield rows([n % 3 for n in own], own)


def adds(more: int, width: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The numbers as they come, and more."""
    values = [v + more for batch in batches for v in batch.column(1).to_pylist()]
    yield rows([v % width for v in values], values)


def fails(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    list(batches)
    raise ValueError("on purpose")
    yield


def subtask() -> int:
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def rows(targets: list[int], values: list[int]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(targets, pa.int32()), pa.array(values, pa.int64())], schema=ARROW)


def functions(count: int, more: int) -> list[Any]:
    return [partial(begins, count), partial(adds, more, 2), partial(adds, 0, 1)]


def test_each_run_has_its_own_functions_and_rows_in_order(plan: LevelPlan) -> None:
    """Spark skips stages whose rows are there already: those of the run before."""
    for count, more in [(9, 0), (9, 100), (4, 7)]:
        found = plan.run(functions(count, more)).column("value").to_pylist()
        expected = [n + more for n in range(count + 1)]
        assert found == [n for task in (0, 1) for n in expected if n % 2 == task]


def test_a_plan_with_operators_that_are_not_known_is_made_anew(
    plan: LevelPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(level_plan, "_OPERATORS", {})
    for count in (2, 1):
        found = plan.run(functions(count, 0)).column("value").to_pylist()
        assert sorted(found) == list(range(count + 1))


def test_a_level_of_one_task_and_no_exchange(spark_session: SparkSession) -> None:
    plan = LevelPlan(child_session(spark_session, EPOCHS), (1,), SCHEMA)
    assert plan.run([partial(begins, 4)]).column("value").to_pylist() == [4, 2, 0]


def test_after_a_run_that_failed_the_next_one_works(plan: LevelPlan) -> None:
    with pytest.raises(PySparkException, match="on purpose"):
        plan.run([partial(begins, 9), fails, partial(adds, 0, 1)])
    assert plan.run(functions(3, 0)).column("value").to_pylist() == [0, 2, 1, 3]


def test_a_thread_that_has_no_session_of_its_own(plan: LevelPlan) -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.extend(plan.run(functions(3, 0)).column(1).to_pylist()))
    thread.start()
    thread.join()
    assert found == [0, 2, 1, 3]
