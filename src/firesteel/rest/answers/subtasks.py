"""States, times, counters and places of subtasks: what several answers have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from firesteel.graph.execution_graph import ExecutionState
from firesteel.jobmanager.job_view import AttemptView, SubtaskView, VertexInfo
from firesteel.metrics.machines import Machines
from firesteel.monitoring.values import idle_ms
from firesteel.rest.messages.base import NO_TIME, UNASSIGNED
from firesteel.rest.messages.jobs import IOMetrics

#: Flink has one more: of a job whose master is new and whose tasks go on.
STATES: Final = (*(state.value for state in ExecutionState), "RECONCILING")
_WAITING: Final = frozenset((ExecutionState.CREATED, ExecutionState.SCHEDULED))


def counted(states: Iterable[ExecutionState]) -> dict[str, int]:
    """How many there are in each state, none left out."""
    counts = Counter(state.value for state in states)
    return {state: counts[state] for state in STATES}


def started_ms(attempt: AttemptView) -> int:
    """When it was deployed; -1: it was not."""
    return next((ms for state, ms in attempt.entered_ms if state is ExecutionState.DEPLOYING), NO_TIME)


def ended_ms(attempt: AttemptView) -> int:
    """When it came to its end; -1: it has not."""
    return attempt.entered_ms[-1][1] if attempt.state.terminal else NO_TIME


def lasted_ms(begin_ms: int, end_ms: int, now_ms: int) -> int:
    """The time between; up to now where there is no end, -1 where there is no beginning."""
    if begin_ms == NO_TIME:
        return NO_TIME
    return max(0, (now_ms if end_ms == NO_TIME else end_ms) - begin_ms)


def span(attempts: Sequence[AttemptView], now_ms: int) -> tuple[int, int, int]:
    """Beginning, end and duration of several attempts together. It ends when all of them have ended."""
    begins = [ms for ms in map(started_ms, attempts) if ms != NO_TIME]
    begin_ms = min(begins, default=NO_TIME)
    ends = [ended_ms(attempt) for attempt in attempts]
    end_ms = NO_TIME if begin_ms == NO_TIME or NO_TIME in ends else max(ends, default=NO_TIME)
    return begin_ms, end_ms, lasted_ms(begin_ms, end_ms, now_ms)


def status_durations(attempt: AttemptView, now_ms: int) -> dict[str, int]:
    """How long the attempt was in each state that it has left, and in the present one unless it has ended."""
    found = {}
    for (state, ms), (_, next_ms) in zip(
        attempt.entered_ms, (*attempt.entered_ms[1:], (None, now_ms)), strict=True
    ):
        if not state.terminal:
            found[state.value] = max(0, next_ms - ms)
    return found


def io_metrics(
    vertex: VertexInfo, subtasks: Iterable[SubtaskView], now_ms: int, *, complete: bool = True
) -> IOMetrics:
    """The sums of what subtasks counted, and of how they have spent their time.

    As in Flink, what a source reads is not an input of its vertex.
    """
    read_bytes = write_bytes = read_records = write_records = idle = 0
    busy = held_back = 0.0
    for subtask in subtasks:
        read_bytes += subtask.bytes_in
        write_bytes += subtask.bytes_out
        read_records += subtask.records_in
        write_records += subtask.records_out
        busy += subtask.busy_ms
        held_back += subtask.back_pressured_ms
        idle += idle_ms(subtask, now_ms)
    return IOMetrics(
        read_bytes=read_bytes,
        read_bytes_complete=complete,
        write_bytes=write_bytes,
        write_bytes_complete=complete,
        read_records=read_records if vertex.inputs else 0,
        read_records_complete=complete,
        write_records=write_records,
        write_records_complete=complete,
        accumulated_backpressured_time=round(held_back),
        accumulated_idle_time=idle,
        accumulated_busy_time=round(busy),
    )


def place_of(attempt: AttemptView, machines: Machines) -> tuple[str, str]:
    """Endpoint and id of the task manager of an attempt. Spark may move a subtask from epoch to epoch, so it
    is known only where there is one task manager."""
    if attempt.state in _WAITING or len(machines.workers) != 1:
        return UNASSIGNED, UNASSIGNED
    return machines.workers[0].endpoint, machines.workers[0].id
