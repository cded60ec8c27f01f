"""Minimum, maximum, average and percentiles as Flink computes them (Commons Math: ``Percentile``, LEGACY)."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.jobmanager.checkpoints.statistics import Summary
from firesteel.rest.messages.base import number
from firesteel.rest.messages.checkpoints import StatsSummary
from firesteel.rest.messages.vertices import Statistics

_NAN = float("nan")


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Of values in ascending order; NaN of none.

    >>> percentile([4144, 4215], 50), percentile([4144, 4215], 90)
    (4179.5, 4215.0)
    """
    if not ordered:
        return _NAN
    position = percent * (len(ordered) + 1) / 100
    if position < 1:
        return float(ordered[0])
    if position >= len(ordered):
        return float(ordered[-1])
    below = int(position)
    lower, upper = ordered[below - 1], ordered[below]
    return lower + (position - below) * (upper - lower)


def statistics(values: Sequence[int]) -> Statistics:
    """Of one figure over subtasks, in whole numbers."""
    ordered = sorted(values) or [0]
    total = sum(ordered)
    return Statistics(
        min=ordered[0],
        max=ordered[-1],
        avg=total // len(ordered),
        sum=total,
        median=int(percentile(ordered, 50)),
        p25=int(percentile(ordered, 25)),
        p75=int(percentile(ordered, 75)),
        p95=int(percentile(ordered, 95)),
    )


def stats_summary(values: Sequence[float], summary: Summary | None = None) -> StatsSummary:
    """Of one figure over checkpoints.

    :param values: those that are known yet, for the percentiles.
    :param summary: of all that there were; None: of ``values``.
    """
    ordered = sorted(values)
    least, greatest, average = _extremes(ordered) if summary is None else _extremes_of(summary)
    p50, p90, p95, p99, p999 = (number(percentile(ordered, p)) for p in (50, 90, 95, 99, 99.9))
    return StatsSummary(min=least, max=greatest, avg=average, p50=p50, p90=p90, p95=p95, p99=p99, p999=p999)


def _extremes(ordered: Sequence[float]) -> tuple[int, int, int]:
    if not ordered:
        return 0, 0, 0
    return int(ordered[0]), int(ordered[-1]), int(sum(ordered) / len(ordered))


def _extremes_of(summary: Summary) -> tuple[int, int, int]:
    return int(summary.least), int(summary.greatest), int(summary.average)
