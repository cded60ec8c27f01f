"""Operations and ended jobs: how long they are known, how often they begin."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.clock import ManualClock
from firesteel.jobmanager.executor import Executor
from firesteel.program.execution import get_executor
from firesteel.rest.answers.statistics import percentile, statistics
from firesteel.rest.errors import RestError
from firesteel.rest.local import LocalCluster
from firesteel.rest.logs import DriverLogs
from firesteel.rest.messages.operations import OperationValue
from firesteel.rest.operations import Operations
from firesteel.testing import MiniCluster
from tests.rest.jobs import word_count


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


async def settled() -> None:
    """Until all that can happen has happened: nothing here waits for time."""
    for _ in range(20):
        await asyncio.sleep(0)


async def gives(value: OperationValue) -> OperationValue:
    await asyncio.sleep(0)
    return value


async def raises() -> OperationValue:
    raise ValueError("no room")


def test_an_operation_is_in_progress_and_then_completed() -> None:
    async def run() -> None:
        operations = Operations()
        begun = []

        def do() -> Any:
            begun.append(1)
            return gives(OperationValue(location="here"))

        trigger = operations.start("savepoint", "j", None, do)
        assert operations.result("savepoint", "j", trigger).status.id == "IN_PROGRESS"
        assert operations.start("savepoint", "j", trigger, do) == trigger
        await settled()
        done = operations.result("savepoint", "j", trigger)
        assert (done.status.id, done.operation) == ("COMPLETED", OperationValue(location="here"))
        assert begun == [1]
        for other in (("checkpoint", "j", trigger), ("savepoint", "k", trigger)):
            with pytest.raises(RestError):
                operations.result(*other)

    asyncio.run(run())


def test_a_failure_is_a_result() -> None:
    async def run() -> None:
        operations = Operations()
        trigger = operations.start("savepoint", "j", None, raises)
        await settled()
        found = operations.result("savepoint", "j", trigger).operation
        assert isinstance(found, OperationValue)
        assert found.failure_cause.name == "ValueError"  # type: ignore[union-attr]

    asyncio.run(run())


def test_results_are_forgotten_after_a_while_and_those_in_progress_are_not() -> None:
    async def run() -> None:
        clock = Clock()
        operations = Operations(300.0, clock)
        open_end = asyncio.get_running_loop().create_future()
        slow = operations.start("savepoint", "j", None, lambda: open_end)
        quick = operations.start("savepoint", "j", None, lambda: gives(OperationValue()))
        await settled()
        clock.now_s = 301.0
        with pytest.raises(RestError, match="300 seconds"):
            operations.result("savepoint", "j", quick)
        assert operations.result("savepoint", "j", slow).status.id == "IN_PROGRESS"
        open_end.set_result(OperationValue())

    asyncio.run(run())


def test_operations_are_bounded() -> None:
    async def run() -> None:
        operations = Operations()
        for _ in range(1_000):
            operations.start("savepoint", "j", None, lambda: gives(OperationValue()))
        with pytest.raises(RestError, match="1000 operations"):
            operations.start("savepoint", "j", None, lambda: gives(OperationValue()))

    asyncio.run(run())


def test_ended_jobs_are_forgotten() -> None:
    with MiniCluster.in_process() as mini:
        executor = get_executor()
        assert isinstance(executor, Executor)
        # Jobs of the cluster's own clock end long before this one's.
        late = LocalCluster(executor, keep_ms=1_000, clock=ManualClock(1 << 50))
        few = LocalCluster(executor, keep=2)
        for name in ("a", "b", "c"):
            word_count(mini, name)
        assert [view.name for view in few.jobs()] == ["c", "b"]
        assert late.jobs() == []
        few.close()
        word_count(mini, "d")
        assert [view.name for view in few.jobs()] == ["c", "b"], "it hears of no more jobs"
        late.close()


def test_the_logs_of_the_driver(tmp_path: Path) -> None:
    from firesteel.common.logs import logger

    spark = tmp_path / "spark-1.log"
    logs = DriverLogs(lambda: spark)
    try:
        logger("firesteel.test").warning("a line with password=hunter2")
        own = logs.read("firesteel.log")
        assert isinstance(own, str)
        assert own.endswith("WARNING firesteel.test - a line with password=******\n")
        assert [log.name for log in logs.all()] == ["firesteel.log"]
        spark.write_text("from Spark\n")
        assert [(log.name, log.size) for log in logs.all()][1] == ("spark-1.log", 11)
        assert logs.read("spark-1.log") == spark
        assert logs.read("../spark-1.log") is None
        assert logs.read(str(spark)) is None
    finally:
        logs.close()


@pytest.mark.parametrize(
    ("values", "percent", "found"),
    [
        ([1], 50, 1),
        ([1, 2, 3], 50, 2),
        ([1, 2, 3, 4], 25, 1.25),
        ([1, 2, 3, 4], 99, 4),
        ([4144, 4215], 90, 4215),
    ],
)
def test_percentiles_as_flink_computes_them(values: list[float], percent: float, found: float) -> None:
    assert percentile(values, percent) == found


def test_statistics_of_a_recorded_vertex() -> None:
    """Two subtasks of a real Flink wrote 214 and 323 records."""
    found = statistics([323, 214])
    assert (found.min, found.max, found.avg, found.sum, found.median) == (214, 323, 268, 537, 268)
    assert (found.p25, found.p75, found.p95) == (214, 323, 323)
