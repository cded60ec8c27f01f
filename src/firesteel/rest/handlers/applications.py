"""Applications: one for each job, with its id."""

from __future__ import annotations

from typing import Final

from firesteel.rest.answers.exceptions import application_exceptions
from firesteel.rest.answers.jobs import application_details, application_overview
from firesteel.rest.errors import not_found
from firesteel.rest.handlers.jobs import job_driver_config
from firesteel.rest.messages.applications import ApplicationDetails, ApplicationsOverview
from firesteel.rest.messages.base import Empty
from firesteel.rest.messages.cluster import ConfigEntry
from firesteel.rest.messages.exceptions import ApplicationExceptions
from firesteel.rest.routes import Call, Route


def overview(call: Call) -> ApplicationsOverview:
    now_ms = call.context.now_ms()
    return ApplicationsOverview(
        applications=[application_overview(view, now_ms) for view in call.cluster.jobs()]
    )


def details(call: Call) -> ApplicationDetails:
    return application_details(call.job, call.context.now_ms())


def exceptions(call: Call) -> ApplicationExceptions:
    return application_exceptions(call.job)


async def cancel(call: Call) -> Empty:
    if call.job.ended_ms is not None:
        raise not_found(f"Application {call.job.job_id} has ended: it is {call.job.status.name}.")
    await call.cluster.cancel(call.job.job_id)
    return Empty()


_ONE: Final = "/applications/{applicationid}"
ROUTES: Final = (
    Route("GET", "/applications/overview", overview, ApplicationsOverview, "All applications."),
    Route("GET", _ONE, details, ApplicationDetails, "An application with its job."),
    Route("GET", f"{_ONE}/exceptions", exceptions, ApplicationExceptions, "Why it failed."),
    Route("GET", f"{_ONE}/jobmanager/config", job_driver_config, list[ConfigEntry], "The settings."),
    Route("POST", f"{_ONE}/cancel", cancel, Empty, "Cancel its job.", status=202),
)
