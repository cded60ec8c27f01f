"""The handle of a job that runs in a thread of this process."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from typing import Any

from firesteel.common.completable_future import CompletableFuture
from firesteel.common.errors import FiresteelError, JobCancelledError, JobExecutionError
from firesteel.common.interrupts import interruptible
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.requests import JobOutcome, SavepointRequest, refusal, values_of
from firesteel.runtime.error_report import summary_of


class FinishedJobHandle:
    """A job that had finished before. Implements ``firesteel.common.job_client.JobHandle``."""

    def __init__(self, result: JobExecutionResult) -> None:
        self._result = result

    @property
    def job_id(self) -> JobID:
        return self._result.get_job_id()

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.completed(JobStatus.FINISHED)

    def cancel(self) -> CompletableFuture[None]:
        return CompletableFuture.completed(None)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> CompletableFuture[str]:
        return self._refused()

    def trigger_savepoint(self, savepoint_directory: str | None) -> CompletableFuture[str]:
        return self._refused()

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        return CompletableFuture.completed(self._result.get_all_accumulator_results())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return CompletableFuture.completed(self._result)

    def _refused(self) -> CompletableFuture[str]:
        refused: Future[str] = Future()
        refused.set_exception(refusal("savepoint", self.job_id, "it has ended"))
        return CompletableFuture(refused)


class LocalJobHandle:
    """Implements ``firesteel.common.job_client.JobHandle``.

    :ivar job: what the threads of this process have of the job.
    """

    def __init__(self, job: JobGateway) -> None:
        self.job = job
        self._result: Future[JobExecutionResult] = Future()

    @property
    def job_id(self) -> JobID:
        return self.job.job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.completed(self.job.status)

    def cancel(self) -> CompletableFuture[None]:
        done: Future[None] = Future()

        def cancel() -> None:
            done.set_result(self.job.cancel().result())

        threading.Thread(target=cancel, daemon=True, name="firesteel-cancel").start()
        return CompletableFuture(done)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> CompletableFuture[str]:
        request = SavepointRequest(savepoint_directory, stop=True, drain=advance_to_end_of_event_time)
        return CompletableFuture(self.job.savepoint(request))

    def trigger_savepoint(self, savepoint_directory: str | None) -> CompletableFuture[str]:
        return CompletableFuture(self.job.savepoint(SavepointRequest(savepoint_directory)))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        return CompletableFuture(self.job.accumulators())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return CompletableFuture(self._result)

    @interruptible()
    def result(self) -> JobExecutionResult:
        """Wait for the end of the job; raise what it failed with."""
        while not wait((self._result,), 0.5).done:  # in pieces, so that Ctrl-C is seen
            continue
        return self._result.result()

    def job_ended(self, outcome: JobOutcome) -> None:
        """The job's thread has come to its end."""
        try:
            self._result.set_result(result_of_outcome(outcome))
        except Exception as e:  # of a user's accumulator, too
            self._result.set_exception(e)


def result_of_outcome(outcome: JobOutcome) -> JobExecutionResult:
    """What ``execute()`` returns for a job that has ended so, or raises."""
    job_id, error = outcome.job_id, outcome.error
    if outcome.status is JobStatus.FINISHED:
        return JobExecutionResult(job_id, outcome.runtime_ms, values_of(outcome.accumulators))
    if isinstance(error, JobExecutionError):
        raise error
    if error is not None:
        what = str(error) if isinstance(error, FiresteelError) else summary_of(error)
        raise JobExecutionError(f"Job {job_id} failed: {what}", job_id=str(job_id)) from error
    raise JobCancelledError(f"Job {job_id} was cancelled", job_id=str(job_id))
