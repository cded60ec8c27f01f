"""Jobs: lists, pages, settings, results."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from firesteel.rest.answers.exceptions import job_exceptions
from firesteel.rest.answers.jobs import execution_result, job_config, job_details, job_details_info
from firesteel.rest.answers.plan import plan_of
from firesteel.rest.cached import encode
from firesteel.rest.handlers.cluster import driver_config, environment
from firesteel.rest.messages.cluster import ConfigEntry, Environment, LogUrl
from firesteel.rest.messages.exceptions import JobExceptions
from firesteel.rest.messages.jobs import (
    ExecutionResult,
    JobAccumulators,
    JobConfigInfo,
    JobDetailsInfo,
    JobIds,
    JobIdWithStatus,
    JobPlan,
    JobsOverview,
    JobStatusInfo,
    UserTaskAccumulator,
)
from firesteel.rest.routes import Call, Encoded, Route


def job_ids(call: Call) -> JobIds:
    return JobIds(
        jobs=[JobIdWithStatus(id=view.job_id, status=view.status.name) for view in call.cluster.jobs()]
    )


def jobs_overview(call: Call) -> Encoded:
    """Ended jobs do not change any more, and each of the others is encoded once for all who ask."""
    now_ms, answers = call.context.now_ms(), call.context.answers
    jobs = [
        msgspec.Raw(answers.of(view, ("overview",), partial(job_details, view, now_ms)))
        for view in call.cluster.jobs()
    ]
    return Encoded(encode({"jobs": jobs}))


def job_page(call: Call) -> Encoded:
    return call.once(lambda: job_details_info(call.job, call.context.now_ms()))


def job_status(call: Call) -> JobStatusInfo:
    return JobStatusInfo(status=call.job.status.name)


def job_plan(call: Call) -> Encoded:
    return call.once(lambda: JobPlan(plan=plan_of(call.job.info)))


def job_settings(call: Call) -> JobConfigInfo:
    return job_config(call.job)


class ExceptionsQuery(Struct, frozen=True, rename="camel"):
    """``failure_label_filter``: ``key:value`` pairs with commas between them."""

    max_exceptions: int | None = None
    failure_label_filter: str = ""


def exceptions(call: Call) -> JobExceptions:
    most = call.context.settings.exceptions
    if call.query.max_exceptions is not None:
        most = min(most, max(0, call.query.max_exceptions))
    pairs = [pair.partition(":") for pair in call.query.failure_label_filter.split(",") if pair]
    return job_exceptions(call.job, most, [(key, value) for key, _, value in pairs])


class AccumulatorsQuery(Struct, frozen=True, rename="camel"):
    include_serialized_value: bool = False


async def accumulators(call: Call) -> JobAccumulators:
    view = call.job
    values = await call.cluster.accumulators(view.job_id)
    kinds = {accumulator.name: accumulator.kind for accumulator in view.accumulators}
    return JobAccumulators(
        job_accumulators=[],
        user_task_accumulators=[
            UserTaskAccumulator(name=name, type=kinds.get(name, "Accumulator"), value=value)
            for name, value in sorted(values.items())
        ],
        serialized_user_task_accumulators={},
    )


def result(call: Call) -> ExecutionResult:
    return execution_result(call.job)


async def job_environment(call: Call) -> Environment:
    call.require_job()
    return await environment(call)


def job_driver_config(call: Call) -> list[ConfigEntry]:
    call.require_job()
    return driver_config(call)


def log_url(call: Call) -> LogUrl:
    return LogUrl(url=f"{call.base_url}/#/job-manager/logs")


def worker_log_url(call: Call) -> LogUrl:
    return LogUrl(url=f"{call.base_url}/#/task-manager/{call.parameters['taskmanagerid']}/logs")


ROUTES: Final = (
    Route("GET", "/jobs", job_ids, JobIds, "All jobs with their statuses."),
    Route("GET", "/jobs/overview", jobs_overview, JobsOverview, "All jobs, the youngest first."),
    Route("GET", "/jobs/{jobid}", job_page, JobDetailsInfo, "A job with its vertices and its plan."),
    Route("GET", "/jobs/{jobid}/status", job_status, JobStatusInfo, "The status of a job."),
    Route("GET", "/jobs/{jobid}/plan", job_plan, JobPlan, "The plan of a job."),
    Route("GET", "/jobs/{jobid}/config", job_settings, JobConfigInfo, "The execution config of a job."),
    Route(
        "GET",
        "/jobs/{jobid}/exceptions",
        exceptions,
        JobExceptions,
        "Why a job failed, the newest failure first.",
        query=ExceptionsQuery,
    ),
    Route(
        "GET",
        "/jobs/{jobid}/accumulators",
        accumulators,
        JobAccumulators,
        "The accumulators of a job as of its last committed epoch.",
        query=AccumulatorsQuery,
    ),
    Route("GET", "/jobs/{jobid}/execution-result", result, ExecutionResult, "How a job has ended."),
    Route("GET", "/jobs/{jobid}/jobmanager/config", job_driver_config, list[ConfigEntry], "The settings."),
    Route("GET", "/jobs/{jobid}/jobmanager/environment", job_environment, Environment, "The driver."),
    Route("GET", "/jobs/{jobid}/jobmanager/log-url", log_url, LogUrl, "Where the driver's logs are."),
    Route(
        "GET",
        "/jobs/{jobid}/taskmanagers/{taskmanagerid}/log-url",
        worker_log_url,
        LogUrl,
        "Where the logs of a task manager are.",
    ),
)
