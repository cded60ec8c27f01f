"""How a task spends its time: on which of its vertices, waiting for input, or waiting for those it sends to.

The clock is read for each buffer and each chunk, never for each record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")

_NOBODY: Final = ""  # what belongs to no vertex: reading buffers from Spark, orders, barriers


class Spent(NamedTuple):
    """Milliseconds, since the last time somebody asked.

    :param busy: by vertex, inside of its chain.
    :param held_back: waiting for those that the task sends to.
    """

    busy: dict[str, float]
    held_back: float


class Stopwatch:
    """Belongs to the thread of one task, whose vertices share it."""

    def __init__(
        self,
        now_s: Callable[[], float] = time.perf_counter,
        cpu_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._now_s = now_s
        self._cpu_s = cpu_s
        self._busy: dict[str, float] = {}
        self._held_back_s = 0.0
        self._at = _NOBODY
        self._is_running = False
        self._since_s = 0.0

    def switch(self, vertex: str) -> str:
        """From here on time is spent on *vertex*; on what it was before."""
        now_s, before = self._now_s(), self._at
        if self._is_running:
            self._busy[before] = self._busy.get(before, 0.0) + now_s - self._since_s
        self._since_s, self._at, self._is_running = now_s, vertex, True
        return before

    def rest(self) -> str:
        """From here on nothing is done; on what time was spent before."""
        before = self.switch(_NOBODY)
        self._is_running = False
        return before

    @contextmanager
    def on(self, vertex: str) -> Iterator[None]:
        """Spend the time of the block on *vertex*, and then go on as before."""
        was_running = self._is_running
        before = self.switch(vertex)
        try:
            yield
        finally:
            self.switch(before)
            self._is_running = was_running

    def waiting(self, items: Iterable[T]) -> Iterator[T]:
        """The items of a task's input. What the thread computes to get one belongs to no vertex; for the
        rest of the time it has waited."""
        iterator = iter(items)
        while True:
            before = self.rest()
            cpu_s = self._cpu_s()
            item = next(iterator, _END)
            self._add(_NOBODY, self._cpu_s() - cpu_s)
            self.switch(before)
            if item is _END:
                return
            yield item

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """The task waits in the block for those that it sends to, but for what the thread computes."""
        was_running = self._is_running
        before = self.rest()
        begun_s, cpu_s = self._now_s(), self._cpu_s()
        try:
            yield
        finally:
            computed_s = self._cpu_s() - cpu_s
            self._add(before, computed_s)
            self._held_back_s += max(0.0, self._now_s() - begun_s - computed_s)
            self.switch(before)
            self._is_running = was_running

    def _add(self, vertex: str, seconds: float) -> None:
        self._busy[vertex] = self._busy.get(vertex, 0.0) + seconds

    def take(self) -> Spent:
        """What was spent until now. What belongs to no vertex is shared among all that did something."""
        was_running = self._is_running
        self.switch(self._at)
        self._is_running = was_running
        common_s = self._busy.pop(_NOBODY, 0.0)
        busy, held_back_s = self._busy, self._held_back_s
        self._busy, self._held_back_s = {}, 0.0
        each_s = common_s / len(busy) if busy else 0.0
        return Spent({v: (s + each_s) * 1000 for v, s in busy.items()}, held_back_s * 1000)


class _End(Enum):
    """Stands for the item after the last one."""

    END = 0


_END: Final = _End.END
