"""What a committer has tasks do: functions and arguments on their way to the engine, and the answers back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from firesteel.common._shown import shown
from firesteel.common.options.firesteel import MAX_RECORD_BYTES
from firesteel.program.pickling import Shipped
from firesteel.runtime.sizes import too_large

if TYPE_CHECKING:  # workers import this module
    from firesteel.jobmanager.epochs import DoParts


class CommitTasks:
    """``RunTasks`` of the committer of one sink, by the engine of its job.

    :param largest: bytes of an argument or an answer; more are refused with a RecordTooLargeError.
    """

    def __init__(self, do: DoParts, sink: str, largest: int = MAX_RECORD_BYTES) -> None:
        self._do = do
        self._what = f"a commit of {sink}"
        self._largest = largest

    def __call__(self, work: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
        if not arguments:
            return []
        found: list[Any] = []
        for portion in self._portions(arguments):
            shipped = _Work(work, portion, self._largest)
            found += map(pickle.loads, self._do(len(portion), shipped, self._what))
        return found

    def _portions(self, arguments: Sequence[Any]) -> Iterator[list[bytes]]:
        """The arguments in their order, pickled: as many as may go at once."""
        portion: list[bytes] = []
        size = 0
        for argument in arguments:
            pickled = _pickled(argument, self._largest, f"What a task of {self._what} is given")
            if portion and size + len(pickled) > self._largest:
                yield portion
                portion, size = [], 0
            portion.append(pickled)
            size += len(pickled)
        yield portion


class _Work:
    """A task unpickles its own argument only."""

    def __init__(self, work: Callable[[Any], Any], arguments: list[bytes], largest: int) -> None:
        self._work = Shipped(work)
        self._arguments = arguments
        self._largest = largest

    def __call__(self, number: int) -> bytes:
        answer = self._work(pickle.loads(self._arguments[number]))
        return _pickled(answer, self._largest, "The answer of a task of a commit")


def _pickled(value: Any, largest: int, what: str) -> bytes:
    pickled = pickle.dumps(value, 5)
    if len(pickled) > largest:
        passage = "the way between the driver and a task"
        raise too_large(what, len(pickled), largest, passage, f"it begins {shown(value)}")
    return pickled
