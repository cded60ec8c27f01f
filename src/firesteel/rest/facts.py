"""Sums over the subtasks of a job that several answers and the history are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from firesteel.jobmanager.job_view import JobView, VertexView
from firesteel.monitoring.values import NO_WATERMARK
from firesteel.runtime.batch import MAX_WATERMARK


class VertexFacts(NamedTuple):
    """:param watermark_min: of the subtasks that have one; None: none has, or event time has ended.
    :param ended: whether event time has ended in all subtasks that have a watermark, and there are some.
    :param lag: records that its sources have not read; None: they do not know, or there are none.
    :param state_bytes: in the newest completed checkpoint; None: it was in none.
    """

    id: str
    records_in: int
    records_out: int
    bytes_in: int
    bytes_out: int
    watermark_min: int | None
    watermark_max: int | None
    ended: bool
    lag: int | None
    state_bytes: int | None


class JobFacts(NamedTuple):
    """Likewise. ``epoch_elapsed_ms``: of the newest epoch; ``checkpoint_elapsed_ms``: of the newest one."""

    records_read: int
    watermark_ms: int | None
    ended: bool
    lag: int | None
    epoch_elapsed_ms: float | None
    restarts: int
    checkpoint_elapsed_ms: float | None
    state_bytes: int | None


def totals(vertex: VertexView) -> tuple[int, int, int, int]:
    """Records in and out, bytes in and out."""
    records_in = records_out = bytes_in = bytes_out = 0
    for subtask in vertex.subtasks:
        records_in += subtask.records_in
        records_out += subtask.records_out
        bytes_in += subtask.bytes_in
        bytes_out += subtask.bytes_out
    return records_in, records_out, bytes_in, bytes_out


def vertex_facts(view: JobView, vertex: VertexView) -> VertexFacts:
    least, greatest, ended = _watermarks((vertex,))
    return VertexFacts(
        vertex.id,
        *totals(vertex),
        least,
        greatest,
        ended,
        _lag(view, {operator.id for operator in vertex.info.operators}),
        state_bytes_of(view, vertex.id),
    )


def job_facts(view: JobView) -> JobFacts:
    checkpoint = view.checkpoints.latest_completed
    least, _, ended = _watermarks(view.vertices)
    return JobFacts(
        view.records_read,
        least,
        ended,
        _lag(view, None),
        view.reports[-1].elapsed_ms if view.reports else None,
        view.restarts,
        None if checkpoint is None else checkpoint.duration_ms,
        None if checkpoint is None else checkpoint.state_bytes,
    )


def state_bytes_of(view: JobView, vertex_id: str) -> int | None:
    """What a vertex has in the newest completed checkpoint."""
    checkpoint = view.checkpoints.latest_completed
    if checkpoint is None:
        return None
    found = [s.state_bytes for s in checkpoint.subtasks if s.vertex == vertex_id]
    return sum(found) if found else None


def _watermarks(vertices: Iterable[VertexView]) -> tuple[int | None, int | None, bool]:
    """The least and the greatest that say a time, and whether there are none but those of the end."""
    known = [s.watermark for vertex in vertices for s in vertex.subtasks if s.watermark is not None]
    times = [watermark for watermark in known if NO_WATERMARK < watermark < MAX_WATERMARK]
    if not times:
        return None, None, MAX_WATERMARK in known
    return min(times), max(times), False


def _lag(view: JobView, operators: set[str] | None) -> int | None:
    """Of the sources among some operators; None: of all."""
    found = [
        records
        for source, splits in view.lag
        if operators is None or source in operators
        for _, records in splits
    ]
    return sum(found) if found else None
