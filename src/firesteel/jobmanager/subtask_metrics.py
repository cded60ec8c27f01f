"""The metrics of the operators of each subtask: what committed epochs have counted, and what gauges said."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from firesteel.jobmanager.job_view import MetricView, Statistics
from firesteel.jobmanager.lines import Subtask
from firesteel.runtime import metrics
from firesteel.runtime.metrics import MetricKey, Part
from firesteel.runtime.program import Ack
from firesteel.runtime.task_report import TaskReport

#: Those of Flink's reporters.
QUANTILES: Final = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.999)


class _Latency(NamedTuple):
    """:param shown: what the views have of the values."""

    values: metrics.Histogram
    shown: MetricView


class SubtaskMetrics:
    """Belongs to the job's own thread. Counters go on over attempts, as those of the views do."""

    def __init__(self) -> None:
        self._parts: dict[Subtask, dict[MetricKey, Part]] = {}
        self._latencies: dict[tuple[str, int], dict[MetricKey, _Latency]] = {}  # by operator and subtask
        self._gauges: dict[tuple[str, int], dict[MetricKey, Any]] = {}  # by operator and subtask

    def take(self, reports: Iterable[TaskReport]) -> None:
        """Use these values of gauges from here on, and count these latencies."""
        for report in reports:
            for key, value in report.gauges.items():
                self._gauges.setdefault((key.uid, report.subtask), {})[key] = value
            for key, part in report.latencies.items():
                known = self._latencies.setdefault((key.uid, report.subtask), {})
                if key in known:
                    known[key].values.merge(part)
                    part = known[key].values
                shown = MetricView("", key.groups, key.name, "histogram", _histogram(part))
                known[key] = _Latency(part, shown)

    def of(self, subtask: Subtask, ack: Ack) -> tuple[MetricView, ...] | None:
        """All of them with the epoch of this answer; None: it has none."""
        gauges: dict[MetricKey, Any] = {}
        if self._gauges:
            for uid in ack.operators:
                gauges |= self._gauges.get((uid, ack.subtask), {})
        latencies: list[MetricView] = []
        if self._latencies:
            for uid in ack.operators:
                known = self._latencies.get((uid, ack.subtask), {})
                latencies += [latency.shown for latency in known.values()]
        if not ack.metrics and not gauges and not latencies:
            return None
        parts = self._parts.setdefault(subtask, {})
        for key, part in ack.metrics.items():
            if key in parts:
                parts[key].merge(part)
            else:
                parts[key] = copy.copy(part)  # the answer is for the job's accumulators, too
        counted = [_shown(key, *_KINDS[type(part)](part)) for key, part in parts.items()]
        return (*counted, *(_shown(key, "gauge", value) for key, value in gauges.items()), *latencies)

    def rescaled(self, vertex: str, parallelism: int) -> None:
        """The vertex has so many subtasks from here on: what those have counted that are no more is added to
        the ones that are. Gauges and latencies say again what they have to say."""
        gone = [key for key in self._parts if key[0] == vertex and key[1] >= parallelism]
        for key in sorted(gone):
            parts = self._parts.setdefault((vertex, key[1] % parallelism), {})
            for metric, part in self._parts.pop(key).items():
                if metric in parts:
                    parts[metric].merge(part)
                else:
                    parts[metric] = part
        self._gauges.clear()
        self._latencies.clear()


def _shown(key: MetricKey, kind: str, value: Any) -> MetricView:
    return MetricView(key.uid, key.groups, key.name, kind, value)


def _distribution(part: Any) -> Statistics:
    value: Mapping[str, Any] = part.get_local_value()
    count = value["count"]
    mean = value["sum"] / count if count else None
    return Statistics(count, value["min"], value["max"], value["sum"], mean)


def _histogram(part: Any) -> Statistics:
    values = sorted(part.newest)
    if not values:
        return Statistics(part.get_count())
    last = len(values) - 1
    return Statistics(
        part.get_count(),
        values[0],
        values[-1],
        None,
        statistics.fmean(values),
        statistics.pstdev(values),
        tuple((q, float(values[round(q * last)])) for q in QUANTILES),
    )


_KINDS: Final[Mapping[type, Callable[[Any], tuple[str, Any]]]] = {
    metrics.Counter: lambda part: ("counter", part.get_count()),
    metrics.Meter: lambda part: ("meter", part.get_count()),
    metrics.Distribution: lambda part: ("distribution", _distribution(part)),
    metrics.Histogram: lambda part: ("histogram", _histogram(part)),
}
