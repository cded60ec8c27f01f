"""Which worker process runs which task: a subtask stays with one, which then holds its state.

Spark gives a task to the worker that has been idle for longest. A subtask would go round all of them, and
each would hold a copy of its state, and take in at every epoch what the others have changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from firesteel.spark.task_header import TaskHeader

#: A local property of the driver: the job whose subtasks the tasks of a Spark job are.
JOB_OF_SUBTASKS: Final = "firesteel.subtasks-of"
#: A job and the number of a subtask. Subtasks of all levels that have the same number stay together.
Subtask: TypeAlias = tuple[str, int]

_JOBS: Final = 64  # of which a worker has subtasks: the one is forgotten that has had no task for longest


def subtask_of(header: TaskHeader) -> Subtask | None:
    """None: the task is not one that stays with a process."""
    job = header.properties.get(JOB_OF_SUBTASKS)
    return (job, header.partition) if job else None


@dataclass(eq=False, slots=True)
class Worker:
    """A process that runs tasks, one at a time.

    :ivar subtasks: those that stay with it, by job.
    :ivar moved: those that have stayed with it and are with others now, until it is told.
    """

    pid: int
    is_busy: bool = False
    subtasks: dict[str, set[int]] = field(default_factory=dict)
    moved: set[Subtask] = field(default_factory=set)


W = TypeVar("W", bound=Worker)


class Assignments(Generic[W]):
    """The workers of an executor, and what stays with each of them."""

    def __init__(self) -> None:
        self._workers: dict[int, W] = {}
        self._owners: dict[Subtask, W] = {}

    def __iter__(self) -> Iterator[W]:
        return iter(list(self._workers.values()))

    def __len__(self) -> int:
        return len(self._workers)

    def add(self, worker: W) -> None:
        self._workers[worker.pid] = worker

    def remove(self, worker: W) -> None:
        """It has ended."""
        if self._workers.get(worker.pid) is worker:  # and no new process has its number
            del self._workers[worker.pid]
        for job, numbers in worker.subtasks.items():
            for number in numbers:
                del self._owners[job, number]

    def is_at_work(self, subtask: Subtask | None) -> bool:
        """Whether the process of a subtask is busy."""
        owner = None if subtask is None else self._owners.get(subtask)
        return owner is not None and owner.is_busy

    def worker_for(self, subtask: Subtask | None, most: int) -> W | None:
        """The process for a task, which is not busy; None: a new one.

        :param subtask: None for a task that stays nowhere: it may run for hours, so it gets a process where
            nothing stays.
        :param most: so many processes there may be before one has several subtasks of a job.
        """
        free = [worker for worker in self if not worker.is_busy]
        if subtask is None:
            return next((worker for worker in free if not worker.subtasks), None)
        owner = self._owners.get(subtask)
        if owner is not None and not owner.is_busy:
            return owner
        job = subtask[0]
        best = min(free, key=lambda w: (len(w.subtasks.get(job, ())), len(w.subtasks)), default=None)
        if best is not None and job in best.subtasks and len(self) < most:
            return None
        return best

    def assign(self, subtask: Subtask, worker: W) -> None:
        """From here on the subtask stays with this worker."""
        owner = self._owners.get(subtask)
        job, number = subtask
        if owner is worker:
            worker.subtasks[job] = worker.subtasks.pop(job)  # behind all others
            return
        if owner is not None:
            self._take(subtask, owner)
        self._owners[subtask] = worker
        worker.subtasks.setdefault(job, set()).add(number)
        worker.moved.discard(subtask)
        if len(worker.subtasks) > _JOBS:
            oldest = next(iter(worker.subtasks))
            for old in list(worker.subtasks[oldest]):
                self._take((oldest, old), worker)

    def _take(self, subtask: Subtask, worker: W) -> None:
        job, number = subtask
        worker.moved.add(subtask)
        del self._owners[subtask]
        worker.subtasks[job].discard(number)
        if not worker.subtasks[job]:
            del worker.subtasks[job]
