"""The states of a job (Flink: ``JobStatus``)."""

from __future__ import annotations

from enum import Enum

__all__ = ["JobStatus"]


class JobStatus(Enum):
    """Where a job is in its life.

    ``INITIALIZING`` is not among PyFlink's members, but is in Flink and in its REST API.
    """

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9
    INITIALIZING = 10

    def is_globally_terminal_state(self) -> bool:
        """The job is over for good: nobody will restart or recover it."""
        return self in _GLOBALLY_TERMINAL

    def is_terminal_state(self) -> bool:
        """The job is over for this job manager. SUSPENDED is: another one may recover the job."""
        return self is JobStatus.SUSPENDED or self in _GLOBALLY_TERMINAL


_GLOBALLY_TERMINAL = frozenset({JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED})
