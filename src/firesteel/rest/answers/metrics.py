"""Metrics under Flink's names, as far as somebody measures them; all others are not listed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from firesteel.common.job_status import JobStatus
from firesteel.graph.execution_graph import ExecutionState
from firesteel.jobmanager.checkpoints.statistics import CheckpointReport
from firesteel.jobmanager.job_view import JobView, SubtaskView, VertexView
from firesteel.metrics.machines import Machines
from firesteel.rest.facts import MIN_WATERMARK
from firesteel.rest.messages.base import number
from firesteel.rest.messages.metrics import AggregatedMetric, Metric
from firesteel.rest.rates import Rates

Value = int | float | bool | str
Values = dict[str, Value]

_NAME_LENGTH: Final = 80
_FORBIDDEN: Final = str.maketrans(" .:,", "____")
#: Metrics of how long a job is in a state, by the state.
_TIMES: Final = {
    "initializingTime": JobStatus.INITIALIZING,
    "createdTime": JobStatus.CREATED,
    "runningTime": JobStatus.RUNNING,
    "restartingTime": JobStatus.RESTARTING,
    "cancellingTime": JobStatus.CANCELLING,
    "failingTime": JobStatus.FAILING,
}


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


# ---- of a job


def job_metrics(view: JobView, now_ms: int) -> Values:
    entered = dict(view.timestamps)
    running = view.status is JobStatus.RUNNING
    found: Values = {
        name: now_ms - entered[status] if view.status is status else 0 for name, status in _TIMES.items()
    }
    states = {s.attempt.state for v in view.vertices for s in v.subtasks}
    deploying = states & {ExecutionState.DEPLOYING, ExecutionState.SCHEDULED}
    at_work = states <= {ExecutionState.RUNNING, ExecutionState.FINISHED}
    since_ms = now_ms - entered.get(JobStatus.RUNNING, now_ms)
    found["deployingTime"] = since_ms if running and deploying else 0
    found["allSubTasksRunningOrFinishedTime"] = since_ms if running and at_work else 0
    found["uptime"] = -1 if view.ended_ms is not None else found["runningTime"]
    found["downtime"] = found["restartingTime"]
    found["numRestarts"] = view.restarts
    found["numRescales"] = 0
    return found | _checkpoint_metrics(view)


def _checkpoint_metrics(view: JobView) -> Values:
    known = view.checkpoints
    newest: CheckpointReport | None = known.latest_completed
    restored = known.latest_restored
    in_progress = int(known.in_progress is not None)
    return {
        "totalNumberOfCheckpoints": known.completed + known.failed + in_progress,
        "numberOfInProgressCheckpoints": in_progress,
        "numberOfCompletedCheckpoints": known.completed,
        "numberOfFailedCheckpoints": known.failed,
        "lastCheckpointRestoreTimestamp": -1 if restored is None else restored.restored_ms,
        "lastCheckpointDuration": -1 if newest is None else int(newest.duration_ms),
        "lastCheckpointSize": -1 if newest is None else newest.checkpointed_bytes,
        "lastCheckpointFullSize": -1 if newest is None else newest.state_bytes,
        "lastCheckpointProcessedData": -1 if newest is None else 0,
        "lastCheckpointPersistedData": -1 if newest is None else 0,
        "lastCheckpointExternalPath": "n/a" if newest is None else newest.path or "n/a",
        "lastCheckpointCompletedTimestamp": (
            -1 if newest is None else newest.triggered_ms + int(newest.duration_ms)
        ),
        "lastCompletedCheckpointId": -1 if newest is None else newest.id,
    }


# ---- of subtasks


def subtask_metrics(
    view: JobView, vertex: VertexView, subtask: SubtaskView, rates: Rates, now_ms: int
) -> Values:
    """Of the task, and of each operator with its name before them."""
    found: Values = {
        "numRecordsIn": subtask.records_in if vertex.info.inputs else 0,
        "numRecordsOut": subtask.records_out,
        "numBytesIn": subtask.bytes_in,
        "numBytesOut": subtask.bytes_out,
        "checkpointAlignmentTime": 0,
    }
    if vertex.info.inputs:
        found["currentInputWatermark"] = _watermark(subtask)
    rate = rates.of(view, vertex.id, subtask, now_ms)
    if rate is not None:
        found["numRecordsInPerSecond"] = rate.records_in if vertex.info.inputs else 0.0
        found["numRecordsOutPerSecond"] = rate.records_out
        found["numBytesInPerSecond"] = rate.bytes_in
        found["numBytesOutPerSecond"] = rate.bytes_out
    for number_, (operator, counts) in enumerate(zip(vertex.info.operators, subtask.operators, strict=True)):
        scope = scope_name(operator.name)
        found[f"{scope}.numRecordsIn"], found[f"{scope}.numRecordsOut"] = counts
        if rate is not None:
            into, out = rate.operators[number_]
            found[f"{scope}.numRecordsInPerSecond"] = into
            found[f"{scope}.numRecordsOutPerSecond"] = out
    last = scope_name(vertex.info.operators[-1].name)
    found[f"{last}.currentOutputWatermark"] = _watermark(subtask)
    return found


def _watermark(subtask: SubtaskView) -> int:
    return MIN_WATERMARK if subtask.watermark is None else subtask.watermark


def vertex_metrics(view: JobView, vertex: VertexView, rates: Rates, now_ms: int) -> Values:
    """Of all subtasks, the index before each name."""
    return {
        f"{subtask.index}.{name}": value
        for subtask in vertex.subtasks
        for name, value in subtask_metrics(view, vertex, subtask, rates, now_ms).items()
    }


def watermarks(vertex: VertexView) -> list[Metric]:
    """Of the input of each subtask; a source has none."""
    if not vertex.info.inputs:
        return []
    return [
        Metric(id=f"{subtask.index}.currentInputWatermark", value=str(_watermark(subtask)))
        for subtask in vertex.subtasks
    ]


# ---- of the cluster


def driver_metrics(machines: Machines, views: Iterable[JobView], slots_free: int) -> Values:
    """Of the job manager: the driver of Spark."""
    found: Values = {
        "numRegisteredTaskManagers": len(machines.workers),
        "numRunningJobs": sum(view.status is JobStatus.RUNNING for view in views),
        "taskSlotsTotal": machines.slots,
        "taskSlotsAvailable": slots_free,
    }
    return found | dict(machines.figures)


def worker_metrics(machines: Machines, worker_id: str) -> Values | None:
    """Of a task manager; None: there is none of that id."""
    worker = machines.worker(worker_id)
    return None if worker is None else dict(worker.figures)
