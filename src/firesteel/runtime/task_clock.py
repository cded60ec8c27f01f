"""What processing time is, for the operators of one task."""

from __future__ import annotations

from collections.abc import Callable


class TaskClock:
    """Processing time as the operators of one task see it, in epoch milliseconds.

    All chains of a task share one clock, and only the task moves it: whatever handles one buffer or one timer
    sees one instant, also in a chain that is handed records in memory. An epoch that runs as a Spark job of
    its own sets it once, when it begins, to the instant that the driver has chosen. A task that lives for
    many epochs moves it with each buffer and each tick. A function that asks there is told the time of the
    wall clock, as in Flink: it may have been called long ago.
    """

    __slots__ = ("_wall_ms", "now_ms")

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self._wall_ms: Callable[[], float] | None = None

    def follow(self, wall_ms: Callable[[], float] | None) -> None:
        """Tell functions what *wall_ms* shows; None: the instant of the epoch."""
        self._wall_ms = wall_ms

    def read(self) -> int:
        """What a function of the user's is told that asks for the time."""
        return self.now_ms if self._wall_ms is None else max(self.now_ms, int(self._wall_ms()))

    def begin_epoch(self, now_ms: int) -> None:
        """Show *now_ms* exactly, even where the clock was ahead of it: an attempt that runs again must see
        the time that the first one saw."""
        self.now_ms = now_ms

    def move_to(self, now_ms: int) -> None:
        """Move on within an epoch. Time never goes back there, though a wall clock may be set back."""
        if now_ms > self.now_ms:
            self.now_ms = now_ms
