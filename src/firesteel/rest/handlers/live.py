"""What the dashboard shows that Flink's API does not have: how jobs are doing, live."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from firesteel.jobmanager.job_view import JobView
from firesteel.rest.answers import live as answers
from firesteel.rest.cached import encode
from firesteel.rest.messages.cluster import ConfigEntry
from firesteel.rest.messages.live import (
    Failures,
    FlameSample,
    JobCharts,
    JobSummaries,
    JobSummary,
    LiveJob,
    LiveSubtasks,
    Statements,
)
from firesteel.rest.messages.vertices import FlameNode
from firesteel.rest.profiling import Node
from firesteel.rest.routes import Call, Encoded, Route

_RECENT: Final = 36  # samples beside a job in a list: three minutes


def jobs(call: Call) -> Encoded:
    """Ended jobs do not change any more, and each of the others is encoded once for all who ask."""
    context, now_ms = call.context, call.context.now_ms()

    def summary(view: JobView) -> JobSummary:
        recent = context.history.recent_rates(view.job_id, _RECENT)
        return answers.summary(view, context.rates, recent, now_ms)

    found = [
        msgspec.Raw(context.answers.of(view, ("live summary",), partial(summary, view)))
        for view in call.cluster.jobs()
    ]
    return Encoded(encode({"now": now_ms, "jobs": found}))


def job(call: Call) -> Encoded:
    context = call.context
    recent = context.history.recent_rates(call.job.job_id, _RECENT)
    return call.once(lambda: answers.live_job(call.job, context.rates, recent, context.now_ms()))


def subtasks(call: Call) -> Encoded:
    rates, now_ms = call.context.rates, call.context.now_ms()
    return call.once(lambda: answers.live_subtasks(call.job, call.vertex, rates, now_ms))


def failures(call: Call) -> Failures:
    return answers.failures(call.job)


def settings(call: Call) -> list[ConfigEntry]:
    return [ConfigEntry(key=key, value=value) for key, value in call.job.info.settings]


def statements(call: Call) -> Statements:
    return answers.statements(call.job)


def charts(call: Call) -> Encoded:
    context, view = call.context, call.job
    return call.once(lambda: answers.charts(view, context.history.of(view.job_id), context.now_ms()))


class Idle(Struct, frozen=True):
    """``idle``: also where workers wait."""

    idle: bool = False


async def flame_graph(call: Call) -> FlameSample:
    level = call.vertex.info.level
    found = await call.context.flame_graphs.of(call.job, level, call.query.idle)
    return FlameSample(
        taken_ms=found.taken_ms,
        samples=found.root.count,
        processes=found.processes,
        data=flame_node(found.root),
    )


def flame_node(node: Node) -> FlameNode:
    return FlameNode(name=node.name, value=node.count, children=list(map(flame_node, node.children.values())))


_JOB: Final = "/jobs/{jobid}"
_VERTEX: Final = f"{_JOB}/vertices/{{vertexid}}"
ROUTES: Final = (
    Route("GET", "/jobs", jobs, JobSummaries, "How all jobs are doing, the youngest first."),
    Route("GET", _JOB, job, LiveJob, "How a job is doing, with its vertices."),
    Route("GET", f"{_JOB}/failures", failures, Failures, "Why attempts failed, the newest first."),
    Route("GET", f"{_JOB}/settings", settings, list[ConfigEntry], "What was set for a job."),
    Route("GET", f"{_JOB}/sql", statements, Statements, "The SQL that a job runs."),
    Route("GET", f"{_JOB}/charts", charts, JobCharts, "What a job did over time."),
    Route("GET", f"{_VERTEX}/subtasks", subtasks, LiveSubtasks, "The subtasks of a vertex."),
    Route(
        "GET",
        f"{_VERTEX}/flamegraph",
        flame_graph,
        FlameSample,
        "What the Python workers of a vertex's level are doing; 404 with the reason where nobody can see it.",
        query=Idle,
    ),
)
