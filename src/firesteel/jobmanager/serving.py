"""Carries out what was put into the mailbox of a job, one request after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from firesteel.common.errors import JobExecutionError
from firesteel.common.job_id import JobID
from firesteel.jobmanager.looks import Looks
from firesteel.jobmanager.observer import JobObserver
from firesteel.jobmanager.requests import (
    AccumulatorsRequest,
    AnyRequest,
    CancelRequest,
    CheckpointRequest,
    Mailbox,
    RescaleRequest,
    SavepointRequest,
    StateRequest,
    refusal,
)
from firesteel.jobmanager.snapshots import Snapshots


class RequestServer:
    """Belongs to the job's own thread.

    :param accumulators: those of the job as they are now.
    :param looks: takes requests for looks at its state, and answers them later.
    :param drain: makes the sources of the job end.
    :param rescale: takes a request for another parallelism, and answers it later.
    :ivar last_wish: the savepoint that the job ends with, which is answered when that has come to pass.
    """

    def __init__(
        self,
        job_id: JobID,
        mailbox: Mailbox,
        observer: JobObserver,
        snapshots: Snapshots,
        accumulators: Callable[[], Mapping[str, Any]],
        looks: Looks,
        drain: Callable[[], None],
        rescale: Callable[[RescaleRequest], None],
    ) -> None:
        self.last_wish: SavepointRequest | None = None
        self._job_id = job_id
        self._mailbox = mailbox
        self._observer = observer
        self._snapshots = snapshots
        self._accumulators = accumulators
        self._looks = looks
        self._drain = drain
        self._rescale = rescale

    def serve(self) -> bool:
        """Do what was asked for; whether the job has to end now."""
        self._looks.settle()
        while (request := self._take()) is not None:
            match request:
                case SavepointRequest():
                    if self._saves_and_stops(request):
                        return True
                case CheckpointRequest():
                    self._snapshots.checkpoint_for(request)
                case AccumulatorsRequest():
                    request.give(self._accumulators())
                case StateRequest():
                    self._looks.begin(request)
                case RescaleRequest():
                    self._rescale(request)
                case CancelRequest():
                    raise AssertionError("the mailbox keeps it until the job has ended")
                case _:
                    assert_never(request)
        return False

    def serve_without_snapshots(self, why: str) -> None:
        """There is nothing to take a snapshot of now, and ``why``."""
        self.end(why)
        while (request := self._take()) is not None:
            if isinstance(request, AccumulatorsRequest):
                request.give(self._accumulators())
            elif isinstance(request, RescaleRequest):
                self._rescale(request)  # with the next attempt
            else:
                request.failed(refusal(request.name, self._job_id, why))

    def end(self, why: str | None) -> None:
        """Who has stopped the job hears that it has stopped.

        :param why: it has not, because of this; None: it has, and that is recorded.
        """
        wish, self.last_wish = self.last_wish, None
        if wish is None:
            return
        path = wish.path
        if why is not None:
            error = JobExecutionError(
                f"Job {self._job_id} was not stopped with a savepoint: {why}",
                detail=None if path is None else f"the savepoint was written before that: {path}",
                job_id=str(self._job_id),
            )
            wish.failed(error)
        elif path is not None:  # else it could not be written, and that was the answer
            wish.done(path)

    def _take(self) -> AnyRequest | None:
        request = self._mailbox.take()
        if request is not None and request.is_told:
            self._observer.asked(request.name)
        return request

    def _saves_and_stops(self, request: SavepointRequest) -> bool:
        """Serve a request for a savepoint; whether the job has to end with it now."""
        if self.last_wish is not None:
            why = "it is being stopped with a savepoint"
            request.failed(refusal(request.name, self._job_id, why))
        elif request.drain:
            self.last_wish = request
            self._drain()
        else:
            self._snapshots.savepoint_for(request)
            if request.stop and request.path is not None:
                self.last_wish = request
                return True
        return False
