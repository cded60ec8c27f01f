"""What others ask of a running job; its own thread does it between two epochs."""

from __future__ import annotations

import queue
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field

from firesteel.common.errors import JobExecutionError
from firesteel.common.job_id import JobID


@dataclass(slots=True)
class SavepointRequest:
    """:param directory: None: the configured one.
    :param stop: the job ends with the savepoint.
    :param drain: before that all sources end, so that every window and timer of event time fires.
    """

    directory: str | None
    stop: bool = False
    drain: bool = False
    result: Future[str] = field(default_factory=Future)
    path: str | None = None  # of the savepoint, when it is written

    def failed(self, error: BaseException) -> None:
        with suppress(InvalidStateError):  # the caller has given up
            self.result.set_exception(error)

    def done(self, path: str) -> None:
        with suppress(InvalidStateError):
            self.result.set_result(path)


class Requests:
    """Taken from any thread, served by the job's."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[SavepointRequest] = queue.SimpleQueue()

    def put(self, request: SavepointRequest) -> None:
        self._waiting.put(request)

    def take(self) -> SavepointRequest | None:
        """The next one; None when there is none."""
        try:
            return self._waiting.get_nowait()
        except queue.Empty:
            return None

    def refuse_all(self, error: Exception) -> None:
        """The job is not in a state to serve them."""
        while (request := self.take()) is not None:
            request.failed(error)


def no_savepoint(job_id: JobID, why: str) -> JobExecutionError:
    return JobExecutionError(f"No savepoint of job {job_id}: {why}", job_id=str(job_id))
