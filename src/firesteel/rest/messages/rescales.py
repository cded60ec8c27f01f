"""Bodies about the parallelism of a job: what is wanted, and how it has changed."""

from __future__ import annotations

from typing import Any

from firesteel.rest.messages.base import Id, Message
from firesteel.rest.messages.checkpoints import StatsSummary


class ParallelismBounds(Message, frozen=True, rename="camel"):
    lower_bound: int
    upper_bound: int


class VertexRequirements(Message, frozen=True):
    parallelism: ParallelismBounds


#: By vertex id.
Requirements = dict[str, VertexRequirements]


class RescalesConfig(Message, frozen=True):
    """Times are in milliseconds; what Firesteel does not wait for is 0."""

    rescaleHistoryMax: int  # the names of Flink, one for one
    schedulerExecutionMode: str | None
    submissionResourceWaitTimeoutInMillis: int
    submissionResourceStabilizationTimeoutInMillis: int
    slotIdleTimeoutInMillis: int
    executingCooldownTimeoutInMillis: int
    executingResourceStabilizationTimeoutInMillis: int
    maximumDelayForTriggeringRescaleInMillis: int
    rescaleOnFailedCheckpointCount: int


class RescaledVertex(Message, frozen=True, rename="camel"):
    job_vertex_id: Id
    job_vertex_name: str
    slot_sharing_group_id: Id
    slot_sharing_group_name: str
    desired_parallelism: int
    sufficient_parallelism: int
    pre_rescale_parallelism: int | None
    post_rescale_parallelism: int | None


class Profile(Message, frozen=True, rename="camel"):
    """-1: it is not known."""

    cpu_cores: float = -1.0
    task_heap_memory: int = -1
    task_off_heap_memory: int = -1
    managed_memory: int = -1
    network_memory: int = -1
    extended_resources: dict[str, Any] = {}


class RescaledSlots(Message, frozen=True, rename="camel"):
    slot_sharing_group_id: Id
    slot_sharing_group_name: str
    request_resource_profile: Profile
    desired_slots: int
    minimal_required_slots: int
    pre_rescale_slots: int | None
    post_rescale_slots: int | None
    acquired_resource_profile: Profile


class SchedulerState(Message, frozen=True, rename="camel"):
    state: str
    enter_timestamp_in_millis: int
    leave_timestamp_in_millis: int
    duration_in_millis: int
    stringified_exception: str | None


class Rescale(Message, frozen=True, rename="camel"):
    rescale_uuid: Id
    resource_requirements_uuid: Id
    rescale_attempt_id: int
    vertices: dict[str, RescaledVertex]
    slots: dict[str, RescaledSlots]
    scheduler_states: list[SchedulerState]
    start_timestamp_in_millis: int
    end_timestamp_in_millis: int
    terminal_state: str
    trigger_cause: str
    terminated_reason: str


class RescalesCounts(Message, frozen=True, rename="camel"):
    ignored: int
    in_progress: int
    completed: int
    failed: int


class LatestRescales(Message, frozen=True):
    completed: Rescale | None
    failed: Rescale | None
    ignored: Rescale | None


class RescalesOverview(Message, frozen=True, rename="camel"):
    rescales_counts: RescalesCounts
    latest: LatestRescales


class RescalesSummary(Message, frozen=True, rename="camel"):
    rescales_counts: RescalesCounts
    rescales_duration_stats_in_millis: StatsSummary
    completed_rescales_duration_stats_in_millis: StatsSummary
    ignored_rescales_duration_stats_in_millis: StatsSummary
    failed_rescales_duration_stats_in_millis: StatsSummary
