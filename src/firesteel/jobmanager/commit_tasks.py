"""What a committer has tasks do: functions and arguments on their way to the engine, and the answers back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from firesteel.connectors._pickle import Shipped

if TYPE_CHECKING:  # workers import this module
    from firesteel.jobmanager.epochs import DoParts


class CommitTasks:
    """``RunTasks`` of the committer of one sink, by the engine of its job."""

    def __init__(self, do: DoParts, sink: str) -> None:
        self._do = do
        self._what = f"a commit of {sink}"

    def __call__(self, work: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
        if not arguments:
            return []
        shipped = _Work(work, [pickle.dumps(argument, 5) for argument in arguments])
        return [pickle.loads(answer) for answer in self._do(len(arguments), shipped, self._what)]


class _Work:
    """A task unpickles its own argument only."""

    def __init__(self, work: Callable[[Any], Any], arguments: list[bytes]) -> None:
        self._work = Shipped(work)
        self._arguments = arguments

    def __call__(self, number: int) -> bytes:
        return pickle.dumps(self._work(pickle.loads(self._arguments[number])), 5)
