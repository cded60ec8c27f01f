"""Vertices and their subtasks."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from firesteel.rest.messages.base import Id, Message
from firesteel.rest.messages.jobs import IOMetrics, UserTaskAccumulator

_ATTEMPT = {
    "start_time": "start-time",
    "end_time": "end-time",
    "taskmanager_id": "taskmanager-id",
    "status_duration": "status-duration",
    "other_concurrent_attempts": "other-concurrent-attempts",
    "start_time_again": "start_time",  # Flink has it under both names
}


class SubtaskAttempt(Message, frozen=True, rename=_ATTEMPT):
    """One attempt of a subtask. ``status_duration``: milliseconds in each state that it has had."""

    subtask: int
    status: str
    attempt: int
    endpoint: str
    start_time: int
    end_time: int
    duration: int
    metrics: IOMetrics
    taskmanager_id: str
    status_duration: dict[str, int]
    start_time_again: int


class Statistics(Message, frozen=True):
    """Of one figure over subtasks."""

    min: int
    max: int
    avg: int
    sum: int
    median: int
    p25: int
    p75: int
    p95: int


class Aggregated(Message, frozen=True, rename={"status_duration": "status-duration"}):
    metrics: dict[str, Statistics]
    status_duration: dict[str, Statistics]


class VertexDetails(Message, frozen=True, rename={"max_parallelism": "maxParallelism"}):
    id: Id
    name: str
    parallelism: int
    max_parallelism: int
    now: int
    subtasks: list[SubtaskAttempt]
    aggregated: Aggregated


class SubtaskTime(Message, frozen=True):
    """``timestamps``: when the attempt entered each state, 0: never."""

    subtask: int
    endpoint: str
    duration: int
    timestamps: dict[str, int]


class SubtaskTimes(Message, frozen=True):
    id: Id
    name: str
    now: int
    subtasks: list[SubtaskTime]


_ON_TASK_MANAGER = {
    "start_time": "start-time",
    "end_time": "end-time",
    "status_counts": "status-counts",
    "taskmanager_id": "taskmanager-id",
}


class VertexOnTaskManager(Message, frozen=True, rename=_ON_TASK_MANAGER):
    endpoint: str
    status: str
    start_time: int
    end_time: int
    duration: int
    metrics: IOMetrics
    status_counts: dict[str, int]
    taskmanager_id: str
    aggregated: Aggregated


class VertexTaskManagers(Message, frozen=True):
    id: Id
    name: str
    now: int
    taskmanagers: list[VertexOnTaskManager]


class VertexAccumulators(Message, frozen=True, rename={"user_accumulators": "user-accumulators"}):
    id: Id
    user_accumulators: list[UserTaskAccumulator]


class SubtaskAccumulators(Message, frozen=True, rename={"user_accumulators": "user-accumulators"}):
    subtask: int
    attempt: int
    endpoint: str
    user_accumulators: list[UserTaskAccumulator]


class SubtasksAccumulators(Message, frozen=True):
    id: Id
    parallelism: int
    subtasks: list[SubtaskAccumulators]


class AttemptAccumulators(Message, frozen=True, rename={"user_accumulators": "user-accumulators"}):
    subtask: int
    attempt: int
    id: str
    user_accumulators: list[UserTaskAccumulator]


_BACK_PRESSURE = {
    "level": "backpressureLevel",
    "idle_ratio": "idleRatio",
    "busy_ratio": "busyRatio",
    "end_timestamp": "end-timestamp",
    "level_again": "backpressure-level",  # Flink has it under both names
}
Level = Literal["ok", "low", "high"]


class SubtaskBackPressure(Message, frozen=True, rename=_BACK_PRESSURE):
    subtask: int
    level: Level
    ratio: float
    idle_ratio: float
    busy_ratio: float
    level_again: Level


class BackPressure(Message, frozen=True, rename=_BACK_PRESSURE):
    """``deprecated``: there are no figures. Then the other fields are left out."""

    status: Literal["ok", "deprecated"]
    level: Level | UnsetType = UNSET
    end_timestamp: int | UnsetType = UNSET
    subtasks: list[SubtaskBackPressure] | UnsetType = UNSET
    level_again: Level | UnsetType = UNSET


class FlameNode(Message, frozen=True):
    """A frame: how often it was seen, and what it called."""

    name: str
    value: int
    children: list[FlameNode]


class FlameGraph(Message, frozen=True, rename={"end_timestamp": "endTimestamp"}):
    """``end_timestamp`` -2 and no data: there are no flame graphs (Flink: ``VertexFlameGraph.disabled``)."""

    end_timestamp: int
    data: FlameNode | None
