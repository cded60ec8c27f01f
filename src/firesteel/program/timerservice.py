"""The access of a function to time and to its timers."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Time and timers of the current key. All instants are epoch milliseconds.

    Timers are a set for each key: one that is registered twice fires once. Only functions on a keyed stream
    may register and delete them. (Flink: ``TimerService``.)
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """The processing time: in epochs the instant at which the epoch began, in real time the clock's."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The watermark of the operator; ``-(2**63)`` before the first one."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` for the current key when processing time reaches ``timestamp``."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` for the current key when the watermark reaches ``timestamp``."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Take back a timer; nothing happens when there is none."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Take back a timer; nothing happens when there is none."""
