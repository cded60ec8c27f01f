"""What the thread of a task is called: who looks at a process from outside sees which task it does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


def task_name(job_id: str, level: int) -> str:
    """All tasks of a level of a job have one name."""
    return f"firesteel task {job_id} level {level}"


@contextmanager
def at_work(job_id: str, level: int) -> Iterator[None]:
    """Names the thread while it does a task: once for each task."""
    thread = threading.current_thread()
    before, thread.name = thread.name, task_name(job_id, level)
    try:
        yield
    finally:
        thread.name = before
