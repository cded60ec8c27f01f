"""Checkpoints and savepoints: history, sums, settings, details by vertex and subtask.

A checkpoint is taken between two epochs, from the answers that the subtasks gave for the last one. So all
subtasks have answered when the cut is there. How long barriers wait in real time nobody measures: it is 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from firesteel.common.options import state
from firesteel.jobmanager.checkpoints.statistics import (
    CheckpointReport,
    CheckpointStatus,
    InProgress,
    Restored,
)
from firesteel.jobmanager.job_view import JobView, VertexView
from firesteel.program.checkpointing_mode import CheckpointingMode
from firesteel.program.retention import ExternalizedCheckpointRetention as Retention
from firesteel.rest.answers.statistics import stats_summary
from firesteel.rest.errors import not_found
from firesteel.rest.messages.base import NO_TIME, NOT_AVAILABLE
from firesteel.rest.messages.checkpoints import (
    AlignmentSummary,
    Checkpoint,
    CheckpointConfigInfo,
    Checkpoints,
    CheckpointsSummary,
    Counts,
    DurationSummary,
    Externalization,
    Latest,
    RestoredCheckpoint,
    StatsSummary,
    SubtaskAlignment,
    SubtaskCheckpoint,
    SubtaskDurations,
    SubtasksSummary,
    TaskCheckpoint,
    TaskCheckpointDetails,
)

_BACKENDS = {"rocksdb": "EmbeddedRocksDBStateBackend"}  # where state may be larger than memory
_PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
_NEVER_MS = 2**63 - 1  # Flink's interval of a job without checkpoints
_MATERIALIZATION_MS = 600_000


def checkpoints(view: JobView, history: int) -> Checkpoints:
    """The page of checkpoints; ``history``: how many of the newest are listed."""
    found = view.checkpoints
    pending = found.in_progress
    newest = [_checkpoint(view, report) for report in reversed(found.history[-history:])]
    if pending is not None:
        newest = [_pending(view, pending), *newest][:history]
    return Checkpoints(
        counts=Counts(
            restored=found.restored,
            total=found.completed + found.failed + (pending is not None),
            in_progress=int(pending is not None),
            completed=found.completed,
            failed=found.failed,
        ),
        summary=_summary(view),
        latest=Latest(
            completed=_optional(view, found.latest_completed),
            savepoint=_optional(view, found.latest_savepoint),
            failed=_optional(view, found.latest_failed),
            restored=_restored(found.latest_restored),
        ),
        history=newest,
    )


def _summary(view: JobView) -> CheckpointsSummary:
    found = view.checkpoints
    done = [report for report in found.history if report.status is CheckpointStatus.COMPLETED]
    nothing = stats_summary([0.0] * len(done))
    return CheckpointsSummary(
        checkpointed_size=stats_summary([r.checkpointed_bytes for r in done], found.checkpointed_bytes),
        state_size=stats_summary([r.state_bytes for r in done], found.state_bytes),
        end_to_end_duration=stats_summary([r.duration_ms for r in done], found.duration_ms),
        alignment_buffered=nothing,
        processed_data=nothing,
        persisted_data=nothing,
    )


def _optional(view: JobView, report: CheckpointReport | None) -> Checkpoint | None:
    return None if report is None else _checkpoint(view, report)


def _restored(restored: Restored | None) -> RestoredCheckpoint | None:
    if restored is None:
        return None
    return RestoredCheckpoint(
        id=restored.id,
        restore_timestamp=restored.restored_ms,
        is_savepoint=restored.savepoint,
        external_path=restored.path,
    )


def _checkpoint(
    view: JobView, report: CheckpointReport, tasks: dict[str, TaskCheckpoint] | None = None
) -> Checkpoint:
    done = report.status is CheckpointStatus.COMPLETED
    subtasks = _subtasks(view.vertices)
    return Checkpoint(
        class_name="completed" if done else "failed",
        id=report.id,
        status="COMPLETED" if done else "FAILED",
        is_savepoint=report.savepoint,
        savepoint_format="CANONICAL" if report.savepoint else None,
        trigger_timestamp=report.triggered_ms,
        latest_ack_timestamp=_time(report.acknowledged_ms),
        checkpointed_size=report.checkpointed_bytes,
        state_size=report.state_bytes,
        end_to_end_duration=int(report.duration_ms),
        alignment_buffered=0,
        processed_data=0,
        persisted_data=report.persisted_in_flight_bytes,
        num_subtasks=subtasks,
        num_acknowledged_subtasks=0 if report.acknowledged_ms is None else subtasks,
        checkpoint_type="SAVEPOINT" if report.savepoint else "CHECKPOINT",
        tasks=tasks or {},
        **(_of_completed(view, report) if done else _of_failed(report)),
    )


def _of_completed(view: JobView, report: CheckpointReport) -> dict[str, Any]:
    kept = report.savepoint or report.path in view.checkpoints.retained
    return {"external_path": report.path, "discarded": not kept}


def _of_failed(report: CheckpointReport) -> dict[str, Any]:
    failed_ms = report.triggered_ms + int(report.duration_ms)
    return {"failure_timestamp": failed_ms, "failure_message": report.failure}


def _pending(
    view: JobView, pending: InProgress, tasks: dict[str, TaskCheckpoint] | None = None
) -> Checkpoint:
    subtasks = _subtasks(view.vertices)
    return Checkpoint(
        class_name="in_progress",
        id=pending.id,
        status="IN_PROGRESS",
        is_savepoint=pending.savepoint,
        savepoint_format="CANONICAL" if pending.savepoint else None,
        trigger_timestamp=pending.triggered_ms,
        latest_ack_timestamp=_time(pending.acknowledged_ms),
        checkpointed_size=0,
        state_size=pending.state_bytes,
        end_to_end_duration=max(0, view.published_ms - pending.triggered_ms),
        alignment_buffered=0,
        processed_data=0,
        persisted_data=0,
        num_subtasks=subtasks,
        num_acknowledged_subtasks=0 if pending.acknowledged_ms is None else subtasks,
        checkpoint_type="SAVEPOINT" if pending.savepoint else "CHECKPOINT",
        tasks=tasks or {},
    )


def _subtasks(vertices: Iterable[VertexView]) -> int:
    return sum(vertex.info.parallelism for vertex in vertices)


def _time(instant_ms: int | None) -> int:
    return NO_TIME if instant_ms is None else instant_ms


# ---- details


def _find(view: JobView, number: int) -> CheckpointReport | InProgress:
    found = view.checkpoints
    latest = (found.latest_completed, found.latest_savepoint, found.latest_failed, found.in_progress)
    for report in (*reversed(found.history), *latest):
        if report is not None and report.id == number:
            return report
    raise not_found(
        f"Could not find checkpoint statistics for checkpoint {number}; the newest 100 are known."
    )


def checkpoint_details(view: JobView, number: int) -> Checkpoint:
    """One checkpoint with its vertices.

    :raises RestError: 404: it is unknown, or too old.
    """
    report = _find(view, number)
    tasks = {v.id: TaskCheckpoint(**_task(report, v)) for v in view.vertices}
    if isinstance(report, InProgress):
        return _pending(view, report, tasks)
    return _checkpoint(view, report, tasks)


def _task(report: CheckpointReport | InProgress, vertex: VertexView) -> dict[str, Any]:
    answered = report.acknowledged_ms is not None
    sizes = _sizes(report, vertex)
    return {
        "id": report.id,
        "status": "IN_PROGRESS" if isinstance(report, InProgress) else report.status.value,
        "latest_ack_timestamp": _time(report.acknowledged_ms),
        "checkpointed_size": _new_bytes(report, sum(sizes)),
        "state_size": sum(sizes),
        "end_to_end_duration": int(report.snapshot_ms or 0) if answered else NO_TIME,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": vertex.info.parallelism,
        "num_acknowledged_subtasks": vertex.info.parallelism if answered else 0,
    }


def _sizes(report: CheckpointReport | InProgress, vertex: VertexView) -> list[int]:
    sizes = [0] * vertex.info.parallelism
    for part in report.subtasks:
        if part.vertex == vertex.id and part.subtask < len(sizes):
            sizes[part.subtask] = part.state_bytes
    return sizes


def _new_bytes(report: CheckpointReport | InProgress, state_bytes: int) -> int:
    """What a subtask has written for it. Subtasks share files, so of a checkpoint it is known as a whole
    only; nothing is new where there is nothing, and all of it is in a savepoint."""
    return state_bytes if report.savepoint or not state_bytes else NOT_AVAILABLE


def task_details(view: JobView, number: int, vertex: VertexView) -> TaskCheckpointDetails:
    """A vertex in a checkpoint, with its subtasks."""
    report = _find(view, number)
    sizes = _sizes(report, vertex)
    return TaskCheckpointDetails(
        **_task(report, vertex),
        summary=None if report.acknowledged_ms is None else _subtasks_summary(report, sizes),
        subtasks=[_subtask(report, i, size) for i, size in enumerate(sizes)],
    )


def _subtask(report: CheckpointReport | InProgress, index: int, size: int) -> SubtaskCheckpoint:
    snapshot_ms = int(report.snapshot_ms or 0)
    if report.acknowledged_ms is None:
        return SubtaskCheckpoint(class_name="pending", index=index, status="pending")
    return SubtaskCheckpoint(
        class_name="completed",
        index=index,
        status="completed",
        ack_timestamp=report.acknowledged_ms,
        end_to_end_duration=snapshot_ms,
        checkpointed_size=_new_bytes(report, size),
        state_size=size,
        checkpoint=SubtaskDurations(sync=snapshot_ms, asynchronous=0),
        alignment=SubtaskAlignment(buffered=0, processed=0, persisted=0, duration=0),
        start_delay=0,
        unaligned_checkpoint=False,
        aborted=False,
    )


def _subtasks_summary(report: CheckpointReport | InProgress, sizes: list[int]) -> SubtasksSummary:
    def over(values: Iterable[float]) -> StatsSummary:
        found = stats_summary(list(values))
        return StatsSummary(  # Flink has no percentiles of subtasks
            min=found.min,
            max=found.max,
            avg=found.avg,
            p50="NaN",
            p90="NaN",
            p95="NaN",
            p99="NaN",
            p999="NaN",
        )

    nothing = over([0.0] * len(sizes))
    snapshot = over([report.snapshot_ms or 0.0] * len(sizes))
    return SubtasksSummary(
        checkpointed_size=over(_new_bytes(report, size) for size in sizes),
        state_size=over(sizes),
        end_to_end_duration=snapshot,
        checkpoint_duration=DurationSummary(sync=snapshot, asynchronous=nothing),
        alignment=AlignmentSummary(
            buffered=stats_summary([0.0] * len(sizes)),
            processed=nothing,
            persisted=nothing,
            duration=nothing,
        ),
        start_delay=nothing,
    )


# ---- settings


def checkpoint_config(view: JobView) -> CheckpointConfigInfo:
    options = view.info.checkpointing
    backend = dict(view.info.settings).get(state.BACKEND.key, "hashmap")
    kept = options.retention
    return CheckpointConfigInfo(
        mode="exactly_once" if options.mode is CheckpointingMode.EXACTLY_ONCE else "at_least_once",
        interval=_NEVER_MS if options.interval_ms is None else options.interval_ms,
        timeout=options.timeout_ms,
        min_pause=options.min_pause_ms,
        max_concurrent=1,
        externalization=Externalization(
            enabled=kept is not Retention.NO_EXTERNALIZED_CHECKPOINTS,
            delete_on_cancellation=kept is not Retention.RETAIN_ON_CANCELLATION,
        ),
        state_backend=_BACKENDS.get(backend.lower(), "HashMapStateBackend"),
        checkpoint_storage=(
            "JobManagerCheckpointStorage" if options.directory is None else "FileSystemCheckpointStorage"
        ),
        unaligned_checkpoints=False,
        tolerable_failed_checkpoints=options.tolerable_failures,
        aligned_checkpoint_timeout=0,
        checkpoints_after_tasks_finish=True,
        state_changelog_enabled=False,
        changelog_periodic_materialization_interval=_MATERIALIZATION_MS,
        changelog_storage="memory",
    )
