"""What other threads have of a running job: its views, and its mailbox. Nobody outside has the JobMaster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from firesteel.common.interrupts import interruptible
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.committed import CommittedCut
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.published import Published
from firesteel.jobmanager.requests import (
    AccumulatorsRequest,
    CancelRequest,
    CheckpointRequest,
    JobOutcome,
    Mailbox,
    RescaleRequest,
    SavepointRequest,
    StateRequest,
)
from firesteel.jobmanager.rescale_view import Bounds, RescaleReport

T = TypeVar("T")

_GRACE_S: Final = 2.0  # how long an epoch may still run when its job is cancelled


class JobGateway:
    """Safe for any number of threads; no method waits for the job but ``cancel`` and ``wait``.

    :param interrupt: ends the epoch that is running.
    """

    def __init__(
        self, job_id: JobID, published: Published, mailbox: Mailbox, interrupt: Callable[[], None]
    ) -> None:
        self.job_id = job_id
        self._published = published
        self._mailbox = mailbox
        self._interrupt = interrupt

    @property
    def view(self) -> JobView:
        """The newest view."""
        return self._published.view

    @property
    def status(self) -> JobStatus:
        return self._published.status

    @property
    def outcome(self) -> JobOutcome | None:
        """How the job has ended; None while it has not."""
        return self._mailbox.outcome

    @property
    def error(self) -> BaseException | None:
        """What the job has failed with; None while it runs, and when it did not fail."""
        outcome = self._mailbox.outcome
        return None if outcome is None else outcome.error

    @interruptible()
    def cancel(self) -> Future[None]:
        """Ask the job to stop where it is; the epoch under way does not count. The answer comes when it has
        ended.

        Waits a moment for the epoch to end on its own, because tasks that are killed make a noise.
        """
        request = CancelRequest()
        self._mailbox.put(request)
        if not self._mailbox.wait(_GRACE_S):
            self._interrupt()
        return request.result

    def savepoint(self, request: SavepointRequest) -> Future[str]:
        """Ask for a savepoint; it is taken between two epochs."""
        self._mailbox.put(request)
        return request.result

    def checkpoint(self) -> Future[int]:
        """Ask for a checkpoint; the answer is its id."""
        request = CheckpointRequest()
        self._mailbox.put(request)
        return request.result

    def rescale(self, wanted: int | Mapping[str, Bounds]) -> Future[RescaleReport]:
        """Ask for another parallelism, of all vertices or between bounds by vertex id. The answer comes when
        the first epoch with it is committed."""
        request = RescaleRequest(wanted)
        self._mailbox.put(request)
        return request.result

    def accumulators(self) -> Future[dict[str, Any]]:
        """Ask for the values of the accumulators and metrics by name."""
        request = AccumulatorsRequest()
        self._mailbox.put(request)
        return request.result

    def look(self, look: Callable[[CommittedCut], T]) -> Future[T]:
        """Ask for what a function finds in the state as of the last committed epoch. The job goes on
        meanwhile."""
        request = StateRequest(look)
        self._mailbox.put(request)
        return request.result

    @interruptible()
    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the job has ended; False when it has not in time."""
        return self._mailbox.wait(timeout_s)
