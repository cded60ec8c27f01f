"""The jobs of this process: each in a thread of its own, known to others by its gateway."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.handle import LocalJobHandle
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.requests import JobOutcome
from firesteel.program.execution import KnownJob

_ENDED_AT_MOST: Final = 100  # that are listed
_CANCEL_S: Final = 10  # how long is waited for each job when all are cancelled


class LocalJobs:
    """Safe for several threads: each dictionary and set is changed in single steps."""

    def __init__(self) -> None:
        self._running: dict[str, LocalJobHandle] = {}
        self._finished: set[str] = set()
        self._ended: deque[KnownJob] = deque(maxlen=_ENDED_AT_MOST)
        self._watchers: list[Callable[[JobGateway], None]] = []

    @property
    def running(self) -> tuple[JobGateway, ...]:
        return tuple(handle.job for handle in list(self._running.values()))

    @property
    def running_ids(self) -> tuple[str, ...]:
        return tuple(self._running)

    def known(self) -> list[KnownJob]:
        """Those that run, and the last that have ended, the youngest first."""
        running = [_known(job.view, job.status) for job in self.running]
        return sorted([*running, *self._ended], key=lambda job: -job.started_ms)

    def handle(self, job_id: str) -> LocalJobHandle | None:
        """Of a job that runs."""
        return self._running.get(job_id)

    def is_running(self, job_id: str) -> bool:
        return job_id in self._running

    def has_finished(self, job_id: str) -> bool:
        """Whether a job of this id has run to its end in this process."""
        return job_id in self._finished

    def watch(self, watcher: Callable[[JobGateway], None]) -> None:
        """Have ``watcher`` told of each job that is started from now on, and of those that run; of one that
        starts at this moment perhaps twice. It is called in the thread that starts the job."""
        self._watchers.append(watcher)
        for job in self.running:
            watcher(job)

    def unwatch(self, watcher: Callable[[JobGateway], None]) -> None:
        self._watchers.remove(watcher)

    def start(
        self,
        job: JobGateway,
        run: Callable[[], JobOutcome],
        before_result: Callable[[JobOutcome], None],
        after_result: Callable[[], None],
    ) -> LocalJobHandle:
        """Run a job in a thread of its own.

        :param run: the whole life of the job.
        :param before_result: called in that thread when the job has ended, before anybody has its result.
        :param after_result: called there last.
        """
        job_id = str(job.job_id)
        handle = LocalJobHandle(job)

        def body() -> None:
            outcome = _outcome_of(run, job)
            try:
                before_result(outcome)
            finally:
                self._running.pop(job_id, None)
                self._ended.append(_known(job.view, outcome.status))
                if outcome.status is JobStatus.FINISHED:
                    self._finished.add(job_id)
                handle.job_ended(outcome)
                after_result()

        self._running[job_id] = handle
        for watcher in list(self._watchers):
            watcher(job)
        threading.Thread(target=body, name=f"firesteel-job-{job_id}", daemon=True).start()
        return handle

    def cancel_all(self) -> None:
        for job in self.running:
            job.cancel()
            job.wait(_CANCEL_S)


def _known(view: JobView, status: JobStatus) -> KnownJob:
    return KnownJob(view.job_id, view.name, status.name, view.started_ms)


def _outcome_of(run: Callable[[], JobOutcome], job: JobGateway) -> JobOutcome:
    try:
        return run()
    except BaseException as e:  # a mistake of ours: nothing may wait for this job for ever
        return JobOutcome(job.job_id, JobStatus.FAILED, 0, error=e)
