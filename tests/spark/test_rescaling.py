"""On Spark: a job changes its parallelism under load, and its tasks report how they spend their time."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.jobmanager.executor import Executor
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.rescale_view import RescaleStatus
from firesteel.program.execution import get_executor
from tests.jobmanager.rescale_support import expected, program
from tests.spark.conftest import MakeEnvironment
from tests.waiting import patience

pytestmark = pytest.mark.spark

RECORDS = 2_600


def job_of(env: StreamExecutionEnvironment) -> Any:
    executor = get_executor()
    assert isinstance(executor, Executor)
    (job,) = executor.running_jobs
    return job


@pytest.mark.row("S-SCHED-06", "S-METR-02", "S-METR-10")
def test_a_job_is_rescaled_under_load(environment: MakeEnvironment) -> None:
    """Broken by hand: ``Reports.take`` that gives nothing."""
    env = environment(2, epoch_records=70)
    env.set_max_parallelism(16)
    results = program(env, RECORDS).execute_and_collect()
    found = [next(results)]
    job = job_of(env)
    for parallelism in (4, 1, 3):
        report = job.rescale(parallelism).result(120)
        assert report.status is RescaleStatus.COMPLETED
        assert 0 < report.pause_ms <= patience(10) * 1000
    found += results
    assert sorted(found) == expected(RECORDS)
    assert (job.view.rescales.changes, job.view.restarts) == (3, 0)
    assert_nothing_ran_in_between(job.view)
    assert_reported(job.view)


def assert_nothing_ran_in_between(view: JobView) -> None:
    """A change of the parallelism is between two epochs, costs no stage of Spark, and reads nothing again."""
    stages = [stage for report in view.reports for stage in report.stages]
    assert stages == list(range(stages[0], stages[-1] + 1))
    assert sum(report.records for report in view.reports) == RECORDS
    assert {report.attempts for report in view.reports} == {1}


def assert_reported(view: JobView) -> None:
    """Every subtask has said how long it was busy, every epoch by which stages it was run."""
    wall_ms = sum(report.elapsed_ms for report in view.reports)
    for vertex in view.vertices:
        for subtask in vertex.subtasks:
            assert 0 < subtask.busy_ms < wall_ms, (vertex.name, subtask)
    assert any(subtask.back_pressured_ms for subtask in view.vertices[0].subtasks), "its epochs were full"
    stages = [report.stages for report in view.reports]
    assert all(len(of_epoch) == 3 and sorted(of_epoch) == list(of_epoch) for of_epoch in stages)
    assert len({stage for of_epoch in stages for stage in of_epoch}) == 3 * len(stages)
    assert view.workers
    assert all(worker.rss_bytes > 10_000_000 and worker.cpu_s > 0 for worker in view.workers)
