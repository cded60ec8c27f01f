"""What a history server answers: what is in the archives, and the rest as a cluster whose jobs have ended."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from msgspec.structs import replace as changed

from firesteel.history.archives import Archives
from firesteel.history.settings import HistorySettings
from firesteel.rest.archives.answers import OWN
from firesteel.rest.errors import not_found
from firesteel.rest.handlers import cluster, sessions
from firesteel.rest.handlers.table import FLINK, PREFIXES
from firesteel.rest.messages.cluster import DashboardConfiguration, LogUrl
from firesteel.rest.routes import Answer, Call, Encoded, Handler, Route

#: Paths that a cluster has and a history server has not.
_ABSENT: Final = ("/jars", "/datasets", "/savepoint-disposal", "flamegraph", "{triggerid}", "/openapi.json")
_ADDED: Final = "/firesteel/v1"
_JOB_ID: Final = ("{jobid}", "{applicationid}")


def history_places(archives: Archives, settings: HistorySettings) -> list[tuple[str, Route]]:
    """Each path that is served, with its route. Nothing can be changed, but who a browser is."""
    flink = [(route.path, _shown(route, "", archives, settings)) for route in _read(FLINK)]
    added = [(route.path, _shown(route, _ADDED, archives, settings)) for route in _read(OWN)]
    added += [(route.path, route) for route in sessions.ROUTES]
    return [
        *((prefix + path, route) for prefix in PREFIXES for path, route in flink),
        *((_ADDED + path, route) for path, route in added),
    ]


def _read(routes: tuple[Route, ...]) -> list[Route]:
    return [
        route for route in routes if route.method == "GET" and not any(word in route.path for word in _ABSENT)
    ]


def _shown(route: Route, prefix: str, archives: Archives, settings: HistorySettings) -> Route:
    if route.handler is cluster.config:
        return replace(route, handler=config)
    if route.path.endswith("/log-url"):
        worker = "taskmanagers" in route.path
        return replace(route, handler=_log_url(settings.worker_log if worker else settings.driver_log))
    if any(part in route.path for part in _JOB_ID):
        return replace(route, handler=_archived(route.handler, prefix, archives))
    return route


def _archived(handler: Handler, prefix: str, archives: Archives) -> Callable[[Call], Any]:
    """What the archive says is the answer; for other questions the view is asked."""

    async def answer(call: Call) -> Answer:
        if call.query is None or call.query == type(call.query)():
            path = prefix + call.route.path.format(**{n: v.lower() for n, v in call.parameters.items()})
            found = archives.answer(call.job.job_id, path)
            if found is not None:
                return Encoded(found.encode())
        made = handler(call)
        return await made if inspect.isawaitable(made) else made

    answer.__module__ = handler.__module__  # answers are kept by it: one path may be under two prefixes
    return answer


def config(call: Call) -> DashboardConfiguration:
    """Flink's dashboard shows other pages when it is one of a history server."""
    found = cluster.config(call)
    return changed(found, features=changed(found.features, web_rescale=False, web_history=True))


def _log_url(pattern: str | None) -> Callable[[Call], LogUrl]:
    def answer(call: Call) -> LogUrl:
        if pattern is None:
            raise not_found(
                "The history server does not know where logs are: historyserver.log.jobmanager.url-pattern "
                "and historyserver.log.taskmanager.url-pattern may say it."
            )
        url = pattern.replace("<jobid>", call.job.job_id)
        return LogUrl(url=url.replace("<tmid>", call.parameters.get("taskmanagerid", "")))

    return answer
