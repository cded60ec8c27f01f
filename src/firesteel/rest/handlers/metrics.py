"""Metrics: without ``get`` the names, with it values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec import Struct

from firesteel.rest.answers import metrics as answers
from firesteel.rest.answers.metrics import Values, aggregated, selected
from firesteel.rest.errors import bad_request, unknown_worker
from firesteel.rest.messages.metrics import AggregatedMetric, Metric
from firesteel.rest.routes import Call, Route

_MOST_SUBTASKS: Final = 100_000  # that a range may name


class Get(Struct, frozen=True):
    """``get``: names with commas between them."""

    get: str | None = None


class Aggregate(Get, frozen=True):
    """``agg``: of min, max, avg, sum, skew. The others limit what is aggregated."""

    agg: str | None = None
    jobs: str | None = None
    taskmanagers: str | None = None
    subtasks: str | None = None


def _among(text: str | None) -> Collection[str] | None:
    return None if text is None else set(text.split(","))


def _aggregated(call: Call, parts: Collection[Mapping[str, answers.Value]]) -> list[AggregatedMetric]:
    agg = [name for name in (call.query.agg or "").split(",") if name]
    unknown = [name for name in agg if name not in answers.AGGREGATES]
    if unknown:
        raise bad_request(f"There is no aggregate {unknown[0][:100]!r}: {', '.join(answers.AGGREGATES)}.")
    return aggregated(parts, call.query.get, agg)


async def driver(call: Call) -> list[Metric]:
    machines, views = await call.cluster.machines(), call.cluster.jobs()
    values = answers.driver_metrics(machines, views)
    return selected(values, call.query.get)


def jobs(call: Call) -> list[AggregatedMetric]:
    among, now_ms = _among(call.query.jobs), call.context.now_ms()
    views = [view for view in call.cluster.jobs() if among is None or view.job_id in among]
    return _aggregated(call, [answers.job_metrics(view, now_ms) for view in views])


def job(call: Call) -> list[Metric]:
    """Of a job that nobody knows: none, as in Flink."""
    view = call.cluster.job(call.id("jobid"))
    return [] if view is None else selected(answers.job_metrics(view, call.context.now_ms()), call.query.get)


def vertex(call: Call) -> list[Metric]:
    values = answers.vertex_metrics(call.job, call.vertex, call.context.rates, call.context.now_ms())
    return selected(values, call.query.get)


def coordinators(call: Call) -> list[Metric]:
    """Nobody counts what enumerators have not assigned yet."""
    call.require_vertex()
    return []


def _subtasks(call: Call, indexes: Iterable[int] | None) -> list[Values]:
    """Those that there are not are left out."""
    if indexes is not None:
        indexes = sorted(index for index in indexes if index < len(call.vertex.subtasks))
    context = call.context
    return answers.subtask_metrics(call.job, call.vertex, context.rates, context.now_ms(), indexes)


def subtask(call: Call) -> list[Metric]:
    found = _subtasks(call, [call.number("subtaskindex")])
    return selected(found[0], call.query.get) if found else []


def subtasks(call: Call) -> list[AggregatedMetric]:
    among = None if call.query.subtasks is None else _indexes(call.query.subtasks)
    return _aggregated(call, _subtasks(call, among))


def _indexes(text: str) -> set[int]:
    """``0-2,5``."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise bad_request(f"subtasks is not as it should be: {text[:100]!r}; write 0-2,5.")
        limits = range(int(first), int(last or first) + 1)
        if len(limits) > _MOST_SUBTASKS:
            raise bad_request(f"subtasks names more than {_MOST_SUBTASKS} of them.")
        found.update(limits)
    return found


async def task_managers(call: Call) -> list[AggregatedMetric]:
    machines, among = await call.cluster.machines(), _among(call.query.taskmanagers)
    parts = [dict(w.figures) for w in machines.workers if among is None or w.id in among]
    return _aggregated(call, parts)


async def task_manager(call: Call) -> list[Metric]:
    worker_id = call.parameters["taskmanagerid"]
    values = answers.worker_metrics(await call.cluster.machines(), worker_id)
    if values is None:
        raise unknown_worker(worker_id)
    return selected(values, call.query.get)


_VERTEX: Final = "/jobs/{jobid}/vertices/{vertexid}"
_LIST: Final = list[Metric]
_AGGREGATED: Final = list[AggregatedMetric]
ROUTES: Final = (
    Route("GET", "/jobmanager/metrics", driver, _LIST, "Of the driver.", query=Get),
    Route("GET", "/jobs/metrics", jobs, _AGGREGATED, "Of jobs, together.", query=Aggregate),
    Route("GET", "/jobs/{jobid}/metrics", job, _LIST, "Of a job.", query=Get),
    Route("GET", f"{_VERTEX}/metrics", vertex, _LIST, "Of all subtasks of a vertex.", query=Get),
    Route("GET", f"{_VERTEX}/jm-operator-metrics", coordinators, _LIST, "Always empty.", query=Get),
    Route(
        "GET", f"{_VERTEX}/subtasks/metrics", subtasks, _AGGREGATED, "Of subtasks, together.", query=Aggregate
    ),
    Route("GET", f"{_VERTEX}/subtasks/{{subtaskindex}}/metrics", subtask, _LIST, "Of one.", query=Get),
    Route("GET", "/taskmanagers/metrics", task_managers, _AGGREGATED, "Together.", query=Aggregate),
    Route("GET", "/taskmanagers/{taskmanagerid}/metrics", task_manager, _LIST, "Of one.", query=Get),
)
