"""The records of a collecting job, on their way to the program that runs it."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any, Final

from firesteel.common.interrupts import interruptible
from firesteel.jobmanager.handle import LocalJobHandle
from firesteel.program.transformations import (
    CacheTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)

_AHEAD: Final = 64  # batches that wait for their reader before the job waits
_CLOSE_S: Final = 30  # how long a reader who leaves waits for the job to end


class Results(Iterator[Any]):
    """The records of a collecting job, as its epochs commit; closing it cancels the job."""

    def __init__(self) -> None:
        self.handle: LocalJobHandle | None = None
        self._queue: queue.Queue[list[Any] | None] = queue.Queue(_AHEAD)
        self._batch: Iterator[Any] = iter(())
        self._closed = False

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

    def __next__(self) -> Any:
        while True:
            for record in self._batch:
                return record
            if self._closed:
                raise StopIteration
            with interruptible():
                batch = self._queue.get()
            if batch is None:
                self._closed = True
                assert self.handle is not None
                self.handle.result()  # raises when the job failed
                raise StopIteration
            self._batch = iter(batch)

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
