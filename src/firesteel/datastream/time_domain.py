"""Which of the two kinds of time a timer belongs to."""

from __future__ import annotations

from firesteel.program.time_domain import TimeDomain

__all__ = ["TimeDomain"]
