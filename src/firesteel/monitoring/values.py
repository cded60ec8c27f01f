"""The values of metrics under Flink's names, as far as somebody measures them; all others are not listed.

What each of them is: ``docs/metrics.md``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from firesteel.common.job_status import JobStatus
from firesteel.graph.execution_graph import ExecutionState
from firesteel.jobmanager.checkpoints.statistics import CheckpointReport
from firesteel.jobmanager.job_view import JobView, MetricView, SubtaskView, VertexView
from firesteel.metrics.machines import Machines
from firesteel.monitoring.measures import Kind, Measure
from firesteel.monitoring.rates import Rate, Rates
from firesteel.runtime.batch import MAX_WATERMARK, MIN_WATERMARK
from firesteel.runtime.reporting import process_report

#: Metrics of how long a job is in a state, by the state.
_TIMES: Final = {
    "initializingTime": JobStatus.INITIALIZING,
    "createdTime": JobStatus.CREATED,
    "runningTime": JobStatus.RUNNING,
    "restartingTime": JobStatus.RESTARTING,
    "cancellingTime": JobStatus.CANCELLING,
    "failingTime": JobStatus.FAILING,
}
_RUNNING: Final = ExecutionState.RUNNING
_KINDS: Final[Mapping[str, Kind]] = {
    "counter": Kind.COUNTER,
    "meter": Kind.METER,
    "gauge": Kind.GAUGE,
    "distribution": Kind.GAUGE,  # as PyFlink gives it
    "histogram": Kind.HISTOGRAM,
}


# ---- of a job


def job_values(view: JobView, now_ms: int) -> Iterator[Measure]:
    yield from _times(view, now_ms)
    yield Measure("numRestarts", view.restarts)
    yield Measure("numRescales", view.rescales.changes)
    yield Measure("mailboxSize", view.requests_waiting)
    yield from _checkpoint_values(view)
    yield Measure("currentEpoch", view.epoch)
    if view.reports:
        yield Measure("lastEpochDuration", view.reports[-1].elapsed_ms)
        overhead_ms = view.reports[-1].overhead_ms
        if overhead_ms is not None:
            yield Measure("epochOverheadMs", overhead_ms)
    yield Measure("pythonWorkers.Count", len(view.workers))
    yield Measure("pythonWorkers.Memory.Used", sum(worker.rss_bytes for worker in view.workers))
    yield Measure("pythonWorkers.CPU.Time", int(sum(worker.cpu_s for worker in view.workers) * 1e9))


def _times(view: JobView, now_ms: int) -> Iterator[Measure]:
    entered = dict(view.timestamps)
    lasted = {
        name: now_ms - entered[status] if view.status is status else 0 for name, status in _TIMES.items()
    }
    for name, ms in lasted.items():
        yield Measure(name, ms)
    running = view.status is JobStatus.RUNNING
    states = {s.attempt.state for v in view.vertices for s in v.subtasks}
    deploying = states & {ExecutionState.DEPLOYING, ExecutionState.SCHEDULED}
    at_work = states <= {ExecutionState.RUNNING, ExecutionState.FINISHED}
    since_ms = now_ms - entered.get(JobStatus.RUNNING, now_ms)
    yield Measure("deployingTime", since_ms if running and deploying else 0)
    yield Measure("allSubTasksRunningOrFinishedTime", since_ms if running and at_work else 0)
    yield Measure("uptime", -1 if view.ended_ms is not None else lasted["runningTime"])
    yield Measure("downtime", lasted["restartingTime"])


def _checkpoint_values(view: JobView) -> Iterator[Measure]:
    known = view.checkpoints
    newest: CheckpointReport | None = known.latest_completed
    restored = known.latest_restored
    restore_ms = None if restored is None else restored.elapsed_ms
    in_progress = int(known.in_progress is not None)
    for name, value in {
        "totalNumberOfCheckpoints": known.completed + known.failed + in_progress,
        "numberOfInProgressCheckpoints": in_progress,
        "numberOfCompletedCheckpoints": known.completed,
        "numberOfFailedCheckpoints": known.failed,
        "lastCheckpointRestoreTimestamp": -1 if restored is None else restored.restored_ms,
        "lastRestoreFiles": -1 if restored is None else restored.files,
        "lastRestoreSize": -1 if restored is None else restored.state_bytes,
        "lastRestoreDuration": -1 if restore_ms is None else restore_ms,
        "lastCheckpointSyncDuration": -1 if newest is None else int(newest.snapshot_ms),
        "lastCheckpointWriteDuration": -1 if newest is None else int(newest.write_ms),
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
    }.items():
        yield Measure(name, value)


# ---- of subtasks


class JobReader:
    """Reads the metrics of the subtasks of one view of a job."""

    def __init__(self, view: JobView, rates: Rates, now_ms: int) -> None:
        self._view = view
        self._rates = rates
        self._now_ms = now_ms
        self._pending: dict[tuple[str, int], int] = {}  # by source and subtask
        readers = {uid: dict(splits) for uid, splits in view.readers}
        for uid, splits in view.lag:
            of_source = readers.get(uid, {})
            for split, records in splits:
                if split in of_source:
                    key = uid, of_source[split]
                    self._pending[key] = self._pending.get(key, 0) + records

    def of(self, vertex: VertexView, indexes: Iterable[int] | None = None) -> Iterator[list[Measure]]:
        """Read the metrics of each subtask of a vertex: those of the task, and of each operator.

        :param indexes: of the subtasks to read; None: all.
        """
        rates = self._rates.of(self._view, vertex, self._now_ms)
        numbers = {operator.id: number for number, operator in enumerate(vertex.info.operators)}
        for index in range(len(vertex.subtasks)) if indexes is None else indexes:
            subtask = vertex.subtasks[index]
            yield self._subtask(vertex, subtask, None if rates is None else rates.of(subtask), numbers)

    def _subtask(  # hot: for each subtask of a job, whenever a reporter reads
        self, vertex: VertexView, subtask: SubtaskView, rate: Rate | None, numbers: Mapping[str, int]
    ) -> list[Measure]:
        found = self._task(vertex, subtask, rate)
        found += self._operators(vertex, subtask, rate)
        found += _users(subtask.metrics, rate, numbers)
        return found

    def _task(self, vertex: VertexView, subtask: SubtaskView, rate: Rate | None) -> list[Measure]:
        has_input = bool(vertex.info.inputs)
        counter, meter = Kind.COUNTER, Kind.METER
        found = [
            Measure("numRecordsIn", subtask.records_in if has_input else 0, counter),
            Measure("numRecordsOut", subtask.records_out, counter),
            Measure("numBytesIn", subtask.bytes_in, counter),
            Measure("numBytesOut", subtask.bytes_out, counter),
            Measure("checkpointAlignmentTime", 0),
        ]
        if has_input:
            found.append(Measure("currentInputWatermark", watermark_of(subtask)))
        found += (
            Measure("accumulateBusyTimeMs", round(subtask.busy_ms)),
            Measure("accumulateBackPressuredTimeMs", round(subtask.back_pressured_ms)),
            Measure("accumulateIdleTimeMs", idle_ms(subtask, self._now_ms)),
        )
        if rate is not None:
            found += (
                Measure("numRecordsInPerSecond", rate.records_in if has_input else 0.0, meter),
                Measure("numRecordsOutPerSecond", rate.records_out, meter),
                Measure("numBytesInPerSecond", rate.bytes_in, meter),
                Measure("numBytesOutPerSecond", rate.bytes_out, meter),
                Measure("busyTimeMsPerSecond", rate.busy_ms),
                Measure("backPressuredTimeMsPerSecond", rate.back_pressured_ms),
                Measure("idleTimeMsPerSecond", rate.idle_ms, meter),
                Measure("isBackPressured", rate.back_pressured_ms > 0),
            )
        return found

    def _operators(self, vertex: VertexView, subtask: SubtaskView, rate: Rate | None) -> list[Measure]:
        found: list[Measure] = []
        operators = vertex.info.operators
        for n, (operator, (into, out)) in enumerate(zip(operators, subtask.operators, strict=True)):
            found.append(Measure("numRecordsIn", into, Kind.COUNTER, n))
            found.append(Measure("numRecordsOut", out, Kind.COUNTER, n))
            if rate is not None:
                found.append(Measure("numRecordsInPerSecond", rate.operators[n][0], Kind.METER, n))
                found.append(Measure("numRecordsOutPerSecond", rate.operators[n][1], Kind.METER, n))
            if operator.kind == "source":
                found += self._source(operator.id, subtask, n)
            elif operator.kind == "sink":
                found.append(Measure("numRecordsSend", into, Kind.COUNTER, n))
        last = len(operators) - 1
        if vertex.info.inputs:
            found.append(Measure("currentInputWatermark", watermark_of(subtask), operator=0))
        found.append(Measure("currentOutputWatermark", watermark_of(subtask), operator=last))
        return found

    def _source(self, uid: str, subtask: SubtaskView, number: int) -> Iterator[Measure]:
        waiting = self._pending.get((uid, subtask.index))
        if waiting is not None:
            yield Measure("pendingRecords", waiting, operator=number)
        if subtask.lag_ms is not None:
            yield Measure("currentFetchEventTimeLag", subtask.lag_ms, operator=number)
            yield Measure("currentEmitEventTimeLag", subtask.lag_ms, operator=number)
        if subtask.watermark is not None and MIN_WATERMARK < subtask.watermark < MAX_WATERMARK:
            yield Measure("watermarkLag", self._now_ms - subtask.watermark, operator=number)
        if subtask.active_ms:
            yield Measure("sourceIdleTime", max(0, self._now_ms - subtask.active_ms), operator=number)


def _users(metrics: Iterable[MetricView], rate: Rate | None, numbers: Mapping[str, int]) -> Iterator[Measure]:
    """Of users' functions, or of operators that count as one does. A meter has no value at first."""
    for metric in metrics:
        value = metric.value
        if metric.kind == "meter":
            if rate is None:
                continue
            value = rate.meters[metric.operator, metric.path]
        yield Measure(metric.name, value, _KINDS[metric.kind], numbers.get(metric.operator), metric.groups)


