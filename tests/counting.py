"""Counting what code does, where its time would be that of the machine."""

from __future__ import annotations

import sys
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Calls:
    """How many functions were called, of Python and of C."""

    def __init__(self) -> None:
        self.count = 0

    def notice(self, frame: object, event: str, argument: Any) -> None:
        self.count += event in ("call", "c_call")


@contextmanager
def counted_calls() -> Iterator[Calls]:
    """Count the calls of this thread, and of threads that are started in the block."""
    calls, before = Calls(), sys.getprofile()
    threading.setprofile(calls.notice)
    sys.setprofile(calls.notice)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]


class Memory:
    """The most that was taken at a time, beyond what there was before."""

    most_bytes = 0


@contextmanager
def taken_memory() -> Iterator[Memory]:
    memory = Memory()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield memory
        memory.most_bytes = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
