"""Waiting in tests for what other threads and processes do.

A limit here says that something hangs, never that it is slow: another machine is several times slower, and
stands still for seconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

_LEAST_S: Final = 60.0
_SLOWER: Final = 3.0


def patience(seconds: float) -> float:
    """Return a time limit for what takes less than *seconds* on a machine that is not busy: three times as
    long, a minute at least, and longer where more processes want a processor than there are processors."""
    return max(_LEAST_S, _SLOWER * seconds) * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def until(
    condition: Callable[[], T],
    what: str | Callable[[], str] = "it did not happen in time",
    seconds: float = 30.0,
    *,
    look_s: float = 0.02,
) -> T:
    """Return the first value of *condition* that is true.

    :param what: says what did not happen.
    :param seconds: as ``patience`` has it.
    """
    begun_s = time.monotonic()
    while not (found := condition()):
        if time.monotonic() - begun_s > patience(seconds):
            raise AssertionError(what if isinstance(what, str) else what())
        time.sleep(look_s)
    return found


@contextmanager
def in_time(seconds: float = 20.0) -> Iterator[None]:
    """What is in the block does not hang.

    :param seconds: as ``patience`` has it.
    """
    begun_s = time.monotonic()
    yield
    lasted_s = time.monotonic() - begun_s
    assert lasted_s < patience(seconds), f"it took {lasted_s:.0f} s"


class Standstills:
    """Notices while its block runs how late this process is woken up, which says how the machine is."""

    _LOOK_S: Final = 0.02

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Standstills:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        before_s = time.monotonic()
        while not self._over.wait(self._LOOK_S):
            now_s = time.monotonic()
            self.longest_s = max(self.longest_s, now_s - before_s - self._LOOK_S)
            before_s = now_s
