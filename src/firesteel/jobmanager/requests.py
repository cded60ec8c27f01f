"""What other threads ask of a job, and the mailbox that it goes to.

The job's own thread does it between two epochs: one request after the other, in the order in which they came.
Each gets exactly one answer, also when the job ends at that moment.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from firesteel.common.errors import JobExecutionError
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.committed import CommittedCut
from firesteel.jobmanager.rescale_view import Bounds, RescaleReport

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job has ended. ``error``: None unless it failed, or was handed over to another driver.

    :param accumulators: the accumulators by name; nobody changes them any more.
    """

    job_id: JobID
    status: JobStatus
    runtime_ms: int
    accumulators: Mapping[str, Any] = field(default_factory=dict)
    error: BaseException | None = None


@dataclass(slots=True)
class Request(Generic[T]):
    """Something asked of a job. ``result``: the answer.

    :cvar is_told: whether the journal of the job says so.
    """

    is_told: ClassVar[bool] = True
    result: Future[T] = field(default_factory=Future, kw_only=True)

    @property
    def name(self) -> str:
        """What it asks for, for the journal."""
        return type(self).__name__.removesuffix("Request").lower()

    def done(self, value: T) -> None:
        with suppress(InvalidStateError):  # the caller has given up
            self.result.set_result(value)

    def failed(self, error: BaseException) -> None:
        with suppress(InvalidStateError):
            self.result.set_exception(error)

    def job_ended(self, outcome: JobOutcome) -> None:
        """The answer of a job that has come to its end."""
        self.failed(refusal(self.name, outcome.job_id, "it has ended"))


@dataclass(slots=True)
class CancelRequest(Request[None]):
    """Stop the job where it is; answered when the job has ended."""

    def job_ended(self, outcome: JobOutcome) -> None:
        self.done(None)


@dataclass(slots=True)
class SavepointRequest(Request[str]):
    """A savepoint; the answer is its path.

    :param directory: None: the configured one.
    :param stop: the job ends with the savepoint.
    :param drain: before that all sources end, so that every window and timer of event time fires.
    """

    directory: str | None
    stop: bool = False
    drain: bool = False
    path: str | None = field(default=None, init=False)  # of the savepoint, when it is written


@dataclass(slots=True)
class CheckpointRequest(Request[int]):
    """A checkpoint before the next one is due; the answer is its id."""


@dataclass(slots=True)
class AccumulatorsRequest(Request[dict[str, Any]]):
    """The values of the accumulators and metrics by name, as of the last committed epoch."""

    def give(self, accumulators: Mapping[str, Any]) -> None:
        """Answer with copies: the job goes on changing its own."""
        try:
            self.done(values_of(accumulators))
        except Exception as e:  # raised by a user's class
            self.failed(e)

    def job_ended(self, outcome: JobOutcome) -> None:
        self.give(outcome.accumulators)


@dataclass(slots=True)
class StateRequest(Request[Any]):
    """A look at the state; the answer is what it finds.

    :param look: called in a thread of its own (``looks.py``): the job goes on meanwhile.
    """

    is_told: ClassVar[bool] = False  # who watches a value looks often
    look: Callable[[CommittedCut], Any]


@dataclass(slots=True)
class RescaleRequest(Request[RescaleReport]):
    """Another parallelism; the answer comes when the first epoch with it is committed.

    :param wanted: of all vertices, or bounds by vertex id.
    """

    wanted: int | Mapping[str, Bounds]


AnyRequest = (
    CancelRequest | SavepointRequest | CheckpointRequest | AccumulatorsRequest | StateRequest | RescaleRequest
)


def values_of(accumulators: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of the values of accumulators."""
    return {name: copy.deepcopy(a.get_local_value()) for name, a in accumulators.items()}


def refusal(what: str, job_id: JobID, why: str) -> JobExecutionError:
    return JobExecutionError(f"No {what} of job {job_id}: {why}", job_id=str(job_id))


class Mailbox:
    """The requests to one job. Any thread may ``put``; only the job's own thread takes and closes.

    :param capacity: how many requests may wait; one more is refused. Cancellations are never refused.
    :ivar news: set when something was put since the job last looked; whoever waits in the job's thread wakes.
    :ivar cancelled: set for good when the job was asked to stop.
    """

    def __init__(self, capacity: int = 10_000) -> None:
        self._capacity = capacity
        self.news = threading.Event()
        self.cancelled = threading.Event()
        self._lock = threading.Lock()
        self._waiting: deque[AnyRequest] = deque()
        self._cancels: list[CancelRequest] = []
        self._ended = threading.Event()
        self._outcome: JobOutcome | None = None

    @property
    def outcome(self) -> JobOutcome | None:
        """How the job has ended; None while it has not."""
        return self._outcome

    @property
    def waiting(self) -> int:
        """How many requests wait until the job takes them."""
        return len(self._waiting)

    def put(self, request: AnyRequest) -> None:
        """Hand a request in; a job that has ended answers at once, as does one that is asked for too much."""
        is_full = False
        with self._lock:
            outcome = self._outcome
            if outcome is None:
                if isinstance(request, CancelRequest):
                    self._cancels.append(request)
                    self.cancelled.set()
                elif len(self._waiting) < self._capacity:
                    self._waiting.append(request)
                else:
                    is_full = True
                self.news.set()
        if outcome is not None:
            request.job_ended(outcome)
        elif is_full:
            request.failed(
                JobExecutionError(
                    f"No {request.name}: {self._capacity} requests wait for the job already",
                    hint="it answers between two epochs; ask less often",
                )
            )

    def take(self) -> AnyRequest | None:
        """The oldest request that waits; None: there is none."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def close(self, outcome: JobOutcome) -> None:
        """The job has ended; what waits, and whatever comes, is answered by that."""
        with self._lock:
            self._outcome = outcome
            left = [*self._waiting, *self._cancels]
            self._waiting.clear()
            self._cancels.clear()
        self._ended.set()
        for request in left:
            request.job_ended(outcome)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the job has ended; False when it has not in time."""
        return self._ended.wait(timeout_s)
