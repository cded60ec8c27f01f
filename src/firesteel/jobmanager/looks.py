"""Looks at the state of a job that runs, beside the thread that runs its epochs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final

from firesteel.common.errors import JobExecutionError
from firesteel.common.job_id import JobID
from firesteel.jobmanager.checkpoints.registry import SharedFiles
from firesteel.jobmanager.committed import CommittedCut
from firesteel.jobmanager.requests import StateRequest, refusal

_MOST: Final = 1_000


@dataclass(slots=True)
class _Look:
    """:param files: what must stay until it is over."""

    request: StateRequest
    cut: CommittedCut
    files: set[str]
    is_over: bool = False


class Looks:
    """The job's own thread calls it; a thread of its own looks, at one thing after the other. Each look keeps
    the state files of its moment, which the job may have replaced before it is over.

    :param committed: the state of the job as it is now.
    :param files: the files that it consists of.
    """

    def __init__(
        self,
        job_id: JobID,
        shared: SharedFiles,
        committed: Callable[[], CommittedCut],
        files: Callable[[], set[str]],
    ) -> None:
        self._job_id = job_id
        self._shared = shared
        self._committed = committed
        self._files = files
        self._under_way: deque[_Look] = deque()
        self._inbox: SimpleQueue[_Look | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False

    def begin(self, request: StateRequest) -> None:
        """Answer a request, later."""
        if len(self._under_way) >= _MOST:
            request.failed(
                JobExecutionError(
                    f"No {request.name}: {_MOST} looks at the state of the job are under way already",
                    hint="it reads for one after the other; ask less often",
                )
            )
            return
        look = _Look(request, self._committed(), self._files())
        self._shared.acquire(look.files)
        self._under_way.append(look)
        self._inbox.put(look)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="firesteel-looks", daemon=True)
            self._thread.start()

    def settle(self) -> None:
        """Let the files go that were kept for what is over."""
        while self._under_way and self._under_way[0].is_over:
            self._shared.release(self._under_way.popleft().files)

    def end(self) -> None:
        """The job has ended, and its files may be removed; what is not answered yet says so."""
        self._ended = True
        self._inbox.put(None)
        for look in self._under_way:
            self._shared.release(look.files)
        self._under_way.clear()

    def _run(self) -> None:
        while (look := self._inbox.get()) is not None:
            self._take(look)

    def _take(self, look: _Look) -> None:
        request = look.request
        try:
            if self._ended:
                raise refusal(request.name, self._job_id, "it has ended")
            request.done(request.look(look.cut))
        except Exception as e:  # there is no such state, or its files cannot be read
            request.failed(refusal(request.name, self._job_id, "it has ended") if self._ended else e)
        finally:
            look.is_over = True
