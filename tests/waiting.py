"""Waiting in tests for what other threads and processes do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def patience(seconds: float) -> float:
    """Return a time limit for this machine as it is now: where more processes want a processor than there are
    processors, everything takes that many times as long, and nothing is wrong with it."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def until(
    condition: Callable[[], T],
    what: str | Callable[[], str] = "it did not happen in time",
    seconds: float = 30.0,
    *,
    look_s: float = 0.02,
) -> T:
    """Return the first value of *condition* that is true.

    :param what: says what did not happen.
    :param seconds: the time limit on a machine that is not busy.
    """
    begun_s = time.monotonic()
    while not (found := condition()):
        if time.monotonic() - begun_s > patience(seconds):
            raise AssertionError(what if isinstance(what, str) else what())
        time.sleep(look_s)
    return found
