"""Metrics as the endpoints give them: names, texts of values, aggregates."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from firesteel.jobmanager.job_view import JobView, Statistics, VertexView
from firesteel.metrics.machines import Machines
from firesteel.monitoring.measures import Kind, Measure
from firesteel.monitoring.rates import Rates
from firesteel.monitoring.samples import expanded
from firesteel.monitoring.values import (
    JobReader,
    driver_values,
    job_values,
    watermark_of,
    worker_values,
)
from firesteel.rest.messages.base import number
from firesteel.rest.messages.metrics import AggregatedMetric, Metric

Value = int | float | bool | str
Values = dict[str, Value]

_NAME_LENGTH: Final = 80
_FORBIDDEN: Final = str.maketrans(" .:,", "____")


def scope_name(name: str) -> str:
    """The name of an operator as it is in the names of its metrics.

    >>> scope_name("Source: numbers -> quick")
    'Source__numbers_->_quick'
    """
    return name[:_NAME_LENGTH].translate(_FORBIDDEN)


def selected(values: Mapping[str, Value], get: str | None) -> list[Metric]:
    """All names, or those asked for with their values. Names that are not there are left out."""
    if get is None:
        return [Metric(id=name) for name in values]
    wanted = dict.fromkeys(get.split(","))
    return [Metric(id=name, value=_text(values[name])) for name in wanted if name in values]


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


# ---- aggregates


def skew(values: list[float]) -> float:
    """The mean absolute deviation in percent of the mean."""
    mean = statistics.fmean(values)
    if not mean:
        return 0.0
    return statistics.fmean(abs(value - mean) for value in values) / mean * 100


AGGREGATES: Final[Mapping[str, Callable[[list[float]], float]]] = {
    "min": min,
    "max": max,
    "avg": statistics.fmean,
    "sum": sum,
    "skew": skew,
}


def aggregated(
    parts: Collection[Mapping[str, Value]], get: str | None, agg: Collection[str]
) -> list[AggregatedMetric]:
    """The numbers among the metrics of several subtasks, jobs or task managers together.

    :param agg: which aggregates; empty: all.
    """
    names = dict.fromkeys(name for part in parts for name in part)
    if get is None:
        return [AggregatedMetric(id=name) for name in names]
    chosen = [name for name in AGGREGATES if not agg or name in agg]
    found = []
    for name in dict.fromkeys(get.split(",")):
        values = [float(part[name]) for part in parts if isinstance(part.get(name), (int, float))]
        if values:
            fields = {kind: number(AGGREGATES[kind](values)) for kind in chosen}
            found.append(AggregatedMetric(id=name, **fields))
    return found


# ---- of a job, its subtasks, the cluster


def flat(measures: Iterable[Measure], prefixes: Sequence[str] = ()) -> Values:
    """By name: that of an operator before its metrics. A histogram is several, a distribution one text, as
    in Flink.

    :param prefixes: of the operators of a chain.
    """
    found: Values = {}
    for measure in measures:
        prefix = "" if measure.operator is None else prefixes[measure.operator]
        value = measure.value
        if not isinstance(value, Statistics):
            found[prefix + measure.path] = value
        elif measure.kind is Kind.HISTOGRAM:
            found |= flat(expanded(measure), prefixes)
        else:
            found[prefix + measure.path] = (
                f"DistributionResult{{sum={value.sum}, count={value.count}, min={value.min}, "
                f"max={value.max}}}"
            )
    return found


def job_metrics(view: JobView, now_ms: int) -> Values:
    return flat(job_values(view, now_ms))


def subtask_metrics(
    view: JobView, vertex: VertexView, rates: Rates, now_ms: int, indexes: Iterable[int] | None = None
) -> list[Values]:
    """Of the task, and of each operator with its name before them, for each subtask.

    :param indexes: of the subtasks; None: all.
    """
    prefixes = [f"{scope_name(operator.name)}." for operator in vertex.info.operators]
    return [flat(found, prefixes) for found in JobReader(view, rates, now_ms).of(vertex, indexes)]


def vertex_metrics(view: JobView, vertex: VertexView, rates: Rates, now_ms: int) -> Values:
    """Of all subtasks, the index before each name."""
    return {
        f"{index}.{name}": value
        for index, values in enumerate(subtask_metrics(view, vertex, rates, now_ms))
        for name, value in values.items()
    }


def watermarks(vertex: VertexView) -> list[Metric]:
    """Of the input of each subtask; a source has none."""
    if not vertex.info.inputs:
        return []
    return [
        Metric(id=f"{s.index}.currentInputWatermark", value=_text(watermark_of(s))) for s in vertex.subtasks
    ]


def driver_metrics(machines: Machines, views: Iterable[JobView]) -> Values:
    """Of the job manager: the driver of Spark."""
    return flat(driver_values(machines, views))


def worker_metrics(machines: Machines, worker_id: str) -> Values | None:
    """Of a task manager; None: there is none of that id."""
    found = worker_values(machines, worker_id)
    return None if found is None else flat(found)
