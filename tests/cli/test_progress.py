"""What the command line says of jobs that run: read from their views."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.cli import _progress
from tests.jobmanager.checkpoint_support import submit
from tests.runtime.support import environment, local_platform
from tests.waiting import patience


def test_a_job_that_starts_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    with local_platform():
        env = environment(1)
        env.from_collection([1]).map(lambda v: v)
        job = submit(env, "orders")
        assert job.wait(patience(30))
    _progress._announce(job.view, Path("/logs/spark.log"))
    said = capsys.readouterr().err
    assert said == f"Job 'orders' has been submitted with JobID {job.job_id}; Spark's log: /logs/spark.log\n"


def test_the_progress_of_a_job_in_a_line() -> None:
    with local_platform():
        env = environment(1, epoch_records=1000)
        env.from_collection(range(2000)).map(lambda v: v)
        job = submit(env, "orders")
        assert job.wait(patience(30))
    line = _progress._line(job.view)
    assert line.startswith(f"orders: FINISHED, epoch {job.view.epoch}, 2,000 records read, ")
    assert line.endswith("/s")
