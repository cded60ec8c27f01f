"""Metrics that user functions report: groups with counters, gauges, meters and distributions."""

from firesteel.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
