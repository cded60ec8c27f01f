"""What processing time is, for the operators of one task."""

from __future__ import annotations


class TaskClock:
    """Processing time as the operators of one task see it, in epoch milliseconds.

    All chains of a task share one clock, and only the task moves it: whatever handles one buffer or one timer
    sees one instant, also in a chain that is handed records in memory. An epoch that runs as a Spark job of
    its own sets it once, when it begins, to the instant that the driver has chosen. A task that lives for
    many epochs moves it with each buffer and each tick.
    """

    __slots__ = ("now_ms",)

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def begin_epoch(self, now_ms: int) -> None:
        """Show *now_ms* exactly, even where the clock was ahead of it: an attempt that runs again must see
        the time that the first one saw."""
        self.now_ms = now_ms

    def move_to(self, now_ms: int) -> None:
        """Move on within an epoch. Time never goes back there, though a wall clock may be set back."""
        if now_ms > self.now_ms:
            self.now_ms = now_ms
