"""Functions of Python tasks that read their input in the thread that they run in.

In a session that real time can use, PySpark reads the input of each task in a thread of its own, which puts
it into a queue. A task that computes in Python gains nothing by that: only one of two threads runs at a time,
and each row is a change of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Whether the worker has that thread. It looks when it has the function of the task.
THREAD: Final = "SPARK_PIPELINED_UDF"
_YES, _NO = "1", "0"


class InOwnThread(Generic[P, R]):
    """*function*, to be given to ``mapInArrow``."""

    def __init__(self, function: Callable[P, R]) -> None:
        self._function = function

    def __reduce__(self) -> tuple[Any, ...]:
        return in_own_thread, (self._function,)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        return self._function(*arguments, **named)


def in_own_thread(function: Callable[P, R]) -> Callable[P, R]:
    """*function*, in a worker that reads it from the JVM and has not looked yet."""
    if os.environ.get(THREAD) != _YES:
        return function
    os.environ[THREAD] = _NO

    def call(*arguments: P.args, **named: P.kwargs) -> R:
        os.environ[THREAD] = _YES  # for what the worker runs next
        return function(*arguments, **named)

    return call
