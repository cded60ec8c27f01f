"""What counts as a failure of the user's code, and how it leaves the operator that ran it.

Whatever users' code raises is its failure: an Exception, but also SystemExit (``sys.exit("no config")``),
KeyboardInterrupt, GeneratorExit or a BaseException of their own. Let through, those would end the task, which
Spark then runs three more times. What really interrupts a task never comes out of users' code: Spark kills
worker processes by a signal, and a consumer that stops reading ends the generator of the task where that
yields (``runtime/task.py``), outside of every ``UserCode``.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Final, NoReturn


class UserCodeError(Exception):
    """An exception of the user's code (its ``__cause__``), with the operator that ran it."""

    def __init__(self, operator: str, uid: str) -> None:
        super().__init__(operator, uid)
        self.operator = operator
        self.uid = uid


class UserCode:
    """``with``: everything that is raised inside is a failure of the user's code of one operator.

    A failure that has its operator already passes: it comes from one further down the chain.
    """

    __slots__ = ("_operator", "_uid")

    def __init__(self, operator: str, uid: str) -> None:
        self._operator = operator
        self._uid = uid

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.fail(error)

    def steps(self, steps: Iterator[None]) -> Iterator[None]:
        """The *steps* of a generator: each is the user's code, and what is done between them is not."""
        while True:
            with self:
                done = next(steps, self) is self
            if done:
                return
            yield

    def fail(self, error: BaseException) -> NoReturn:
        """Raise what *error* is for this operator: what ``__exit__`` does, for a ``try`` in a hot path."""
        raise self.failure(error)

    def failure(self, error: BaseException) -> UserCodeError:
        """Return the failure of this operator that *error* is."""
        if isinstance(error, UserCodeError):
            return error
        failure = UserCodeError(self._operator, self._uid)
        failure.__cause__ = raised(error)
        return failure


#: What Python says where a StopIteration leaves a generator or a coroutine (PEP 479), and, from 3.13, where a
#: future is to hold one.
_REPLACED: Final = frozenset(
    f"{kind} raised {name}"
    for kind in ("generator", "coroutine", "async generator")
    for name in ("StopIteration", "StopAsyncIteration")
) | {"StopIteration interacts badly with generators and cannot be raised into a Future"}


def raised(error: BaseException) -> BaseException:
    """Return the exception that was raised: *error*, or the one that Python has put *error* in place of."""
    cause = error.__cause__
    if type(error) is RuntimeError and cause is not None and error.args and error.args[0] in _REPLACED:
        return cause
    return error
