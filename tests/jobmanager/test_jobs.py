"""Jobs in threads of this process: what waits for them gets its answer, in the right order."""

from __future__ import annotations

import threading

import pytest

from firesteel.common.errors import JobExecutionError
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.jobs import LocalJobs
from firesteel.jobmanager.published import Published
from firesteel.jobmanager.requests import JobOutcome, Mailbox
from tests.jobmanager.checkpoint_support import submit
from tests.runtime.support import environment
from tests.waiting import patience


def gateway() -> JobGateway:
    env = environment(1)
    env.from_collection([1]).map(lambda v: v)
    done = submit(env)
    assert done.wait(patience(30))
    return JobGateway(JobID(), Published(done.view, ()), Mailbox(), lambda: None)


def test_the_result_comes_when_what_the_job_keeps_is_there() -> None:
    """Broken by hand: the result is given before the last thing that the job's thread does for it."""
    job, jobs = gateway(), LocalJobs()
    kept, looked = threading.Event(), threading.Event()
    order: list[str] = []

    def keep(outcome: JobOutcome) -> None:
        assert kept.wait(patience(30))
        order.append("kept")

    finished = JobOutcome(job.job_id, JobStatus.FINISHED, 5)
    handle = jobs.start(job, lambda: finished, keep, looked.set)
    assert jobs.running == (job,)
    waiting = threading.Thread(target=lambda: order.append(f"{handle.result().get_net_runtime()} ms"))
    waiting.start()
    waiting.join(0.1)
    assert order == []
    kept.set()
    waiting.join(patience(30))
    assert order == ["kept", "5 ms"]
    assert looked.wait(patience(30))
    assert jobs.running == ()
    assert jobs.has_finished(str(job.job_id))


def test_a_mistake_of_the_engine_fails_the_job_and_nobody_waits_for_ever() -> None:
    job, jobs = gateway(), LocalJobs()

    def breaks() -> JobOutcome:
        raise RuntimeError("a mistake")

    handle = jobs.start(job, breaks, lambda outcome: None, lambda: None)
    with pytest.raises(JobExecutionError, match="a mistake"):
        handle.result()
    assert not jobs.has_finished(str(job.job_id))
