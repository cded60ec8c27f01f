"""Which of the two kinds of time a timer belongs to."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """What made a timer fire (Flink: ``TimeDomain``)."""

    EVENT_TIME = 0  # the watermark passed its timestamp
    PROCESSING_TIME = 1  # the clock of the job passed it
