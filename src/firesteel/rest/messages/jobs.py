"""Jobs: lists, one job, its plan, its settings, its result."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from firesteel.rest.messages.base import Empty, Id, Message, Number

JobType = Literal["BATCH", "STREAMING"]
Scheduler = Literal["Default", "Adaptive", "AdaptiveBatch"]


class JobIdWithStatus(Message, frozen=True):
    id: Id
    status: str


class JobIds(Message, frozen=True):
    jobs: list[JobIdWithStatus]


class JobStatusInfo(Message, frozen=True):
    status: str


class TaskCounts(Message, frozen=True):
    """How many subtasks are in each state."""

    created: int
    scheduled: int
    deploying: int
    initializing: int
    running: int
    finished: int
    canceling: int
    canceled: int
    failed: int
    reconciling: int
    total: int


_JOB = {
    "job_type": "jobType",
    "scheduler_type": "schedulerType",
    "start_time": "start-time",
    "end_time": "end-time",
    "last_modification": "last-modification",
    "pending_operators": "pending-operators",
}


class JobDetails(Message, frozen=True, rename=_JOB):
    """A job in a list."""

    jid: Id
    name: str
    job_type: JobType
    scheduler_type: Scheduler | None
    start_time: int
    end_time: int
    duration: int
    state: str
    last_modification: int
    tasks: TaskCounts
    pending_operators: int


class JobsOverview(Message, frozen=True):
    """The youngest first."""

    jobs: list[JobDetails]


class IOMetrics(Message, frozen=True, rename="kebab"):
    """Counters; times in milliseconds."""

    read_bytes: int
    read_bytes_complete: bool
    write_bytes: int
    write_bytes_complete: bool
    read_records: int
    read_records_complete: bool
    write_records: int
    write_records_complete: bool
    accumulated_backpressured_time: int
    accumulated_idle_time: int
    accumulated_busy_time: Number


_VERTEX = {
    "slot_sharing_group_id": "slotSharingGroupId",
    "max_parallelism": "maxParallelism",
    "start_time": "start-time",
    "end_time": "end-time",
}


class JobVertex(Message, frozen=True, rename=_VERTEX):
    """A vertex in the page of its job. ``tasks``: subtasks by upper-case state."""

    id: Id
    slot_sharing_group_id: Id
    name: str
    max_parallelism: int
    parallelism: int
    status: str
    start_time: int
    end_time: int
    duration: int
    tasks: dict[str, int]
    metrics: IOMetrics


class PlanInput(Message, frozen=True):
    id: Id
    num: int
    exchange: str
    ship_strategy: str


class PlanNode(Message, frozen=True):
    """``description``: HTML. A source has no inputs."""

    id: Id
    operator: str
    parallelism: int
    operator_strategy: str
    description: str
    optimizer_properties: Empty
    inputs: list[PlanInput] | UnsetType = UNSET


class Plan(Message, frozen=True):
    """``nodes``: from the last vertex to the sources."""

    jid: str
    name: str
    type: str
    nodes: list[PlanNode]


class JobPlan(Message, frozen=True):
    plan: Plan


_DETAILS = {
    **_JOB,
    "job_type": "job-type",
    "application_id": "application-id",
    "is_stoppable": "isStoppable",
    "max_parallelism": "maxParallelism",
    "status_counts": "status-counts",
}


class JobDetailsInfo(Message, frozen=True, rename=_DETAILS):
    """One job. ``timestamps``: when it last entered each status, 0: never; ``status_counts``: vertices."""

    jid: Id
    application_id: Id | None
    name: str
    is_stoppable: bool
    state: str
    job_type: JobType
    scheduler_type: Scheduler | None
    start_time: int
    end_time: int
    duration: int
    max_parallelism: int
    now: int
    timestamps: dict[str, int]
    vertices: list[JobVertex]
    status_counts: dict[str, int]
    plan: Plan
    pending_operators: int


class ExecutionConfigInfo(Message, frozen=True, rename="kebab"):
    restart_strategy: str
    job_parallelism: int
    object_reuse_mode: bool
    user_config: dict[str, str]


class JobConfigInfo(Message, frozen=True, rename={"execution_config": "execution-config"}):
    jid: Id
    name: str
    execution_config: ExecutionConfigInfo


class UserTaskAccumulator(Message, frozen=True):
    name: str
    type: str
    value: str


class JobAccumulators(Message, frozen=True, rename="kebab"):
    """``serialized_user_task_accumulators`` is for JVMs: always empty."""

    job_accumulators: list[UserTaskAccumulator]
    user_task_accumulators: list[UserTaskAccumulator]
    serialized_user_task_accumulators: dict[str, str]


_CAUSE = {"name": "class", "stack_trace": "stack-trace", "serialized_throwable": "serialized-throwable"}


class FailureCause(Message, frozen=True, rename=_CAUSE):
    """``serialized_throwable``: base64 of a Java object; Flink's client reads nothing else."""

    name: str
    stack_trace: str
    serialized_throwable: str


class QueueStatus(Message, frozen=True):
    id: Literal["IN_PROGRESS", "COMPLETED"]


class JobResult(Message, frozen=True, rename="kebab"):
    """``accumulator_results`` has Java objects in Flink: always empty."""

    id: Id
    name: str
    application_status: Literal["SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN"]
    accumulator_results: dict[str, str]
    net_runtime: int
    start_time: int
    end_time: int
    application_id: Id | UnsetType = UNSET
    failure_cause: FailureCause | UnsetType = UNSET


class ExecutionResult(Message, frozen=True, rename={"job_execution_result": "job-execution-result"}):
    status: QueueStatus
    job_execution_result: JobResult | UnsetType = UNSET
