"""Reading ahead: what follows is made in a thread while what came last is used."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


class ReadAhead:
    """A thread that takes one element more from iterators than was asked for. It is worth while where an
    element is made by code that lets other threads run, as Arrow's readers do."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    def of(self, elements: Iterator[T]) -> Generator[T, None, None]:
        """Yield the elements. When this is closed nobody uses *elements* any more; one of them may be lost.

        :raises Exception: what *elements* raises, where the element would be.
        """
        some = list(islice(elements, 1))
        while some:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "firesteel-read-ahead")
            following = self._thread.submit(lambda: list(islice(elements, 1)))
            try:
                yield some[0]
            finally:
                wait((following,))
            some = following.result()

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None
