"""The access of a function to time and to its timers."""

from __future__ import annotations

from firesteel.program.timerservice import TimerService

__all__ = ["TimerService"]
