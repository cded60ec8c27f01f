"""The handle of a job that runs in a thread of this process."""

from __future__ import annotations

import copy
import threading
from concurrent.futures import Future
from typing import Any

from firesteel.common.completable_future import CompletableFuture
from firesteel.common.errors import FiresteelError, JobCancelledError, JobExecutionError
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.job_master import JobMaster
from firesteel.jobmanager.requests import SavepointRequest, no_savepoint
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
        refusal: Future[str] = Future()
        refusal.set_exception(no_savepoint(self.job_id, "it has ended"))
        return CompletableFuture(refusal)


class LocalJobHandle:
    """Implements ``firesteel.common.job_client.JobHandle``."""

    def __init__(self, master: JobMaster, thread: threading.Thread) -> None:
        self.master = master
        self._thread = thread
        self._result: Future[JobExecutionResult] = Future()

    @property
    def job_id(self) -> JobID:
        return self.master.job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.completed(self.master.status)

    def cancel(self) -> CompletableFuture[None]:
        done: Future[None] = Future()

        def wait() -> None:
            self.master.cancel()
            self.master.wait()
            done.set_result(None)

        threading.Thread(target=wait, daemon=True, name="firesteel-cancel").start()
        return CompletableFuture(done)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> CompletableFuture[str]:
        request = SavepointRequest(savepoint_directory, stop=True, drain=advance_to_end_of_event_time)
        return CompletableFuture(self.master.savepoint(request))

    def trigger_savepoint(self, savepoint_directory: str | None) -> CompletableFuture[str]:
        return CompletableFuture(self.master.savepoint(SavepointRequest(savepoint_directory)))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        return CompletableFuture.completed(self._accumulators())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return CompletableFuture(self._result)

    def result(self) -> JobExecutionResult:
        """Wait for the end of the job; raise what it failed with."""
        while not self.master.wait(0.5):  # in pieces, so that Ctrl-C is seen
            continue
        return self._outcome()

    def job_ended(self) -> None:
        """The job's thread has come to its end."""
        try:
            self._result.set_result(self._outcome())
        except JobExecutionError as e:
            self._result.set_exception(e)

    def _accumulators(self) -> dict[str, Any]:
        return {n: copy.deepcopy(a.get_local_value()) for n, a in self.master.accumulators.items()}

    def _outcome(self) -> JobExecutionResult:
        master = self.master
        if master.status is JobStatus.FINISHED:
            runtime_ms = (master.ended_ms or 0) - master.started_ms
            return JobExecutionResult(master.job_id, runtime_ms, self._accumulators())
        if isinstance(master.error, JobExecutionError):
            raise master.error
        if master.error is not None:
            error = master.error
            what = str(error) if isinstance(error, FiresteelError) else summary_of(error)
            raise JobExecutionError(
                f"Job {master.job_id} failed: {what}", job_id=str(master.job_id)
            ) from error
        raise JobCancelledError(f"Job {master.job_id} was cancelled", job_id=str(master.job_id))
