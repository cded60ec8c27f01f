"""Vertices of a job and their subtasks."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from firesteel.rest.answers import vertices as answers
from firesteel.rest.answers.metrics import watermarks
from firesteel.rest.answers.subtasks import place_of
from firesteel.rest.errors import RestError
from firesteel.rest.handlers.live import flame_node
from firesteel.rest.messages.metrics import Metric
from firesteel.rest.messages.vertices import (
    AttemptAccumulators,
    BackPressure,
    FlameGraph,
    SubtaskAccumulators,
    SubtaskAttempt,
    SubtasksAccumulators,
    SubtaskTimes,
    VertexAccumulators,
    VertexDetails,
    VertexTaskManagers,
)
from firesteel.rest.routes import Call, Encoded, Route

_DISABLED: Final = -2  # Flink's end of a flame graph when there are none


async def page(call: Call) -> Encoded:
    machines = await call.cluster.machines()
    return call.once(lambda: answers.vertex_details(call.vertex, machines, call.context.now_ms()))


async def subtask_times(call: Call) -> Encoded:
    machines = await call.cluster.machines()
    return call.once(lambda: answers.subtask_times(call.vertex, machines, call.context.now_ms()))


async def task_managers(call: Call) -> Encoded:
    machines = await call.cluster.machines()
    return call.once(lambda: answers.vertex_task_managers(call.vertex, machines, call.context.now_ms()))


async def subtask(call: Call) -> SubtaskAttempt:
    machines = await call.cluster.machines()
    found = answers.subtask_at(call.vertex, call.number("subtaskindex"))
    return answers.current_attempt(call.vertex.info, found, machines, call.context.now_ms())


async def attempt(call: Call) -> SubtaskAttempt:
    machines = await call.cluster.machines()
    found = answers.subtask_at(call.vertex, call.number("subtaskindex"))
    number = call.number("attempt")
    return answers.attempt_of(call.vertex.info, found, number, machines, call.context.now_ms())


# ---- accumulators: those of a job are added up over its subtasks, so none belongs to one of them


def accumulators(call: Call) -> VertexAccumulators:
    return VertexAccumulators(id=call.vertex.id, user_accumulators=[])


async def subtasks_accumulators(call: Call) -> SubtasksAccumulators:
    machines = await call.cluster.machines()
    return SubtasksAccumulators(
        id=call.vertex.id,
        parallelism=call.vertex.info.parallelism,
        subtasks=[
            SubtaskAccumulators(
                subtask=found.index,
                attempt=found.attempt.number,
                endpoint=place_of(found.attempt, machines)[0],
                user_accumulators=[],
            )
            for found in call.vertex.subtasks
        ],
    )


def attempt_accumulators(call: Call) -> AttemptAccumulators:
    found = answers.subtask_at(call.vertex, call.number("subtaskindex"))
    of = answers.find_attempt(found, call.number("attempt"))
    return AttemptAccumulators(subtask=found.index, attempt=of.number, id=of.id, user_accumulators=[])


def back_pressure(call: Call) -> BackPressure:
    return answers.back_pressure(call.job, call.vertex, call.context.rates, call.context.now_ms())


# ---- what nobody measures


class FlameGraphQuery(Struct, frozen=True):
    """``type``: where threads work, where they wait, or both; ``subtaskindex`` makes no difference: tasks of
    all subtasks have one name."""

    type: Literal["full", "on_cpu", "off_cpu"] = "full"
    subtaskindex: int | None = None


async def flame_graph(call: Call) -> FlameGraph:
    """Flink's answer of a cluster without flame graphs, where there is none, whatever the reason is."""
    level = call.vertex.info.level
    graphs, kind = call.context.flame_graphs, call.query.type
    if graphs.why_not is not None or kind == "off_cpu":  # py-spy does not tell waiting from working
        return FlameGraph(end_timestamp=_DISABLED, data=None)
    try:
        found = await graphs.of(call.job, level, idle=kind == "full")
    except RestError:
        return FlameGraph(end_timestamp=_DISABLED, data=None)
    return FlameGraph(end_timestamp=found.taken_ms, data=flame_node(found.root))


def input_watermarks(call: Call) -> list[Metric]:
    return watermarks(call.vertex)


_ONE: Final = "/jobs/{jobid}/vertices/{vertexid}"
_SUBTASK: Final = f"{_ONE}/subtasks/{{subtaskindex}}"
_ATTEMPT: Final = f"{_SUBTASK}/attempts/{{attempt}}"
ROUTES: Final = (
    Route("GET", _ONE, page, VertexDetails, "A vertex with its subtasks."),
    Route("GET", f"{_ONE}/subtasktimes", subtask_times, SubtaskTimes, "When subtasks entered each state."),
    Route("GET", f"{_ONE}/taskmanagers", task_managers, VertexTaskManagers, "Subtasks by task manager."),
    Route("GET", f"{_ONE}/accumulators", accumulators, VertexAccumulators, "Always empty."),
    Route(
        "GET",
        f"{_ONE}/subtasks/accumulators",
        subtasks_accumulators,
        SubtasksAccumulators,
        "The subtasks of a vertex; none has accumulators of its own.",
    ),
    Route("GET", f"{_ONE}/backpressure", back_pressure, BackPressure, "How subtasks spend their time."),
    Route(
        "GET",
        f"{_ONE}/flamegraph",
        flame_graph,
        FlameGraph,
        "What the Python workers of its level are doing.",
        query=FlameGraphQuery,
    ),
    Route("GET", f"{_ONE}/watermarks", input_watermarks, list[Metric], "Watermarks of the subtasks."),
    Route("GET", _SUBTASK, subtask, SubtaskAttempt, "The current attempt of a subtask."),
    Route("GET", _ATTEMPT, attempt, SubtaskAttempt, "An attempt of a subtask."),
    Route("GET", f"{_ATTEMPT}/accumulators", attempt_accumulators, AttemptAccumulators, "Always empty."),
)
