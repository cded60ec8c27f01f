"""The records of a collecting job, on their way to the program that runs it."""

from __future__ import annotations

import queue
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from itertools import islice
from time import monotonic
from typing import Any, Final

from firesteel.common.errors import FiresteelError
from firesteel.common.interrupts import interruptible
from firesteel.jobmanager.handle import LocalJobHandle
from firesteel.program.execution import Arrived
from firesteel.program.transformations import (
    CacheTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)

_AHEAD: Final = 64  # batches that wait for their reader before the job waits
_CLOSE_S: Final = 30  # how long a reader who leaves waits for the job to end


class CollectedRecords(Iterator[Any]):
    """The records of a job as they come. Implements ``firesteel.program.execution.Arriving``.

    :ivar _come: what has come and is still to be read. :ivar _ended: nothing else comes.
    """

    def __init__(self) -> None:
        self._come: deque[Any] = deque()
        self._ended = self._closed = False

    @abstractmethod
    def _wait(self, wait_s: float | None) -> None:
        """Add to ``_come``, or set ``_ended``, or do nothing when ``wait_s`` seconds are over."""

    @abstractmethod
    def _finish(self) -> None:
        """Called when all has come. Raises what the job failed with."""

    def __next__(self) -> Any:
        while not self._come:
            if self._closed:
                raise StopIteration
            if self._ended:
                self._closed = True
                self._finish()
                raise StopIteration
            self._wait(None)
        return self._come.popleft()

    def arrived(self, count: int, wait_s: float | None) -> Arrived:
        until_s = None if wait_s is None else monotonic() + wait_s
        while len(self._come) < count and not self._ended and not self._closed:
            before, left_s = len(self._come), None if until_s is None else max(until_s - monotonic(), 0.0)
            self._wait(left_s)
            if left_s == 0 and len(self._come) == before:
                break
        over = self._closed or self._ended
        failure = None
        if self._ended and not self._closed:
            try:
                self._finish()
            except FiresteelError as error:
                failure = error
        return Arrived(list(islice(self._come, count)), over and len(self._come) <= count, failure)


class Results(CollectedRecords):
    """The records of a job of this process, as its epochs commit; closing it cancels the job."""

    def __init__(self) -> None:
        super().__init__()
        self.handle: LocalJobHandle | None = None
        self._queue: queue.Queue[list[Any] | None] = queue.Queue(_AHEAD)

    def put(self, batch: list[Any]) -> None:
        while not self._closed:
            try:
                self._queue.put(batch, timeout=0.2)
                return
            except queue.Full:
                continue

    def end(self) -> None:
        while not self._closed:
            try:
                self._queue.put(None, timeout=0.2)
                return
            except queue.Full:
                continue

    def _wait(self, wait_s: float | None) -> None:
        with interruptible():
            try:
                batch = self._queue.get(timeout=wait_s)
            except queue.Empty:
                return
        if batch is None:
            self._ended = True
        else:
            self._come.extend(batch)

    def _finish(self) -> None:
        assert self.handle is not None
        self.handle.result()

    def close(self) -> None:
        self._closed = True
        if self.handle is not None:
            self.handle.job.cancel()
            self.handle.job.wait(_CLOSE_S)


def collect_parallelism(stream: Transformation, default: int) -> int:
    """Each subtask's records are collected in its order: no exchange before the sink mixes them."""
    while isinstance(stream, (SideOutputTransformation, CacheTransformation)):
        (stream,) = stream.inputs
    if isinstance(stream, (PartitionTransformation, UnionTransformation)):
        return 1
    return stream.parallelism or default
