"""The metrics that user functions report: groups, and counters, meters and distributions in them."""

from firesteel.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
