"""An exception of the user's code ends the job at once, as it is, with the place it happened at."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from firesteel.common import Types
from firesteel.common.errors import JobExecutionError
from firesteel.common.job_status import JobStatus
from firesteel.datastream import KeyedProcessFunction, MapFunction, RuntimeContext
from firesteel.program.execution import get_executor
from tests.spark.conftest import MakeEnvironment
from tests.waiting import patience

pytestmark = pytest.mark.spark


class DivideByZero(MapFunction):
    """Fails on ``bad`` and notes each call with it."""

    def __init__(self, bad: int, calls: Path) -> None:
        self.bad = bad
        self.calls = calls

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: int) -> int:
        if value == self.bad:
            with self.calls.open("a") as file:
                file.write(f"{self.subtask}\n")
        return 1000 // (value - self.bad)


def test_an_exception_in_a_map(environment: MakeEnvironment, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    env = environment(2, epoch_records=100)
    # A sequence has a split for each subtask: 750 is read by the second.
    env.from_sequence(0, 999).map(DivideByZero(750, calls), Types.LONG()).name("ratio").uid(
        "ratio-uid"
    ).print()
    job = get_executor().submit(env, env._take_program(), "divides").job
    assert job.wait(patience(60))

    assert list(job.view.statuses) == [
        JobStatus.INITIALIZING,
        JobStatus.CREATED,
        JobStatus.RUNNING,
        JobStatus.FAILING,
        JobStatus.FAILED,
    ]
    assert calls.read_text() == "1\n", "the record was processed once: nothing was tried again"
    error = job.error
    assert isinstance(error, JobExecutionError)
    assert (error.operator, error.uid, error.subtask) == ("ratio", "ratio-uid", 1)
    cause = error.__cause__
    assert type(cause) is ZeroDivisionError
    note = "\n".join(cause.__notes__)
    assert "in map" in note
    assert "1000 // (value - self.bad)" in note, "the user's own line"
    shown = "".join(traceback.format_exception(error))
    assert "py4j" not in shown
    assert "Py4JJavaError" not in shown
    assert "at org.apache.spark" not in shown


def test_the_exception_comes_out_of_execute(environment: MakeEnvironment) -> None:
    env = environment(2)
    env.from_collection([3, 2, 1, 0]).map(lambda v: 6 // v).name("six").print()
    with pytest.raises(JobExecutionError, match="ZeroDivisionError") as failed:
        env.execute("six")
    assert failed.value.operator == "six"
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


class FailsInTimer(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        raise LookupError(f"timer {timestamp} of {ctx.get_current_key()}")


def test_an_exception_in_a_timer(environment: MakeEnvironment) -> None:
    env = environment(2)
    env.from_collection([5], Types.LONG()).key_by(lambda v: "k").process(FailsInTimer()).uid("timers").print()
    with pytest.raises(JobExecutionError, match="timer 5 of k") as failed:
        env.execute()
    assert failed.value.uid == "timers"
    assert isinstance(failed.value.__cause__, LookupError)


def test_the_session_serves_the_next_job(environment: MakeEnvironment) -> None:
    env = environment(2)
    env.from_collection([0]).map(lambda v: 1 // v).print()
    with pytest.raises(JobExecutionError):
        env.execute()
    assert list(env.from_collection([1]).map(lambda v: 1 // v).execute_and_collect()) == [1]
