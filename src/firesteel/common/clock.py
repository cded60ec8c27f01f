"""The only source of time: everything that waits or reads the time is given a ``Clock``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["Clock", "ManualClock", "SystemClock"]


class Clock(Protocol):
    """Wall time in epoch milliseconds, monotonic time in seconds, and waiting for either."""

    def now_ms(self) -> int:
        """Wall time. It may jump; use ``monotonic_s`` to measure how long something takes."""

    def monotonic_s(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...

    def wait_until(self, instant_ms: int, interrupt: threading.Event | None = None) -> bool:
        """Wait until the wall time is ``instant_ms``, or until ``interrupt`` is set; when the clock is set
        back meanwhile, no longer than it seemed in the beginning.

        :returns: True: the instant is reached. False: the wait was interrupted before.
        """


class SystemClock:
    """The clock of the machine."""

    _LONGEST_WAIT_S = 1.0  # the wall clock may be set while we wait: look at it again

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def wait_until(self, instant_ms: int, interrupt: threading.Event | None = None) -> bool:
        latest_s = time.monotonic() + instant_ms / 1000 - time.time()
        while True:
            if interrupt is not None and interrupt.is_set():
                return False
            rest_s = min(instant_ms / 1000 - time.time(), latest_s - time.monotonic())
            if rest_s <= 0:
                return True
            wait_s = min(rest_s, self._LONGEST_WAIT_S)
            if interrupt is None:
                time.sleep(wait_s)
            else:
                interrupt.wait(wait_s)


class ManualClock:
    """A clock that stands still until a test moves it. Safe to use from several threads.

    Waiting ends when the clock was moved far enough; ``waiters``, ``await_waiters`` and ``settle`` let a test
    see that others do wait.

    >>> clock = ManualClock(1_000)
    >>> clock.advance(500)
    >>> clock.now_ms()
    1500
    """

    _INTERRUPT_POLL_S = 0.005  # an Event cannot wake a Condition, so it is looked at
    _LOOK_S = 0.05

    def __init__(self, start_ms: int = 0) -> None:
        self._now_us = start_ms * 1000
        self._start_us = self._now_us
        self._awaited_us: list[int] = []  # what each of those waits for who wait
        self._changed = threading.Condition()

    def now_ms(self) -> int:
        with self._changed:
            return self._now_us // 1000

    def monotonic_s(self) -> float:
        with self._changed:
            return (self._now_us - self._start_us) / 1_000_000

    def advance(self, ms: float) -> None:
        """Move the clock forward and wake all whose time has come."""
        if ms < 0:
            raise ValueError(f"a clock cannot be advanced by {ms} ms")
        with self._changed:
            self._now_us += round(ms * 1000)
            self._changed.notify_all()

    def advance_to(self, instant_ms: int) -> None:
        """Move the clock forward to an instant; one that has passed changes nothing."""
        with self._changed:
            self._now_us = max(self._now_us, instant_ms * 1000)
            self._changed.notify_all()

    def sleep(self, seconds: float) -> None:
        with self._changed:
            target_us = self._now_us + round(seconds * 1_000_000)
        self._wait(target_us, None)

    def wait_until(self, instant_ms: int, interrupt: threading.Event | None = None) -> bool:
        return self._wait(instant_ms * 1000, interrupt)

    def _wait(self, target_us: int, interrupt: threading.Event | None) -> bool:
        with self._changed:
            self._awaited_us.append(target_us)
            self._changed.notify_all()
            try:
                while self._now_us < target_us:
                    if interrupt is not None and interrupt.is_set():
                        return False
                    self._changed.wait(None if interrupt is None else self._INTERRUPT_POLL_S)
                return True
            finally:
                self._awaited_us.remove(target_us)

    @property
    def waiters(self) -> int:
        """How many threads wait for this clock."""
        with self._changed:
            return len(self._awaited_us)

    def await_waiters(self, count: int, timeout_s: float = 5.0) -> bool:
        """Wait, in real time, until ``count`` threads wait for this clock. False: the timeout came first."""
        return self._await(lambda: len(self._awaited_us) >= count, timeout_s)

    def settle(self, timeout_s: float = 30.0) -> None:
        """Wait, in real time, until nothing can happen before the clock is moved: somebody waits for it, and
        nobody for an instant that has come. A job that was sent something and given the time (100 ms at
        most) has then done it.

        :raises TimeoutError: it does not come to that; a job that has ended does not wait.
        """
        if not self._await(self._is_settled, timeout_s):
            raise TimeoutError(f"after {timeout_s} s nobody waits for the clock, or work goes on")

    def _await(self, predicate: Callable[[], bool], timeout_s: float) -> bool:
        """In short looks: a process that was stopped for a while has not waited for as long."""
        with self._changed:
            for _ in range(max(1, round(timeout_s / self._LOOK_S))):
                if self._changed.wait_for(predicate, self._LOOK_S):
                    return True
            return predicate()

    def _is_settled(self) -> bool:
        return bool(self._awaited_us) and min(self._awaited_us) > self._now_us
