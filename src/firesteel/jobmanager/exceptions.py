"""Failures of a job as data: which exception, where in the job, with which traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.common.errors import FiresteelError, JobExecutionError
from firesteel.jobmanager.job_view import ExceptionView
from firesteel.runtime.error_report import texts_of

if TYPE_CHECKING:
    from firesteel.graph.job_graph import JobGraph, JobVertex


def exception_view(error: BaseException, graph: JobGraph, attempt: int, now_ms: int) -> ExceptionView:
    """Describe ``error``, which ended an attempt of a job. A user's exception is shown as itself, with
    the place in the job that the engine knows."""
    shown = error.__cause__ if isinstance(error, JobExecutionError) and error.__cause__ else error
    message, traceback = texts_of(shown)
    place = error if isinstance(error, FiresteelError) else FiresteelError("")
    vertex = None if place.uid is None else _vertex_of(place.uid, graph)
    return ExceptionView(
        time_ms=now_ms,
        name=type(shown).__name__,
        message=message,
        traceback=traceback,
        attempt=attempt,
        vertex=None if vertex is None else vertex.id,
        task=None if vertex is None else vertex.name,
        operator=place.operator,
        subtask=place.subtask,
    )


def _vertex_of(uid: str, graph: JobGraph) -> JobVertex | None:
    """The vertex with the operator of a uid, or of an operator id."""
    for vertex in graph.vertices:
        if any(uid in (o.node.uid, o.operator_id) for o in vertex.operators):
            return vertex
    return None
