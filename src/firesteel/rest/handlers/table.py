"""All routes, and where each is served."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from firesteel.rest.handlers import (
    additions,
    applications,
    checkpoints,
    cluster,
    commands,
    jobs,
    live,
    metrics,
    profiler,
    programs,
    rescales,
    sessions,
    sql_gateway,
    submissions,
    task_managers,
    vertices,
)
from firesteel.rest.routes import Route

#: Of Flink's API: served at ``/x`` and ``/v1/x``.
FLINK: Final[tuple[Route, ...]] = (
    *cluster.ROUTES,
    *jobs.ROUTES,
    *applications.ROUTES,
    *checkpoints.ROUTES,
    *commands.ROUTES,
    *vertices.ROUTES,
    *metrics.ROUTES,
    *rescales.ROUTES,
    *task_managers.ROUTES,
    *profiler.ROUTES,
    *programs.ROUTES,
)
#: Ours: served at ``/firesteel/v1/x``.
ADDED: Final[tuple[Route, ...]] = (
    *additions.ROUTES,
    *live.ROUTES,
    *sessions.ROUTES,
    *submissions.ROUTES,
)
PREFIXES: Final = ("/v1", "")
#: Of Flink's SQL gateway: served at ``/v1/x`` to ``/v4/x``, and at ``/x`` as the last version.
_GATEWAY: Final = tuple(
    (f"/{version}{route.path}" if prefixed else route.path, route)
    for version, prefixed in (*((v, True) for v in sql_gateway.VERSIONS), (sql_gateway.VERSIONS[-1], False))
    for route in sql_gateway.routes(version)
)


def places(flink: Iterable[Route] = FLINK, added: Iterable[Route] = ADDED) -> list[tuple[str, Route]]:
    """Each path that is served, with its route."""
    found = [(prefix + route.path, route) for prefix in PREFIXES for route in flink]
    found += [(f"/firesteel/v1{route.path}", route) for route in added]
    return found + list(_GATEWAY)
