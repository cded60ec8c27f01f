"""Reading ahead: what follows is made in threads while what came last is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")

_AHEAD: Final = 2  # works; as many threads do them


class ReadAhead:
    """Threads that do works before their results are asked for. They are worth while where a work is code
    that lets other threads run, as Arrow's readers are."""

    def __init__(self) -> None:
        self._threads: tuple[ThreadPoolExecutor, ThreadPoolExecutor] | None = None

    def of(self, works: Iterator[Callable[[], T]]) -> Generator[T, None, None]:
        """Yield what works give, in their order. One is taken after the other, so *works* may read a file;
        several are done at once.

        When this is closed nobody uses *works* any more; some of them may be lost.

        :raises Exception: what *works* raises, or a work, where its result would be.
        """
        first = list(islice(works, 1))
        if not first:
            return
        if self._threads is None:
            name = "firesteel-read-ahead"
            self._threads = ThreadPoolExecutor(1, name), ThreadPoolExecutor(_AHEAD, name)
        taking, doing = self._threads

        def take() -> list[Future[T]]:
            return [doing.submit(work) for work in islice(works, 1)]

        ahead = deque(taking.submit(take) for _ in range(_AHEAD))
        try:
            yield first[0]()
            while ahead:
                for following in ahead.popleft().result():
                    ahead.append(taking.submit(take))
                    yield following.result()
        finally:
            _end(ahead)

    def close(self) -> None:
        for threads in self._threads or ():
            threads.shutdown()
        self._threads = None


def _end(ahead: deque[Future[list[Future[T]]]]) -> None:
    """Wait until none of these is at work any more."""
    for taken in ahead:
        if not taken.cancel() and taken.exception() is None:
            wait([following for following in taken.result() if not following.cancel()])
