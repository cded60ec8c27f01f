"""The state machine of a job (Flink: ``JobStatus`` and its transitions)."""

from __future__ import annotations

import threading
from collections.abc import Callable
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
    """The status of one job with its history; transitions that Flink does not know are refused."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self.history: list[tuple[S, int]] = [(S.INITIALIZING, now_ms())]

    @property
    def status(self) -> S:
        return self.history[-1][0]

    def to(self, status: S) -> None:
        with self._lock:
            current = self.status
            if status not in _LEGAL.get(current, frozenset()):
                raise EngineError(f"A job cannot go from {current.name} to {status.name}")
            self.history.append((status, self._now_ms()))
