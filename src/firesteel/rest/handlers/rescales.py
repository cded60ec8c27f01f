"""The parallelism of a job: requirements, and how it has changed."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from firesteel.common.errors import ConfigurationError
from firesteel.jobmanager.requirements import check_bounds
from firesteel.rest.answers import rescales as answers
from firesteel.rest.errors import RestError, bad_request, not_found
from firesteel.rest.messages.base import Empty
from firesteel.rest.messages.rescales import (
    Requirements,
    Rescale,
    RescalesConfig,
    RescalesOverview,
    RescalesSummary,
)
from firesteel.rest.routes import Call, Route


def _require_adaptive(call: Call) -> None:
    if not call.job.rescales.adaptive:
        raise not_found(
            f"The job {call.job.job_id} has not enabled the adaptive scheduler: jobmanager.scheduler is "
            "default, or it runs in BATCH mode."
        )


def requirements(call: Call) -> Requirements:
    _require_adaptive(call)
    return answers.requirements(call.job)


async def require(call: Call) -> Empty:
    """The job does it between two epochs; ``rescales/history`` says what came of it."""
    asked: Requirements = call.body
    wanted = answers.bounds(asked)
    try:
        check_bounds(call.job.info.vertices, wanted)
    except ConfigurationError as error:
        raise bad_request(str(error)) from error
    _require_adaptive(call)
    if call.job.ended_ms is not None:
        raise bad_request(f"Job {call.job.job_id} has ended.")
    await call.cluster.rescale(call.job.job_id, wanted)
    return Empty()


def config(call: Call) -> RescalesConfig:
    _require_adaptive(call)
    return answers.rescales_config(call.job)


def history(call: Call) -> list[Rescale]:
    _require_adaptive(call)
    return answers.history(call.job)


def overview(call: Call) -> RescalesOverview:
    _require_adaptive(call)
    return answers.overview(call.job)


def summary(call: Call) -> RescalesSummary:
    _require_adaptive(call)
    return answers.summary(call.job)


def details(call: Call) -> Rescale:
    _require_adaptive(call)
    wanted = call.id("rescaleuuid")
    for report in call.job.rescales.history:
        if report.id == wanted:
            return answers.details(call.job, report)
    raise not_found(f"Job {call.job.job_id} has no rescale {wanted}; the newest ten are kept.")


class Parallelism(Struct, frozen=True):
    """``parallelism``: of all vertices."""

    parallelism: int


def disabled(call: Call) -> Empty:
    """Flink has refused it since 1.9, with this status and the first two sentences."""
    raise RestError(
        503,
        "Rescaling is temporarily disabled. See FLINK-12312. PUT /jobs/:jobid/resource-requirements, or "
        "firesteel rescale, changes the parallelism of a running job.",
    )


_JOB: Final = "/jobs/{jobid}"
_OFF: Final = ((503, "Always."),)
_RESCALES: Final = f"{_JOB}/rescales"
ROUTES: Final = (
    Route(
        "GET",
        f"{_JOB}/resource-requirements",
        requirements,
        Requirements,
        "Between which bounds the parallelism of each vertex is to be.",
    ),
    Route(
        "PUT",
        f"{_JOB}/resource-requirements",
        require,
        Empty,
        "Change the parallelism of a job while it runs.",
        body=Requirements,
    ),
    Route(
        "PATCH",
        f"{_JOB}/rescaling",
        disabled,
        Empty,
        "Refused, as by Flink: see resource-requirements.",
        query=Parallelism,
        refusals=_OFF,
    ),
    Route(
        "GET",
        f"{_JOB}/rescaling/{{triggerid}}",
        disabled,
        Empty,
        "Refused, as by Flink: see resource-requirements.",
        refusals=_OFF,
    ),
    Route("GET", f"{_RESCALES}/config", config, RescalesConfig, "How the parallelism changes."),
    Route("GET", f"{_RESCALES}/history", history, list[Rescale], "The newest changes of parallelism."),
    Route("GET", f"{_RESCALES}/overview", overview, RescalesOverview, "How many there were, and the latest."),
    Route("GET", f"{_RESCALES}/summary", summary, RescalesSummary, "How long they took."),
    Route("GET", f"{_RESCALES}/details/{{rescaleuuid}}", details, Rescale, "One of them."),
)
