"""Checkpoints and savepoints of a job. Sizes in bytes, durations in milliseconds."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from firesteel.rest.messages.base import Message, Number


class Counts(Message, frozen=True):
    restored: int
    total: int
    in_progress: int
    completed: int
    failed: int


class StatsSummary(Message, frozen=True):
    """Of one figure; the percentiles of nothing are "NaN"."""

    min: int
    max: int
    avg: int
    p50: Number
    p90: Number
    p95: Number
    p99: Number
    p999: Number


class CheckpointsSummary(Message, frozen=True):
    checkpointed_size: StatsSummary
    state_size: StatsSummary
    end_to_end_duration: StatsSummary
    alignment_buffered: StatsSummary
    processed_data: StatsSummary
    persisted_data: StatsSummary


class TaskCheckpoint(Message, frozen=True):
    """A vertex in a checkpoint."""

    id: int
    status: str
    latest_ack_timestamp: int
    checkpointed_size: int
    state_size: int
    end_to_end_duration: int
    alignment_buffered: int
    processed_data: int
    persisted_data: int
    num_subtasks: int
    num_acknowledged_subtasks: int


_CHECKPOINT = {"class_name": "className", "savepoint_format": "savepointFormat"}


class Checkpoint(Message, frozen=True, rename=_CHECKPOINT):
    """``tasks``: by vertex, in the details of one checkpoint only. Which of the last four there are depends
    on ``class_name``."""

    class_name: Literal["completed", "failed", "in_progress"]
    id: int
    status: Literal["COMPLETED", "FAILED", "IN_PROGRESS"]
    is_savepoint: bool
    savepoint_format: Literal["CANONICAL", "NATIVE"] | None
    trigger_timestamp: int
    latest_ack_timestamp: int
    checkpointed_size: int
    state_size: int
    end_to_end_duration: int
    alignment_buffered: int
    processed_data: int
    persisted_data: int
    num_subtasks: int
    num_acknowledged_subtasks: int
    checkpoint_type: Literal["CHECKPOINT", "UNALIGNED_CHECKPOINT", "SAVEPOINT", "SYNC_SAVEPOINT"]
    tasks: dict[str, TaskCheckpoint]
    external_path: str | UnsetType | None = UNSET
    discarded: bool | UnsetType = UNSET
    failure_timestamp: int | UnsetType = UNSET
    failure_message: str | UnsetType | None = UNSET


class RestoredCheckpoint(Message, frozen=True):
    id: int
    restore_timestamp: int
    is_savepoint: bool
    external_path: str


class Latest(Message, frozen=True):
    completed: Checkpoint | None
    savepoint: Checkpoint | None
    failed: Checkpoint | None
    restored: RestoredCheckpoint | None


class Checkpoints(Message, frozen=True):
    """``history``: the newest first."""

    counts: Counts
    summary: CheckpointsSummary
    latest: Latest
    history: list[Checkpoint]


class Externalization(Message, frozen=True):
    enabled: bool
    delete_on_cancellation: bool


class CheckpointConfigInfo(Message, frozen=True):
    mode: Literal["exactly_once", "at_least_once"]
    interval: int
    timeout: int
    min_pause: int
    max_concurrent: int
    externalization: Externalization
    state_backend: str
    checkpoint_storage: str
    unaligned_checkpoints: bool
    tolerable_failed_checkpoints: int
    aligned_checkpoint_timeout: int
    checkpoints_after_tasks_finish: bool
    state_changelog_enabled: bool
    changelog_periodic_materialization_interval: int
    changelog_storage: str


class SubtaskDurations(Message, frozen=True, rename={"asynchronous": "async"}):
    sync: int
    asynchronous: int


class SubtaskAlignment(Message, frozen=True):
    buffered: int
    processed: int
    persisted: int
    duration: int


class SubtaskCheckpoint(Message, frozen=True, rename={"class_name": "className"}):
    """``pending``: the subtask has not answered; then there is nothing but its index and status."""

    class_name: Literal["completed", "pending"]
    index: int
    status: str
    ack_timestamp: int | UnsetType = UNSET
    end_to_end_duration: int | UnsetType = UNSET
    checkpointed_size: int | UnsetType = UNSET
    state_size: int | UnsetType = UNSET
    checkpoint: SubtaskDurations | UnsetType = UNSET
    alignment: SubtaskAlignment | UnsetType = UNSET
    start_delay: int | UnsetType = UNSET
    unaligned_checkpoint: bool | UnsetType = UNSET
    aborted: bool | UnsetType = UNSET


class DurationSummary(Message, frozen=True, rename={"asynchronous": "async"}):
    sync: StatsSummary
    asynchronous: StatsSummary


class AlignmentSummary(Message, frozen=True):
    buffered: StatsSummary
    processed: StatsSummary
    persisted: StatsSummary
    duration: StatsSummary


class SubtasksSummary(Message, frozen=True):
    checkpointed_size: StatsSummary
    state_size: StatsSummary
    end_to_end_duration: StatsSummary
    checkpoint_duration: DurationSummary
    alignment: AlignmentSummary
    start_delay: StatsSummary


class TaskCheckpointDetails(TaskCheckpoint, frozen=True):
    """``summary`` is null for a checkpoint that no subtask has answered."""

    summary: SubtasksSummary | None
    subtasks: list[SubtaskCheckpoint]
