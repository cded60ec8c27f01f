"""Sums over the subtasks of a job that several answers and the history are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from firesteel.jobmanager.job_view import JobView, VertexView
from firesteel.runtime.batch import MAX_WATERMARK, MIN_WATERMARK


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


def vertex_facts(view: JobView) -> tuple[VertexFacts, ...]:
    """Return the facts of each vertex, in the order of the view."""
    lag, state_bytes = _lag_by_source(view), _state_bytes(view)
    return tuple(_vertex_facts(vertex, lag, state_bytes) for vertex in view.vertices)


def _vertex_facts(vertex: VertexView, lag: Mapping[str, int], state_bytes: Mapping[str, int]) -> VertexFacts:
    least, greatest, ended = _watermarks((vertex,))
    lags = [lag[operator.id] for operator in vertex.info.operators if operator.id in lag]
    return VertexFacts(
        vertex.id,
        *totals(vertex),
        least,
        greatest,
        ended,
        sum(lags) if lags else None,
        state_bytes.get(vertex.id),
    )


def job_facts(view: JobView) -> JobFacts:
    checkpoint = view.checkpoints.latest_completed
    least, _, ended = _watermarks(view.vertices)
    lag = _lag_by_source(view)
    return JobFacts(
        view.records_read,
        least,
        ended,
        sum(lag.values()) if lag else None,
        view.reports[-1].elapsed_ms if view.reports else None,
        view.restarts,
        None if checkpoint is None else checkpoint.duration_ms,
        None if checkpoint is None else checkpoint.state_bytes,
    )


def _state_bytes(view: JobView) -> dict[str, int]:
    """What each vertex has in the newest completed checkpoint; nothing for those that are not in it."""
    checkpoint = view.checkpoints.latest_completed
    found: dict[str, int] = {}
    for subtask in () if checkpoint is None else checkpoint.subtasks:
        found[subtask.vertex] = found.get(subtask.vertex, 0) + subtask.state_bytes
    return found


def _watermarks(vertices: Iterable[VertexView]) -> tuple[int | None, int | None, bool]:
    """The least and the greatest that say a time, and whether there are none but those of the end."""
    known = [s.watermark for vertex in vertices for s in vertex.subtasks if s.watermark is not None]
    times = [watermark for watermark in known if MIN_WATERMARK < watermark < MAX_WATERMARK]
    if not times:
        return None, None, MAX_WATERMARK in known
    return min(times), max(times), False


def _lag_by_source(view: JobView) -> dict[str, int]:
    """How many records each source has not read, by its id; nothing for those that do not know."""
    return {source: sum(records for _, records in splits) for source, splits in view.lag if splits}
