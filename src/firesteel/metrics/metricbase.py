"""The metrics interface of functions. A function gets its group from ``RuntimeContext.get_metrics_group()``,
registers metrics in ``open`` and updates them while processing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

__all__ = ["Counter", "Distribution", "Histogram", "Meter", "Metric", "MetricGroup"]


class MetricGroup(ABC):
    """A named set of metrics and subgroups (Flink: ``MetricGroup``). Names are unique: registering a metric
    again returns the existing one."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the subgroup ``name``; with ``extra``, the subgroup ``extra`` of that one. Reporters that
        know labels take such a pair for a label and its value."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Register a counter."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Register a gauge: ``obj`` is called for the value when metrics are reported."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Register a meter, which measures the rate of events over the time span."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Register a distribution: count, sum, minimum and maximum of integers."""

    @abstractmethod
    def histogram(self, name: str, window_size: int = 1000) -> Histogram:
        """Register a histogram: statistics of the newest ``window_size`` values."""


class Metric(ABC):  # noqa: B024  # the common base by which metrics are known; each kind has methods of its own
    """Base of counters, meters, distributions and histograms (Flink: ``Metric``)."""


class Counter(Metric):
    """A number that can be incremented and decremented (Flink: ``Counter``)."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Increment by ``n``."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Decrement by ``n``."""

    @abstractmethod
    def get_count(self) -> int:
        """Return the count since the worker last reported."""


class Meter(Metric):
    """Measures the rate of events (Flink: ``Meter``)."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Record ``value`` events."""

    @abstractmethod
    def get_count(self) -> int:
        """Return the number of events since the worker last reported."""


class Distribution(Metric):
    """Statistics of the values that a function reports (PyFlink: ``Distribution``)."""

    @abstractmethod
    def update(self, value: int) -> None:
        """Add ``value`` to the statistics."""


class Histogram(Metric):
    """Percentiles, mean and deviation of the newest values (Flink: ``Histogram`` with
    ``DescriptiveStatisticsHistogram``)."""

    @abstractmethod
    def update(self, value: float) -> None:
        """Add ``value`` to the statistics."""

    @abstractmethod
    def get_count(self) -> int:
        """Return the number of values since the worker last reported."""
