"""Jobs as the dashboard shows them: how they are doing, and what each vertex does now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.job_view import ExceptionView, JobView, SubtaskView, VertexView
from firesteel.monitoring.rates import Rates, VertexRates
from firesteel.rest.answers.jobs import duration_of
from firesteel.rest.answers.plan import job_type
from firesteel.rest.answers.subtasks import counted
from firesteel.rest.facts import JobFacts, VertexFacts, job_facts, vertex_facts
from firesteel.rest.history import JOB, VERTEX, JobHistory, Ring
from firesteel.rest.messages.live import (
    Bottleneck,
    Chart,
    Failure,
    Failures,
    Health,
    JobCharts,
    JobSummary,
    LiveInput,
    LiveJob,
    LiveOperator,
    LiveSubtask,
    LiveSubtasks,
    LiveVertex,
    Statement,
    Statements,
    VertexChart,
)
from firesteel.runtime.batch import MAX_WATERMARK, MIN_WATERMARK

_BEHIND_MS: Final = 60_000  # what takes longer to catch up with is said
_STALLED_MS: Final = 120_000  # records wait, and no epoch has ended for as long
_UNSTABLE_MS: Final = 600_000  # a failure is remembered
_FEW: Final = 100  # records of a vertex, of which no skew is told
_BUSY: Final = 0.8  # the busiest vertex is a bottleneck from here on

_ENDED: Final[dict[JobStatus, tuple[Health, str]]] = {
    JobStatus.FINISHED: ("finished", ""),
    JobStatus.CANCELED: ("canceled", ""),
    JobStatus.SUSPENDED: ("canceled", "It goes on elsewhere."),
    JobStatus.CANCELLING: ("canceled", "It is being cancelled."),
    JobStatus.INITIALIZING: ("starting", ""),
    JobStatus.CREATED: ("starting", "It waits for its first epoch."),
}


def summary(view: JobView, rates: Rates, recent: Sequence[float], now_ms: int) -> JobSummary:
    """A job in a list."""
    facts = job_facts(view)
    rate = rates.records_read(view, now_ms)
    end_ms = now_ms if view.ended_ms is None else view.ended_ms
    newest = view.reports[-1] if view.reports else None
    catch_up_ms = int(facts.lag * 1000 / rate) if facts.lag and rate else 0 if facts.lag == 0 else None
    health, why = health_of(view, facts, catch_up_ms, now_ms)
    checkpoint = view.checkpoints.latest_completed
    return JobSummary(
        jid=view.job_id,
        name=view.name,
        state=view.status.name,
        health=health,
        why=why,
        job_type=job_type(view.info),
        started_ms=view.started_ms,
        ended_ms=view.ended_ms,
        duration_ms=duration_of(view, now_ms),
        watermark_ms=facts.watermark_ms,
        event_time_ended=facts.ended,
        freshness_ms=None if facts.watermark_ms is None else end_ms - facts.watermark_ms,
        lag=facts.lag,
        catch_up_ms=catch_up_ms,
        records_read=facts.records_read,
        records_per_second=rate,
        recent=list(recent),
        epoch=view.epoch,
        epoch_ms=facts.epoch_elapsed_ms,
        epoch_ended_ms=None if newest is None else int(newest.started_ms + newest.elapsed_ms),
        restarts=view.restarts,
        parallelism=max((vertex.parallelism for vertex in view.info.vertices), default=0),
        vertices=len(view.vertices),
        subtasks=sum(len(vertex.subtasks) for vertex in view.vertices),
        checkpoint_ended_ms=(
            None if checkpoint is None else checkpoint.triggered_ms + int(checkpoint.duration_ms)
        ),
        checkpoint_failures=view.checkpoints.failed,
        state_bytes=facts.state_bytes,
    )


def health_of(view: JobView, facts: JobFacts, catch_up_ms: int | None, now_ms: int) -> tuple[Health, str]:
    """One word and a sentence, of all that is known: the worst counts."""
    newest = view.exceptions[-1] if view.exceptions else None
    said = "" if newest is None else _line(newest)
    if view.status is JobStatus.FAILED:
        return "failed", said
    if view.status in (JobStatus.FAILING, JobStatus.RESTARTING):
        return "restarting", said
    if view.status in _ENDED:
        return _ENDED[view.status]
    silent_ms = now_ms - _last_epoch_ms(view)
    if facts.lag and silent_ms > _STALLED_MS:
        return "stalled", f"Records wait, and no epoch has ended for {_minutes(silent_ms)}."
    if facts.lag and catch_up_ms is not None and catch_up_ms > _BEHIND_MS:
        return "behind", f"{facts.lag:,} records wait: {_minutes(catch_up_ms)} at this rate."
    if newest is not None and now_ms - newest.time_ms < _UNSTABLE_MS:
        return "unstable", f"It failed {_minutes(now_ms - newest.time_ms)} ago: {said}"
    failed, done = view.checkpoints.latest_failed, view.checkpoints.latest_completed
    if failed is not None and (done is None or failed.id > done.id):
        return "unstable", f"The last checkpoint failed: {_first_line(failed.failure or '')}"
    return "good", ""


def _line(failure: ExceptionView) -> str:
    return _first_line(failure.message) or failure.name


def _first_line(text: str) -> str:
    first = text.partition("\n")[0]
    return first if len(first) <= 200 else f"{first[:200]} ..."


def _minutes(ms: float) -> str:
    if ms < 90_000:
        return f"{ms / 1000:.0f} s"
    return f"{ms / 60_000:.0f} min" if ms < 5_400_000 else f"{ms / 3_600_000:.1f} h"


def _last_epoch_ms(view: JobView) -> float:
    """When something was done last; before the first epoch: when the job entered its status."""
    if view.reports:
        return view.reports[-1].started_ms + view.reports[-1].elapsed_ms
    return view.timestamps[-1][1]


# ---- one job


def live_job(view: JobView, rates: Rates, recent: Sequence[float], now_ms: int) -> LiveJob:
    vertices = [
        _vertex(view, vertex, facts, rates, now_ms)
        for vertex, facts in zip(view.vertices, vertex_facts(view), strict=True)
    ]
    return LiveJob(
        now=now_ms,
        job=summary(view, rates, recent, now_ms),
        attempt=view.attempt,
        timestamps={status.name: ms for status, ms in view.timestamps},
        vertices=vertices,
        rescalable=view.rescales.adaptive and view.ended_ms is None,
        bottleneck=_bottleneck(vertices),
        statements=len(view.info.statements),
    )


def statements(view: JobView) -> Statements:
    found = [Statement(text=s.text, vertices=list(s.vertices)) for s in view.info.statements]
    return Statements(jid=view.job_id, statements=found)


def _vertex(view: JobView, vertex: VertexView, facts: VertexFacts, rates: Rates, now_ms: int) -> LiveVertex:
    info = vertex.info
    measured = rates.of(view, vertex, now_ms)
    rate = None if measured is None else measured.flow
    return LiveVertex(
        id=vertex.id,
        name=vertex.name,
        level=info.level,
        parallelism=info.parallelism,
        max_parallelism=info.max_parallelism,
        state=vertex.state.value,
        tasks={k: n for k, n in counted(s.attempt.state for s in vertex.subtasks).items() if n},
        operators=_operators(vertex),
        inputs=[
            LiveInput(id=edge.source_vertex, ship_strategy=edge.ship_strategy, exchange=edge.exchange)
            for edge in info.inputs
        ],
        records_in=facts.records_in,
        records_out=facts.records_out,
        bytes_in=facts.bytes_in,
        bytes_out=facts.bytes_out,
        in_per_second=None if rate is None else rate.records_in,
        out_per_second=None if rate is None else rate.records_out,
        bytes_in_per_second=None if rate is None else rate.bytes_in,
        bytes_out_per_second=None if rate is None else rate.bytes_out,
        watermark_min=facts.watermark_min,
        watermark_max=facts.watermark_max,
        event_time_ended=facts.ended,
        lag=facts.lag,
        state_bytes=facts.state_bytes,
        skew=_skew(vertex, facts),
        busy=None if rate is None else rate.busy_ms / 1000,
        back_pressured=None if rate is None else rate.back_pressured_ms / 1000,
    )


def _operators(vertex: VertexView) -> list[LiveOperator]:
    totals = [[0, 0] for _ in vertex.info.operators]
    for subtask in vertex.subtasks:
        for total, (came, left) in zip(totals, subtask.operators, strict=True):
            total[0] += came
            total[1] += left
    return [
        LiveOperator(
            id=operator.id,
            name=operator.name,
            description=operator.description,
            uid=operator.uid,
            input=operator.input,
            records_in=came,
            records_out=left,
        )
        for operator, (came, left) in zip(vertex.info.operators, totals, strict=True)
    ]


def _skew(vertex: VertexView, facts: VertexFacts) -> float | None:
    """In percent; None where there is nothing to compare."""
    if len(vertex.subtasks) < 2 or facts.records_in < _FEW:
        return None
    average = facts.records_in / len(vertex.subtasks)
    return (max(subtask.records_in for subtask in vertex.subtasks) - average) / average * 100


def _bottleneck(vertices: Sequence[LiveVertex]) -> Bottleneck | None:
    """The busiest vertex, when it has hardly time left. Nothing is guessed where nobody measures."""
    measured = [vertex for vertex in vertices if vertex.busy is not None]
    busiest = max(measured, key=lambda vertex: vertex.busy or 0.0, default=None)
    if busiest is None or busiest.busy is None or busiest.busy < _BUSY:
        return None
    return Bottleneck(
        vertex=busiest.id, name=busiest.name, why=f"Its busiest subtask works {busiest.busy:.0%} of the time."
    )


def live_subtasks(view: JobView, vertex: VertexView, rates: Rates, now_ms: int) -> LiveSubtasks:
    checkpoint = view.checkpoints.latest_completed
    states = () if checkpoint is None else checkpoint.subtasks
    sizes = {state.subtask: state.state_bytes for state in states if state.vertex == vertex.id}
    operators = {operator.id for operator in vertex.info.operators}
    measured = rates.of(view, vertex, now_ms)
    return LiveSubtasks(
        now=now_ms,
        id=vertex.id,
        name=vertex.name,
        subtasks=[_subtask(s, measured, sizes.get(s.index)) for s in vertex.subtasks],
        lag={split: n for source, splits in view.lag if source in operators for split, n in splits},
    )


def _subtask(found: SubtaskView, measured: VertexRates | None, size: int | None) -> LiveSubtask:
    rate = None if measured is None else measured.of(found)
    watermark = found.watermark
    return LiveSubtask(
        index=found.index,
        state=found.attempt.state.value,
        attempt=found.attempt.number,
        entered={state.value: ms for state, ms in found.attempt.entered_ms},
        records_in=found.records_in,
        records_out=found.records_out,
        bytes_in=found.bytes_in,
        bytes_out=found.bytes_out,
        in_per_second=None if rate is None else rate.records_in,
        out_per_second=None if rate is None else rate.records_out,
        watermark_ms=None if watermark in (MIN_WATERMARK, MAX_WATERMARK) else watermark,
        event_time_ended=watermark == MAX_WATERMARK,
        state_bytes=size,
        busy=None if rate is None else rate.busy_ms / 1000,
        back_pressured=None if rate is None else rate.back_pressured_ms / 1000,
        failure=found.attempt.failure,
    )


# ---- failures


def failures(view: JobView) -> Failures:
    return Failures(
        failures=[_failure(view, failure) for failure in reversed(view.exceptions)],
        dropped=view.exceptions_dropped,
    )


def _failure(view: JobView, failure: ExceptionView) -> Failure:
    operators = () if failure.vertex is None else view.vertex(failure.vertex).info.operators
    uid = next((o.uid for o in operators if o.name == failure.operator), None)
    return Failure(
        time_ms=failure.time_ms,
        name=failure.name,
        message=failure.message,
        traceback=failure.traceback,
        attempt=failure.attempt,
        vertex=failure.vertex,
        task=failure.task,
        operator=failure.operator,
        uid=uid,
        subtask=failure.subtask,
    )


# ---- charts


def charts(view: JobView, history: JobHistory | None, now_ms: int) -> JobCharts:
    if history is None:
        return JobCharts(now=now_ms, fine=_nothing(JOB), minutes=_nothing(JOB), vertices=[])
    return JobCharts(
        now=now_ms,
        fine=_chart(JOB, history.fine),
        minutes=_chart(JOB, history.minutes),
        vertices=[
            VertexChart(id=vertex.id, name=vertex.name, chart=_chart(VERTEX, history.vertices[vertex.id]))
            for vertex in view.vertices
        ],
    )


def _chart(columns: Sequence[str], ring: Ring) -> Chart:
    return Chart(columns=list(columns), values=[list(map(_rounded, column)) for column in ring.columns()])


def _nothing(columns: Sequence[str]) -> Chart:
    return Chart(columns=list(columns), values=[[] for _ in columns])


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 2)
