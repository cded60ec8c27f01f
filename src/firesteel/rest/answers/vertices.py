"""Vertices: their subtasks, attempts, times and places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from firesteel.graph.execution_graph import ExecutionState, aggregate_state
from firesteel.jobmanager.job_view import AttemptView, JobView, SubtaskView, VertexInfo, VertexView
from firesteel.metrics.machines import Machines
from firesteel.monitoring.rates import Rates
from firesteel.monitoring.values import idle_ms
from firesteel.rest.answers.statistics import statistics
from firesteel.rest.answers.subtasks import (
    STATES,
    counted,
    ended_ms,
    io_metrics,
    lasted_ms,
    place_of,
    span,
    started_ms,
    status_durations,
)
from firesteel.rest.errors import not_found
from firesteel.rest.messages.jobs import IOMetrics
from firesteel.rest.messages.vertices import (
    Aggregated,
    BackPressure,
    Level,
    SubtaskAttempt,
    SubtaskBackPressure,
    SubtaskTime,
    SubtaskTimes,
    VertexDetails,
    VertexOnTaskManager,
    VertexTaskManagers,
)

#: What is aggregated: names of the API, and the fields that have them.
_FIGURES: Final = (
    ("read-bytes", "bytes_in"),
    ("write-bytes", "bytes_out"),
    ("read-records", "records_in"),
    ("write-records", "records_out"),
    ("accumulated-backpressured-time", "back_pressured_ms"),
    ("accumulated-busy-time", "busy_ms"),
)


def vertex_details(vertex: VertexView, machines: Machines, now_ms: int) -> VertexDetails:
    return VertexDetails(
        id=vertex.id,
        name=vertex.name,
        parallelism=vertex.info.parallelism,
        max_parallelism=vertex.info.max_parallelism,
        now=now_ms,
        subtasks=[current_attempt(vertex.info, subtask, machines, now_ms) for subtask in vertex.subtasks],
        aggregated=aggregated(vertex.info, vertex.subtasks, now_ms),
    )


def current_attempt(
    vertex: VertexInfo, subtask: SubtaskView, machines: Machines, now_ms: int
) -> SubtaskAttempt:
    return _attempt(subtask.index, subtask.attempt, io_metrics(vertex, (subtask,), now_ms), machines, now_ms)


def attempt_of(
    vertex: VertexInfo, subtask: SubtaskView, number: int, machines: Machines, now_ms: int
) -> SubtaskAttempt:
    """An attempt by its number. Counters go on over attempts, so those of earlier ones are not known.

    :raises RestError: 404: there is none, or it is too old.
    """
    if number == subtask.attempt.number:
        return current_attempt(vertex, subtask, machines, now_ms)
    found = find_attempt(subtask, number)
    return _attempt(subtask.index, found, io_metrics(vertex, (), now_ms, complete=False), machines, now_ms)


def find_attempt(subtask: SubtaskView, number: int) -> AttemptView:
    for attempt in (subtask.attempt, *subtask.earlier):
        if attempt.number == number:
            return attempt
    raise not_found(
        f"Subtask {subtask.index} has no attempt {number}; its newest is {subtask.attempt.number}, "
        "and the 16 before it are kept."
    )


def subtask_at(vertex: VertexView, index: int) -> SubtaskView:
    """Raises RestError when the vertex has no such subtask."""
    if index >= len(vertex.subtasks):
        raise not_found(f"Vertex {vertex.id} has no subtask {index}: it has {len(vertex.subtasks)}.")
    return vertex.subtasks[index]


def _attempt(
    index: int, attempt: AttemptView, metrics: IOMetrics, machines: Machines, now_ms: int
) -> SubtaskAttempt:
    begin_ms, end_ms = started_ms(attempt), ended_ms(attempt)
    endpoint, worker = place_of(attempt, machines)
    return SubtaskAttempt(
        subtask=index,
        status=attempt.state.value,
        attempt=attempt.number,
        endpoint=endpoint,
        start_time=begin_ms,
        end_time=end_ms,
        duration=lasted_ms(begin_ms, end_ms, now_ms),
        metrics=metrics,
        taskmanager_id=worker,
        status_duration=status_durations(attempt, now_ms),
        start_time_again=begin_ms,
    )


def aggregated(vertex: VertexInfo, subtasks: Sequence[SubtaskView], now_ms: int) -> Aggregated:
    """Figures and durations over subtasks."""
    metrics = {name: statistics([round(getattr(s, field)) for s in subtasks]) for name, field in _FIGURES}
    metrics["accumulated-idle-time"] = statistics([idle_ms(subtask, now_ms) for subtask in subtasks])
    if not vertex.inputs:  # as in Flink, what a source reads is not an input of its vertex
        metrics["read-records"] = statistics(())
    durations: dict[str, list[int]] = {}
    for subtask in subtasks:
        for state, lasted in status_durations(subtask.attempt, now_ms).items():
            durations.setdefault(state, []).append(lasted)
    return Aggregated(
        metrics=metrics,
        status_duration={state: statistics(values) for state, values in durations.items()},
    )


def subtask_times(vertex: VertexView, machines: Machines, now_ms: int) -> SubtaskTimes:
    return SubtaskTimes(
        id=vertex.id,
        name=vertex.name,
        now=now_ms,
        subtasks=[_times(subtask, machines, now_ms) for subtask in vertex.subtasks],
    )


def _times(subtask: SubtaskView, machines: Machines, now_ms: int) -> SubtaskTime:
    entered = {state.value: ms for state, ms in subtask.attempt.entered_ms}
    # Since it was scheduled: the pages draw all states of the attempt.
    begin_ms = entered.get(ExecutionState.SCHEDULED.value, -1)
    return SubtaskTime(
        subtask=subtask.index,
        endpoint=place_of(subtask.attempt, machines)[0],
        duration=lasted_ms(begin_ms, ended_ms(subtask.attempt), now_ms),
        timestamps={state: entered.get(state, 0) for state in STATES},
    )


def vertex_task_managers(vertex: VertexView, machines: Machines, now_ms: int) -> VertexTaskManagers:
    """The subtasks by the task manager that they are on."""
    groups: dict[tuple[str, str], list[SubtaskView]] = {}
    for subtask in vertex.subtasks:
        groups.setdefault(place_of(subtask.attempt, machines), []).append(subtask)
    return VertexTaskManagers(
        id=vertex.id,
        name=vertex.name,
        now=now_ms,
        taskmanagers=[_group(vertex.info, *place, subtasks, now_ms) for place, subtasks in groups.items()],
    )


def _group(
    vertex: VertexInfo, endpoint: str, worker: str, subtasks: list[SubtaskView], now_ms: int
) -> VertexOnTaskManager:
    attempts = [subtask.attempt for subtask in subtasks]
    states = [attempt.state for attempt in attempts]
    begin_ms, end_ms, duration_ms = span(attempts, now_ms)
    return VertexOnTaskManager(
        endpoint=endpoint,
        status=aggregate_state(states).value,
        start_time=begin_ms,
        end_time=end_ms,
        duration=duration_ms,
        metrics=io_metrics(vertex, subtasks, now_ms),
        status_counts=counted(states),
        taskmanager_id=worker,
        aggregated=aggregated(vertex, subtasks, now_ms),
    )


# ---- back pressure

_LOW, _HIGH = 0.10, 0.50  # up to and with the first it is ok, up to and with the second low, as in Flink


def level_of(ratio: float) -> Level:
    """What a share of time is called in which a subtask is held back."""
    return "ok" if ratio <= _LOW else "low" if ratio <= _HIGH else "high"


def back_pressure(view: JobView, vertex: VertexView, rates: Rates, now_ms: int) -> BackPressure:
    """Of all subtasks; without figures while the job was not watched for long enough."""
    rates_of_vertex = rates.of(view, vertex, now_ms)
    if rates_of_vertex is None:
        return BackPressure(status="deprecated")
    found = []
    for subtask in vertex.subtasks:
        rate = rates_of_vertex.of(subtask)
        ratio = rate.back_pressured_ms / 1000
        found.append(
            SubtaskBackPressure(
                subtask=subtask.index,
                level=level_of(ratio),
                ratio=round(ratio, 3),
                idle_ratio=round(rate.idle_ms / 1000, 3),
                busy_ratio=round(rate.busy_ms / 1000, 3),
                level_again=level_of(ratio),
            )
        )
    worst = level_of(max(subtask.ratio for subtask in found))
    return BackPressure(status="ok", level=worst, end_timestamp=now_ms, subtasks=found, level_again=worst)
