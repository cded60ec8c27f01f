"""A frame in the stack of each task that says which task it is.

Who looks at a process from outside (py-spy, faulthandler) sees names of functions, and little else: names of
threads are remembered by py-spy from when it sees a thread first. So a task runs inside of a function that is
called by its job and level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, TypeVar

T = TypeVar("T")


def task_name(job_id: str, level: int) -> str:
    """All tasks of a level of a job have one name."""
    return f"task of {job_id} level {level}"


def in_task(job_id: str, level: int, work: Callable[[], T]) -> T:
    """Do the work of a task."""
    found: T = _named(_call, task_name(job_id, level))(work)
    return found


def rows_in_task(job_id: str, level: int, rows: Iterator[T]) -> Iterator[T]:
    """The work of a task that goes on as its rows are taken."""
    found: Iterator[T] = _named(_take, task_name(job_id, level))(rows)
    return found


def _call(work: Callable[[], T]) -> T:
    return work()


def _take(rows: Iterator[T]) -> Iterator[T]:
    yield from rows


def _named(function: Any, name: str) -> Any:
    """The function under another name."""
    return FunctionType(function.__code__.replace(co_name=name, co_qualname=name), function.__globals__)
