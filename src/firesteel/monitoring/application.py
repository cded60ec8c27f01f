"""Reporters of the jobs of one program, in its process."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Sequence

from firesteel.common.configuration import Configuration
from firesteel.common.logs import logger
from firesteel.common.options import metrics
from firesteel.jobmanager.executor import Executor
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.job_view import JobView
from firesteel.metrics.machines import Machines
from firesteel.monitoring.service import Reporting

log = logger(__name__)

_lock = threading.Lock()


class _Jobs:
    """The jobs of an executor, from now on, until they have ended."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._jobs: dict[str, JobGateway] = {}
        executor.jobs.watch(self._started)

    def _started(self, job: JobGateway) -> None:
        ended = [id for id, known in list(self._jobs.items()) if known.view.ended_ms is not None]
        for id in ended:
            del self._jobs[id]
        self._jobs[str(job.job_id)] = job

    def jobs(self) -> Sequence[JobView]:
        return [job.view for job in list(self._jobs.values())]

    def machines(self) -> Machines:
        machines: Machines = self._executor.platform.machines()
        return machines

    def close(self) -> None:
        self._executor.jobs.unwatch(self._started)


_reporting: dict[Executor, tuple[dict[str, str], _Jobs, Reporting]] = {}


def report(executor: Executor, configuration: Configuration) -> Reporting:
    """Report the metrics of the jobs of an executor until the program ends, or the executor is closed.

    :raises ConfigurationError: a reporter cannot be made.
    """
    with _lock:
        wanted = {k: v for k, v in configuration.to_dict().items() if k.startswith(metrics.REPORTER.key)}
        known = _reporting.get(executor)
        if known is None:
            jobs = _Jobs(executor)
            try:
                reporting = Reporting(jobs, configuration)
            except BaseException:
                jobs.close()
                raise
            known = _reporting[executor] = (wanted, jobs, reporting)
            executor.on_close.append(lambda: stop(executor))
            atexit.register(stop, executor)
        elif wanted and known[0] != wanted:
            log.warning("other metric reporters have no effect: those of the first job of the program count")
        return known[2]


def stop(executor: Executor) -> None:
    """Report no longer. Nothing happens if nobody does."""
    with _lock:
        found = _reporting.pop(executor, None)
    if found is not None:
        found[2].close()
        found[1].close()
