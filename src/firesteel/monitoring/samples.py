"""All metrics at one moment, each with its scope: what reporters are given."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache

import msgspec
from msgspec.structs import replace

from firesteel.jobmanager.job_view import JobView
from firesteel.metrics.machines import Machines, WorkerInfo
from firesteel.monitoring.measures import Kind, Measure
from firesteel.monitoring.rates import Rates
from firesteel.monitoring.values import JobReader, driver_values, job_values

#: The task manager of a subtask that Spark may run anywhere.
UNASSIGNED = "(unassigned)"


class Scope(Enum):
    """Where a metric belongs, as the Prometheus reporter of Flink writes it."""

    DRIVER = "jobmanager"
    JOB = "jobmanager.job"
    WORKER = "taskmanager"
    TASK = "taskmanager.job.task"
    OPERATOR = "taskmanager.job.task.operator"


class Sample(msgspec.Struct, frozen=True, gc=False):
    """A metric with everything that reporters write of it.

    :param variables: the scope variables of Flink, ``host``, ``job_name`` and so on, without ``<>``.
    """

    scope: Scope
    variables: Mapping[str, str]
    measure: Measure

    @property
    def name(self) -> str:
        return self.measure.name

    @property
    def kind(self) -> Kind:
        return self.measure.kind


@cache
def host() -> str:
    return socket.gethostname()


def samples(
    views: Sequence[JobView], machines: Machines, rates: Rates, now_ms: int, *, ended: bool = False
) -> Iterator[Sample]:
    """The metrics of driver and executors, and of the jobs that have not ended.

    :param ended: and of those that have.
    """
    driver = {"host": host()}
    for measure in driver_values(machines, views):
        yield Sample(Scope.DRIVER, driver, measure)
    for worker in machines.workers:
        variables = _of_worker(worker)
        for name, value in worker.figures:
            yield Sample(Scope.WORKER, variables, Measure(name, value))
    alone = machines.workers[0] if len(machines.workers) == 1 else None
    for view in views:
        if ended or view.ended_ms is None:
            yield from _of_job(view, alone, rates, now_ms)


def _of_worker(worker: WorkerInfo | None) -> dict[str, str]:
    if worker is None:
        return {"host": UNASSIGNED, "tm_id": UNASSIGNED}
    return {"host": worker.endpoint.rpartition(":")[0], "tm_id": worker.id}


def _of_job(view: JobView, alone: WorkerInfo | None, rates: Rates, now_ms: int) -> Iterator[Sample]:
    job = {"job_id": view.job_id, "job_name": view.name}
    of_job = {"host": host(), **job}
    for measure in job_values(view, now_ms):
        yield Sample(Scope.JOB, of_job, measure)
    reader, place = JobReader(view, rates, now_ms), _of_worker(alone)
    for vertex in view.vertices:
        of_vertex = {**place, **job, "task_id": vertex.id, "task_name": vertex.name}
        operators = [{"operator_id": o.id, "operator_name": o.name} for o in vertex.info.operators]
        for subtask, measures in zip(vertex.subtasks, reader.of(vertex), strict=True):
            task = {
                **of_vertex,
                "task_attempt_id": subtask.attempt.id,
                "task_attempt_num": str(subtask.attempt.number),
                "subtask_index": str(subtask.index),
            }
            of_operators = [{**task, **operator} for operator in operators]
            for measure in measures:
                if measure.operator is None:
                    yield Sample(Scope.TASK, task, measure)
                else:
                    yield Sample(Scope.OPERATOR, of_operators[measure.operator], measure)


def flattened(found: Iterable[Sample]) -> Iterator[Sample]:
    """The same, statistics of distributions and histograms as numbers of their own: ``name_min``, ..."""
    for sample in found:
        for measure in expanded(sample.measure):
            yield replace(sample, measure=measure)


def expanded(measure: Measure) -> Iterator[Measure]:
    """A measure as numbers and texts alone."""
    value = measure.value
    if isinstance(value, (int, float, str)):
        yield measure
        return
    yield replace(measure, name=f"{measure.name}_count", value=value.count, kind=Kind.GAUGE)
    for name in ("min", "max", "sum", "mean", "stddev"):
        number = getattr(value, name)
        if number is not None:
            yield replace(measure, name=f"{measure.name}_{name}", value=number, kind=Kind.GAUGE)
    for quantile, number in value.quantiles:
        name = _QUANTILES.get(quantile, f"p{quantile}")
        yield replace(measure, name=f"{measure.name}_{name}", value=number, kind=Kind.GAUGE)


_QUANTILES = {
    0.5: "median", 0.75: "p75", 0.9: "p90", 0.95: "p95", 0.98: "p98", 0.99: "p99", 0.999: "p999",
}  # fmt: skip
