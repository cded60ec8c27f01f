"""Calls to libraries that may wait for a server for ever: made in other threads, given up after a time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, TypeAlias, TypeVar

from firesteel.common.configuration import Configuration
from firesteel.common.options import firesteel as own

__all__ = ["Callers", "bound_calls", "bound_calls_outside", "call_limit_s"]

T = TypeVar("T")

_Given: TypeAlias = tuple[Callable[[], Any], "Future[Any]"]

_MS: Final = 1000
#: Gives the settings that count while no job, cluster or history server has begun in this process.
_outside: Callable[[], Configuration] = Configuration
_counting: Configuration | None = None  # None: those from outside, which nobody has asked for yet


def bound_calls(configuration: Configuration) -> None:
    """Let the calls of this process take no longer than *configuration* says, also what it says later. File
    systems are shared by the jobs of a process, so the last one that begins decides."""
    global _counting
    _counting = configuration


def bound_calls_outside(settings: Callable[[], Configuration]) -> None:
    """Let *settings* say how long calls may take until ``bound_calls`` is called. They are read with the
    first call: a command that needs no storage is not held up by a file of settings that is wrong."""
    global _counting, _outside
    _counting, _outside = None, settings


def call_limit_s() -> float:
    """How long a call may take, in seconds.

    :raises ConfigurationError: what is configured cannot be read.
    """
    global _counting
    if _counting is None:
        _counting = _outside()
    limit_ms: int = _counting.get(own.HDFS_TIMEOUT)
    return limit_ms / _MS


class Callers:
    """Threads that make calls: as many as there are calls at once, kept for the next ones.

    A call that never returns keeps its thread. None of them keeps the process from ending, which is why this
    is not a ``ThreadPoolExecutor``.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._idle: deque[SimpleQueue[_Given | None]] = deque()
        self._ended = False

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """Have a call made; whoever wants its result waits for it as long as he likes."""
        result: Future[T] = Future()
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name=self._name, daemon=True).start()
        inbox.put((call, result))
        return result

    def end(self) -> None:
        """Let the threads end: those that make no call at once, the others when their calls return."""
        self._ended = True
        with suppress(IndexError):
            while True:
                self._idle.pop().put(None)

    def _serve(self, inbox: SimpleQueue[_Given | None]) -> None:
        while (given := inbox.get()) is not None:
            self._make(*given, inbox)
            del given  # what the call holds must not live until the next one
            if self._ended:
                self.end()

    def _make(self, call: Callable[[], Any], result: Future[Any], inbox: SimpleQueue[_Given | None]) -> None:
        try:
            made = call()
        except BaseException as error:  # for whoever waits; a panic of Rust's is no Exception
            self._idle.append(inbox)
            result.set_exception(error)
        else:
            self._idle.append(inbox)  # before the answer: the next call comes right after it
            result.set_result(made)
