"""Views of jobs that no process runs: not yet, or not any more."""

from __future__ import annotations

from msgspec.structs import replace

from firesteel.cluster.store import JobRecord
from firesteel.common.errors import FiresteelError
from firesteel.common.job_status import JobStatus
from firesteel.common.masking import shown_settings
from firesteel.graph.execution_graph import ExecutionState
from firesteel.jobmanager.checkpoints.options import CheckpointOptions
from firesteel.jobmanager.checkpoints.statistics import CheckpointsView
from firesteel.jobmanager.events import ExceptionRaised, StatusChanged
from firesteel.jobmanager.job_view import (
    AttemptView,
    ExceptionView,
    JobInfo,
    JobView,
    SubtaskView,
    VertexInfo,
    VertexView,
)
from firesteel.runtime.error_report import texts_of


def new_view(record: JobRecord, status: JobStatus = JobStatus.INITIALIZING) -> JobView:
    """A job that was handed in and does not run yet."""
    submission, now_ms = record.submission, record.submitted_ms
    info = JobInfo(
        submission.job_id,
        submission.name,
        submission.batch,
        submission.vertices,
        shown_settings(submission.settings),
        CheckpointOptions(),
        "",
    )
    vertices = tuple(_vertex(vertex, submission.job_id, now_ms) for vertex in submission.vertices)
    return JobView.first(info, status, vertices, CheckpointsView(), now_ms)


def _vertex(info: VertexInfo, job_id: str, now_ms: int) -> VertexView:
    state = ExecutionState.CREATED
    return VertexView(
        info,
        tuple(
            SubtaskView(number, AttemptView(0, f"{job_id}_{info.id}_{number}_0", state, ((state, now_ms),)))
            for number in range(info.parallelism)
        ),
    )


def with_status(view: JobView, status: JobStatus, now_ms: int) -> JobView:
    """The same job, in ``status``."""
    times = tuple((known, ms) for known, ms in view.timestamps if known is not status)
    return replace(
        view,
        version=view.version + 1,
        published_ms=now_ms,
        status=status,
        timestamps=(*times, (status, now_ms)),
        journal=view.journal.with_event(StatusChanged(now_ms, status)),
    )


def ended_view(view: JobView, status: JobStatus, now_ms: int, error: BaseException | None = None) -> JobView:
    """The last view of a job whose own process did not make it."""
    if error is not None:
        found = exception_of(error, view.attempt, now_ms)
        view = replace(
            view,
            exceptions=(*view.exceptions, found)[-16:],
            journal=view.journal.with_event(
                ExceptionRaised(now_ms, found.name, found.message, found.attempt)
            ),
        )
    state = ExecutionState.FINISHED if status is JobStatus.FINISHED else ExecutionState.CANCELED
    view = replace(view, vertices=tuple(_ended(vertex, state, now_ms) for vertex in view.vertices))
    return replace(with_status(view, status, now_ms), ended_ms=now_ms)


def _ended(vertex: VertexView, state: ExecutionState, now_ms: int) -> VertexView:
    subtasks = tuple(
        subtask
        if subtask.attempt.state.terminal
        else replace(
            subtask,
            attempt=replace(
                subtask.attempt, state=state, entered_ms=(*subtask.attempt.entered_ms, (state, now_ms))
            ),
        )
        for subtask in vertex.subtasks
    )
    return replace(vertex, subtasks=subtasks)


def exception_of(error: BaseException, attempt: int, now_ms: int) -> ExceptionView:
    """A failure that no vertex is known for."""
    cause = error.__cause__ if isinstance(error, FiresteelError) and error.__cause__ is not None else error
    message, trace = texts_of(cause)
    return ExceptionView(now_ms, type(cause).__name__, message, trace, attempt)
