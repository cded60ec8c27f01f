"""The JVM of Spark's driver is killed while a job runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.support import python, run

pytestmark = pytest.mark.spark

MANNER = "the process was killed by SIGKILL"
SECOND = "result 10 10 22"


def test_a_job_with_checkpoints_goes_on_in_a_new_jvm(tmp_path: Path) -> None:
    done = run(python("lost_jvm.py", tmp_path, "--checkpoints"), tmp_path)
    assert done.lines[1:] == ["result 200 200 6767", SECOND], done.err
    assert done.code == 0
    assert "job is restarted" in done.err
    assert MANNER in done.err
    assert "Traceback" not in done.err


def test_a_job_without_checkpoints_fails_and_the_next_has_a_new_jvm(tmp_path: Path) -> None:
    done = run(python("lost_jvm.py", tmp_path), tmp_path)
    assert done.code == 1
    failed, second = done.lines[1:]
    assert "The JVM of Spark's driver has died" in failed
    assert MANNER in failed
    assert "spark.driver.memory" in failed
    assert second == SECOND
    assert "Traceback" not in done.err


def test_a_session_that_was_handed_in_is_not_replaced(tmp_path: Path) -> None:
    done = run(python("lost_jvm.py", tmp_path, "--checkpoints", "--handed-in"), tmp_path)
    assert done.code == 1
    for failed in done.lines[1:]:  # the second job is told the same at once
        assert "The JVM of Spark's driver has died" in failed
        assert MANNER in failed
        assert "start the program again" in failed
    assert len(done.lines) == 3
    assert "Traceback" not in done.err
