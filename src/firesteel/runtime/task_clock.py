"""What processing time is, for the operators of one task."""

from __future__ import annotations


class TaskClock:
    """Processing time as the operators of a subtask see it, in epoch milliseconds.

    The task moves it: operators that handle one buffer or one timer all see one instant. An epoch that runs
    as a Spark job of its own moves it once, when it begins, to the instant that the driver has chosen; so an
    attempt that runs again sees the time that the first one saw. A task that lives for many epochs moves it
    with each buffer and each tick.
    """

    __slots__ = ("now_ms",)

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def move_to(self, now_ms: int) -> None:
        """Processing time never goes back, though a wall clock may be set back."""
        if now_ms > self.now_ms:
            self.now_ms = now_ms
