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

__all__ = ["Callers", "bound_calls", "call_limit_s"]

T = TypeVar("T")

_Given: TypeAlias = tuple[Callable[[], Any], "Future[Any]"]

_MS: Final = 1000
_limit_s = Configuration().get(own.HDFS_TIMEOUT) / _MS


def bound_calls(configuration: Configuration) -> None:
    """Let the calls of this process take no longer than *configuration* says. File systems are shared by the
    jobs of a process, so the last one that begins decides."""
    global _limit_s
    _limit_s = configuration.get(own.HDFS_TIMEOUT) / _MS


def call_limit_s() -> float:
    """How long a call may take, in seconds."""
    return _limit_s


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
