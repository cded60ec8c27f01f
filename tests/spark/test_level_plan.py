"""Plans that are filled with other functions for each run."""

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
from firesteel.spark.level_plan import LevelPlans
from firesteel.spark.session import EPOCHS, child_session

SCHEMA = StructType([StructField("target", IntegerType(), False), StructField("value", LongType(), False)])
WIDTHS = (2, 3, 2)
ARROW = pa.schema([pa.field("target", pa.int32(), False), pa.field("value", pa.int64(), False)])


@pytest.fixture
def plans(spark_session: SparkSession) -> LevelPlans:
    return LevelPlans(child_session(spark_session, EPOCHS), SCHEMA, ("value",))


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


def test_each_run_has_its_own_functions_and_rows_in_order(plans: LevelPlans) -> None:
    """Spark skips stages whose rows are there already: those of the run before."""
    for count, more in [(9, 0), (9, 100), (4, 7)]:
        found = plans.run(functions(count, more), WIDTHS).column("value").to_pylist()
        expected = [n + more for n in range(count + 1)]
        assert found == [n for task in (0, 1) for n in expected if n % 2 == task]


def test_a_plan_with_operators_that_are_not_known_is_made_anew(
    plans: LevelPlans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(level_plan, "_OPERATORS", {})
    for count in (2, 1):
        found = plans.run(functions(count, 0), WIDTHS).column("value").to_pylist()
        assert sorted(found) == list(range(count + 1))


def test_a_level_of_one_task_and_no_exchange(spark_session: SparkSession) -> None:
    plans = LevelPlans(child_session(spark_session, EPOCHS), SCHEMA)
    for count in (4, 6):
        assert plans.run([partial(begins, count)], (1,)).column("value").to_pylist() == [
            *range(count, -1, -2)
        ]


def test_after_a_run_that_failed_the_next_one_works(plans: LevelPlans) -> None:
    with pytest.raises(PySparkException, match="on purpose"):
        plans.run([partial(begins, 9), fails, partial(adds, 0, 1)], WIDTHS)
    assert plans.run(functions(3, 0), WIDTHS).column("value").to_pylist() == [0, 2, 1, 3]


def test_a_thread_that_has_no_session_of_its_own(plans: LevelPlans) -> None:
    found: list[int] = []
    thread = threading.Thread(
        target=lambda: found.extend(plans.run(functions(3, 0), WIDTHS).column(1).to_pylist())
    )
    thread.start()
    thread.join()
    assert found == [0, 2, 1, 3]


def test_shapes_in_turn(plans: LevelPlans) -> None:
    for width in (1, 2, 1, 2):
        tasks = [partial(begins, 4), partial(adds, width, 1)]
        assert sorted(plans.run(tasks, (2, width)).column("value").to_pylist()) == [
            n + width for n in range(5)
        ]


def test_many_shapes(plans: LevelPlans, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest is forgotten, and made anew when it comes again."""
    monkeypatch.setattr(level_plan, "_SHAPES", 2)
    for width in (1, 2, 3, 1, 2, 3):
        found = plans.run([partial(begins, 4), partial(adds, 0, 1)], (2, width)).column("value").to_pylist()
        assert sorted(found) == list(range(5))


def test_several_jobs_at_once(plans: LevelPlans) -> None:
    found: dict[int, list[int]] = {}

    def job(number: int) -> None:
        for count in (3, 4):
            table = plans.run(functions(count, 100 * number), WIDTHS)
            found[number] = sorted(table.column("value").to_pylist())

    threads = [threading.Thread(target=job, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [n + 100 * number for n in range(5)] for number in range(4)}


def test_the_rows_of_each_run_are_removed(plans: LevelPlans, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first one too: Spark would keep them for as long as its plan is known."""
    removed: list[int] = []
    remove = level_plan._Copies._remove_rows_of

    def noted(self: Any, exchanges: Iterable[Any]) -> None:
        found = list(exchanges)
        removed.extend(exchange.shuffleId() for exchange in found)
        remove(self, found)

    monkeypatch.setattr(level_plan._Copies, "_remove_rows_of", noted)
    for run, count in enumerate((9, 4, 5), 1):
        plans.run(functions(count, 0), WIDTHS)
        assert len(set(removed)) == 2 * run