def idle_ms(subtask: SubtaskView, now_ms: int) -> int:
    """How long the subtask was neither busy nor back pressured since it first ran, pauses included."""
    attempt = subtask.attempt
    first = subtask.earlier[0] if subtask.earlier else attempt
    begun_ms = next((ms for state, ms in first.entered_ms if state is _RUNNING), None)
    if begun_ms is None:
        return 0
    until_ms = attempt.entered_ms[-1][1] if attempt.state.terminal else now_ms
    return max(0, round(until_ms - begun_ms - subtask.busy_ms - subtask.back_pressured_ms))


def watermark_of(subtask: SubtaskView) -> int:
    """Return the watermark of a subtask, the least one before its first."""
    return MIN_WATERMARK if subtask.watermark is None else subtask.watermark


# ---- of the cluster


def slots_of(view: JobView) -> int:
    """How many slots a job needs: in each sharing group those of its widest vertex; in real time those of all
    its subtasks."""
    if view.held_slots:
        return view.held_slots
    widest: dict[str, int] = {}
    for vertex in view.info.vertices:
        group = vertex.slot_sharing_group
        widest[group] = max(widest.get(group, 0), vertex.parallelism)
    return sum(widest.values())


def free_slots(machines: Machines, views: Iterable[JobView]) -> int:
    """What the jobs that have not ended leave of all slots."""
    return max(0, machines.slots - sum(slots_of(view) for view in views if view.ended_ms is None))


def driver_values(machines: Machines, views: Iterable[JobView]) -> Iterator[Measure]:
    """Of the job manager: the driver of Spark, its JVM and its Python process."""
    views = list(views)
    yield Measure("numRegisteredTaskManagers", len(machines.workers))
    yield Measure("numRunningJobs", sum(view.status is JobStatus.RUNNING for view in views))
    yield Measure("taskSlotsTotal", machines.slots)
    yield Measure("taskSlotsAvailable", free_slots(machines, views))
    for name, value in machines.figures:
        yield Measure(name, value)
    process = process_report()
    yield Measure("Status.Python.Memory.Used", process.rss_bytes)
    yield Measure("Status.Python.CPU.Time", time.process_time_ns())
    yield Measure("Status.Python.Threads.Count", threading.active_count())


def worker_values(machines: Machines, worker_id: str) -> list[Measure] | None:
    """Of a task manager; None: there is none of that id."""
    worker = machines.worker(worker_id)
    return None if worker is None else [Measure(name, value) for name, value in worker.figures]
