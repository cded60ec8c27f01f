"""Metrics that user functions report: groups with counters, gauges, meters, distributions and histograms."""

from firesteel.metrics.metricbase import Counter, Distribution, Histogram, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Histogram", "Meter", "Metric", "MetricGroup"]
