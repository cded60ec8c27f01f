"""All answers of the REST API about one job that has ended, made by the handlers that answer clients."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, Final, cast

import msgspec

from firesteel.jobmanager.job_view import JobView, VertexView
from firesteel.metrics.machines import Machines
from firesteel.monitoring.rates import Rates
from firesteel.rest.archives.archive import VIEW, Archive, ArchivedJob
from firesteel.rest.archives.ended_jobs import EndedJobs
from firesteel.rest.cached import Answers, encode
from firesteel.rest.cluster import Settings
from firesteel.rest.dashboard.sessions import Sessions
from firesteel.rest.errors import RestError
from firesteel.rest.guard import Guard
from firesteel.rest.handlers import additions, live
from firesteel.rest.handlers.table import FLINK
from firesteel.rest.history import History
from firesteel.rest.operations import Operations
from firesteel.rest.profiler import Profiler
from firesteel.rest.profiling import FlameGraphs
from firesteel.rest.routes import Call, Context, Encoded, EventStream, Route, TextFile, WithHeaders
from firesteel.rest.settings import RestSettings

#: Of the additions to Flink's API those that tell of jobs.
OWN: Final = (*additions.ROUTES, *live.ROUTES)
_PART: Final = re.compile(r"\{(\w+)\}")
#: The list of the one job, of which a history server makes that of all. That of applications is not part of
#: an archive: Flink's server would take it for its own.
_LIST: Final = "/jobs/overview"
#: Paths with what only a running job has, or what depends on who asks.
_NOT_KEPT: Final = ("flamegraph", "log-url", "/events", "metrics", "resource-requirements", "/states")


async def archive_of(
    view: JobView, accumulators: Mapping[str, str], settings: Settings, machines: Machines, now_ms: int
) -> Archive:
    """
    :param accumulators: their values as text.
    :param settings: of the cluster, without secrets.
    :param machines: that have run the job.
    """
    context = _context(view, accumulators, settings, machines, now_ms)
    answers: dict[str, str] = {}
    for prefix, routes in (("", FLINK), ("/firesteel/v1", OWN)):
        for route in routes:
            if route.method != "GET" or route.changes or not _is_kept(route):
                continue
            for parameters in _parameters(route.path, view):
                answer = await _answer(context, route, parameters)
                if answer is not None:
                    answers[prefix + route.path.format(**parameters)] = answer.decode()
    kept = ArchivedJob(msgspec.msgpack.encode(view), dict(accumulators))
    answers[VIEW] = encode(kept).decode()
    return Archive(answers)


def _is_kept(route: Route) -> bool:
    of_a_job = "{jobid}" in route.path or "{applicationid}" in route.path
    return route.path == _LIST or (of_a_job and not any(word in route.path for word in _NOT_KEPT))


def _context(
    view: JobView, accumulators: Mapping[str, str], settings: Settings, machines: Machines, now_ms: int
) -> Context:
    jobs = EndedJobs({view.job_id: view}, {view.job_id: accumulators}, settings, machines)
    return Context(
        cluster=jobs,
        settings=RestSettings(),
        operations=Operations(0.0),
        answers=Answers(),
        rates=Rates(),
        history=History(),
        sessions=Sessions(),
        flame_graphs=FlameGraphs(allowed=False),
        profiler=Profiler(RestSettings(), lambda: now_ms),
        now_ms=lambda: now_ms,
        openapi=lambda: b"",
    )


async def _answer(context: Context, route: Route, parameters: Mapping[str, str]) -> bytes | None:
    """None: there is none, or it is not JSON."""
    # Handlers ask it nothing: whoever writes an archive has the job.
    call = Call(context, cast(Guard, None), route, parameters, msgspec.convert({}, route.query))
    try:
        found: Any = route.handler(call)
        if inspect.isawaitable(found):
            found = await found
    except RestError:
        return None
    match found:
        case Encoded(body):
            return body
        case WithHeaders(body, _):
            return encode(body)
        case TextFile() | EventStream():
            return None
        case _:
            return encode(found)


def _parameters(path: str, view: JobView) -> Iterator[dict[str, str]]:
    """The parts of a path, in each way that there is something at it."""
    names = _PART.findall(path)
    if not set(names) <= _VALUES.keys() | {"vertexid", "subtaskindex", "attempt"}:
        return
    plain = [[(name, value) for value in _VALUES[name](view)] for name in names if name in _VALUES]
    for chosen, place in product(product(*plain), list(_of_vertices(names, view))):
        yield {**dict(chosen), **place}


def _of_vertices(names: list[str], view: JobView) -> Iterator[dict[str, str]]:
    if "vertexid" not in names:
        yield {}
        return
    for vertex in view.vertices:
        for found in _of_subtasks(names, vertex):
            yield {"vertexid": vertex.id, **found}


def _of_subtasks(names: list[str], vertex: VertexView) -> Iterator[dict[str, str]]:
    if "subtaskindex" not in names:
        yield {}
        return
    for subtask in vertex.subtasks:
        index = str(subtask.index)
        if "attempt" not in names:
            yield {"subtaskindex": index}
            continue
        for attempt in (*subtask.earlier, subtask.attempt):
            yield {"subtaskindex": index, "attempt": str(attempt.number)}


_VALUES: Final[Mapping[str, Callable[[JobView], list[str]]]] = {
    "jobid": lambda view: [view.job_id],
    "applicationid": lambda view: [view.job_id],
    "checkpointid": lambda view: [str(found.id) for found in view.checkpoints.history],
    "rescaleuuid": lambda view: [report.id for report in view.rescales.history],
}
