"""What a function sees of its metrics. A function gets its group from ``RuntimeContext.get_metrics_group()``,
registers metrics in ``open`` and updates them while it processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]


class MetricGroup(ABC):
    """A named set of metrics and of groups below it (Flink: ``MetricGroup``). A name is taken once: asking
    for a metric that is there gives that metric."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The group ``name`` below this one; with ``extra`` the group ``extra`` below that."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """A number that the function counts up and down."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """A value that ``obj`` is asked for when metrics are reported."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """A count of events, for a rate over the time span."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Count, sum, minimum and maximum of whole numbers."""


class Metric(ABC):  # noqa: B024  # the common base by which metrics are known; each kind has methods of its own
    """Base of counters, meters and distributions (Flink: ``Metric``)."""


class Counter(Metric):
    """A number that goes up and down (Flink: ``Counter``)."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Count up by ``n``."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Count down by ``n``."""

    @abstractmethod
    def get_count(self) -> int:
        """What was counted since the worker last reported."""


class Meter(Metric):
    """Counts events (Flink: ``Meter``)."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """``value`` events happened."""

    @abstractmethod
    def get_count(self) -> int:
        """The events since the worker last reported."""


class Distribution(Metric):
    """Statistics of the values that a function reports (PyFlink: ``Distribution``)."""

    @abstractmethod
    def update(self, value: int) -> None:
        """Take ``value`` into the statistics."""
