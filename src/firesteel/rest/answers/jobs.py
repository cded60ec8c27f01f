"""Jobs: in lists, one by one, as applications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal

from msgspec import UNSET

from firesteel.common.job_status import JobStatus
from firesteel.common.options import pipeline, restart
from firesteel.jobmanager.job_view import JobView, VertexView
from firesteel.rest.answers.failures import cause_of_job
from firesteel.rest.answers.plan import group_id, job_type, plan_of
from firesteel.rest.answers.rescales import scheduler_type
from firesteel.rest.answers.subtasks import counted, io_metrics, lasted_ms, span
from firesteel.rest.messages.applications import ApplicationDetails, ApplicationOverview
from firesteel.rest.messages.base import NO_TIME
from firesteel.rest.messages.jobs import (
    ExecutionConfigInfo,
    ExecutionResult,
    JobConfigInfo,
    JobDetails,
    JobDetailsInfo,
    JobResult,
    JobVertex,
    QueueStatus,
    TaskCounts,
)

_RESTARTS: Final = {
    "disable": "Restart deactivated.",
    "off": "Restart deactivated.",
    "none": "Restart deactivated.",
}
_Result = Literal["SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN"]
_RESULTS: Final[Mapping[JobStatus, _Result]] = {
    JobStatus.FINISHED: "SUCCEEDED",
    JobStatus.FAILED: "FAILED",
    JobStatus.CANCELED: "CANCELED",
}
#: Flink's states of an application, by those of its job.
_APPLICATION: Final[Mapping[JobStatus, str]] = {
    JobStatus.INITIALIZING: "CREATED",
    JobStatus.CREATED: "CREATED",
    JobStatus.FAILING: "FAILING",
    JobStatus.FAILED: "FAILED",
    JobStatus.CANCELLING: "CANCELING",
    JobStatus.CANCELED: "CANCELED",
    JobStatus.FINISHED: "FINISHED",
}
_APPLICATION_STATES: Final = ["CREATED", "RUNNING", "FAILING", "FAILED", "CANCELING", "CANCELED", "FINISHED"]


def end_of(view: JobView) -> int:
    return NO_TIME if view.ended_ms is None else view.ended_ms


def duration_of(view: JobView, now_ms: int) -> int:
    return lasted_ms(view.started_ms, end_of(view), now_ms)


def job_details(view: JobView, now_ms: int) -> JobDetails:
    """A job in a list."""
    states: Counter[str] = Counter()
    modified_ms = max(ms for _, ms in view.timestamps)
    for vertex in view.vertices:
        for subtask in vertex.subtasks:
            states[subtask.attempt.state.value] += 1
            modified_ms = max(modified_ms, subtask.attempt.entered_ms[-1][1])
    return JobDetails(
        jid=view.job_id,
        name=view.name,
        job_type=job_type(view.info),
        scheduler_type=scheduler_type(view),
        start_time=view.started_ms,
        end_time=end_of(view),
        duration=duration_of(view, now_ms),
        state=view.status.name,
        last_modification=modified_ms,
        tasks=_task_counts(states),
        pending_operators=0,
    )


def _task_counts(states: Counter[str]) -> TaskCounts:
    return TaskCounts(
        created=states["CREATED"],
        scheduled=states["SCHEDULED"],
        deploying=states["DEPLOYING"],
        initializing=states["INITIALIZING"],
        running=states["RUNNING"],
        finished=states["FINISHED"],
        canceling=states["CANCELING"],
        canceled=states["CANCELED"],
        failed=states["FAILED"],
        reconciling=0,
        total=states.total(),
    )


def job_details_info(view: JobView, now_ms: int) -> JobDetailsInfo:
    """The page of a job."""
    times = dict(view.timestamps)
    return JobDetailsInfo(
        jid=view.job_id,
        application_id=view.job_id,
        name=view.name,
        is_stoppable=False,
        state=view.status.name,
        job_type=job_type(view.info),
        scheduler_type=scheduler_type(view),
        start_time=view.started_ms,
        end_time=end_of(view),
        duration=duration_of(view, now_ms),
        max_parallelism=int(_setting(view, pipeline.MAX_PARALLELISM.key, "-1")),
        now=now_ms,
        timestamps={status.name: times.get(status, 0) for status in JobStatus},
        vertices=[_vertex(view, vertex, now_ms) for vertex in view.vertices],
        status_counts=counted(vertex.state for vertex in view.vertices),
        plan=plan_of(view.info),
        pending_operators=0,
    )


def _vertex(view: JobView, vertex: VertexView, now_ms: int) -> JobVertex:
    attempts = [subtask.attempt for subtask in vertex.subtasks]
    begin_ms, end_ms, duration_ms = span(attempts, now_ms)
    return JobVertex(
        id=vertex.id,
        slot_sharing_group_id=group_id(view.info, vertex.info),
        name=vertex.name,
        max_parallelism=vertex.info.max_parallelism,
        parallelism=vertex.info.parallelism,
        status=vertex.state.value,
        start_time=begin_ms,
        end_time=end_ms,
        duration=duration_ms,
        tasks=counted(attempt.state for attempt in attempts),
        metrics=io_metrics(vertex.info, vertex.subtasks, now_ms),
    )


def job_config(view: JobView) -> JobConfigInfo:
    """The settings of a job that Flink calls its execution config."""
    settings = dict(view.info.settings)
    prefix = f"{pipeline.GLOBAL_JOB_PARAMETERS.key}."
    return JobConfigInfo(
        jid=view.job_id,
        name=view.name,
        execution_config=ExecutionConfigInfo(
            restart_strategy=_restart_strategy(settings),
            job_parallelism=max((vertex.parallelism for vertex in view.info.vertices), default=1),
            object_reuse_mode=settings.get(pipeline.OBJECT_REUSE.key, "false").lower() == "true",
            user_config={
                key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)
            },
        ),
    )


def _restart_strategy(settings: Mapping[str, str]) -> str:
    kind = settings.get(restart.STRATEGY.key, "")
    if not kind:
        return "Cluster level default restart strategy"
    return _RESTARTS.get(kind.lower(), f"Restart strategy {kind}")


def execution_result(view: JobView) -> ExecutionResult:
    """How a job has ended; that it has not, while it runs."""
    if view.ended_ms is None:
        return ExecutionResult(status=QueueStatus(id="IN_PROGRESS"))
    failed = view.status is JobStatus.FAILED
    return ExecutionResult(
        status=QueueStatus(id="COMPLETED"),
        job_execution_result=JobResult(
            id=view.job_id,
            name=view.name,
            application_status=_RESULTS.get(view.status, "UNKNOWN"),
            accumulator_results={},
            net_runtime=duration_of(view, view.ended_ms),
            application_id=view.job_id,
            start_time=view.started_ms,
            end_time=view.ended_ms,
            failure_cause=cause_of_job(view.exceptions[-1] if view.exceptions else None) if failed else UNSET,
        ),
    )


def application_overview(view: JobView, now_ms: int) -> ApplicationOverview:
    return ApplicationOverview(
        id=view.job_id,
        name=_application_name(view),
        start_time=view.started_ms,
        end_time=end_of(view),
        duration=duration_of(view, now_ms),
        status=_APPLICATION.get(view.status, "RUNNING"),
        jobs={view.status.name: 1},
    )


def application_details(view: JobView, now_ms: int) -> ApplicationDetails:
    times: dict[str, int] = dict.fromkeys(_APPLICATION_STATES, 0)
    for status, ms in view.timestamps:
        name = _APPLICATION.get(status, "RUNNING")
        times[name] = times[name] or ms
    return ApplicationDetails(
        id=view.job_id,
        name=_application_name(view),
        status=_APPLICATION.get(view.status, "RUNNING"),
        start_time=view.started_ms,
        end_time=end_of(view),
        duration=duration_of(view, now_ms),
        timestamps=times,
        jobs=[job_details(view, now_ms)],
    )


def _application_name(view: JobView) -> str:
    return f"SingleJobApplication({view.name})"


def _setting(view: JobView, key: str, default: str) -> str:
    return dict(view.info.settings).get(key, default)
