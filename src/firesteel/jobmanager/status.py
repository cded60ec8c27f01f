"""The state machine of a job (Flink: ``JobStatus`` and its transitions)."""

from __future__ import annotations

from typing import Final

from firesteel.common.errors import EngineError
from firesteel.common.job_status import JobStatus as S

_LEGAL: Final[dict[S, frozenset[S]]] = {
    S.INITIALIZING: frozenset((S.CREATED, S.FAILED, S.CANCELED, S.SUSPENDED)),
    S.CREATED: frozenset((S.RUNNING, S.FAILING, S.CANCELLING, S.SUSPENDED)),
    S.RUNNING: frozenset((S.FAILING, S.CANCELLING, S.FINISHED, S.RESTARTING, S.SUSPENDED)),
    S.RESTARTING: frozenset((S.CREATED, S.RUNNING, S.FAILING, S.CANCELLING, S.SUSPENDED)),
    S.FAILING: frozenset((S.FAILED, S.SUSPENDED)),
    S.CANCELLING: frozenset((S.CANCELED, S.FAILING, S.SUSPENDED)),
    S.RECONCILING: frozenset((S.RUNNING, S.FAILING, S.CANCELLING)),
}


class StatusMachine:
    """The status of one job; transitions that Flink does not know are refused. The job's thread moves it."""

    def __init__(self) -> None:
        self.status = S.INITIALIZING

    def to(self, status: S) -> None:
        """Raises EngineError when a job cannot go there from its present status."""
        if status not in _LEGAL.get(self.status, frozenset()):
            raise EngineError(f"A job cannot go from {self.status.name} to {status.name}")
        self.status = status
