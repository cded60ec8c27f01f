"""A handle of one running job (Flink: ``JobClient``)."""

from __future__ import annotations

from typing import Any, Final, Protocol

from firesteel.common.completable_future import CompletableFuture
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus

__all__ = ["JobClient", "JobHandle"]

_STATUS_S: Final = 2.0  # how long a notebook waits for the status of a job


class JobHandle(Protocol):
    """What a job manager offers for one of its jobs. No method waits."""

    @property
    def job_id(self) -> JobID: ...

    def get_job_status(self) -> CompletableFuture[JobStatus]: ...

    def cancel(self) -> CompletableFuture[None]:
        """Completed when the job has reached CANCELED, or another terminal state before that."""

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> CompletableFuture[str]: ...

    def trigger_savepoint(self, savepoint_directory: str | None) -> CompletableFuture[str]: ...

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]: ...

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Fails with ``JobExecutionError`` or ``JobCancelledError`` when the job did not finish."""


class JobClient:
    """Watches and controls one job. Everything that takes time returns a ``CompletableFuture``."""

    def __init__(self, handle: JobHandle) -> None:
        self._handle = handle

    def _repr_html_(self) -> str:
        from firesteel.common import html

        try:
            status = self.get_job_status().result(_STATUS_S).name
        except Exception as error:  # showing raises nothing
            status = f"unknown: {error or type(error).__name__}"
        return html.piece("Job", html.facts(("job id", str(self.get_job_id())), ("status", status)))

    def get_job_id(self) -> JobID:
        return self._handle.job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return self._handle.get_job_status()

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job where it is; nothing more is committed."""
        return self._handle.cancel()

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Let the sources end, write a savepoint, finish the job. The result is the savepoint's path.

        :param advance_to_end_of_event_time: send the last watermark, so that all timers fire; only for a
            job that will not be continued from the savepoint.
        :param savepoint_directory: None: the configured one.
        """
        return self._handle.stop_with_savepoint(advance_to_end_of_event_time, savepoint_directory)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Write a savepoint while the job goes on. The result is its path."""
        return self._handle.trigger_savepoint(savepoint_directory)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Accumulators by name, of a running job as well."""
        return self._handle.get_accumulators()

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Completed when the job has ended; fails when the job failed or was cancelled."""
        return self._handle.get_job_execution_result()
