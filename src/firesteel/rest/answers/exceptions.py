"""Why a job failed, the newest failure first."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import UNSET

from firesteel.jobmanager.job_view import ExceptionView, JobView
from firesteel.rest.messages.exceptions import (
    ApplicationException,
    ApplicationExceptionHistory,
    ApplicationExceptions,
    ExceptionHistory,
    ExceptionInfo,
    JobExceptions,
)


def job_exceptions(view: JobView, most: int, labels: Collection[tuple[str, str]] = ()) -> JobExceptions:
    """At most ``most`` of them. ``labels``: those with these labels; none has any."""
    found = [] if labels else [_info(view, failure) for failure in reversed(view.exceptions)]
    truncated = len(found) > most or view.exceptions_dropped > 0
    history = ExceptionHistory(entries=found[:most], truncated=truncated)
    return JobExceptions(exception_history=history)


def _info(view: JobView, failure: ExceptionView) -> ExceptionInfo:
    return ExceptionInfo(
        exception_name=failure.name,
        stacktrace=failure.traceback,
        timestamp=failure.time_ms,
        failure_labels={},
        concurrent_exceptions=[],
        task_name=_task(view, failure) or UNSET,
    )


def _task(view: JobView, failure: ExceptionView) -> str | None:
    """``name (1/4) - execution #0``, as Flink calls an attempt; None where it is not known."""
    if failure.vertex is None or failure.subtask is None:
        return failure.task
    parallelism = view.vertex(failure.vertex).info.parallelism
    return f"{failure.task} ({failure.subtask + 1}/{parallelism}) - execution #{failure.attempt}"


def application_exceptions(view: JobView) -> ApplicationExceptions:
    """What its job failed with for good."""
    entries = [
        ApplicationException(
            exception_name=failure.name,
            stacktrace=failure.traceback,
            timestamp=failure.time_ms,
            job_id=view.job_id,
        )
        for failure in view.exceptions[-1:]
        if view.status.name == "FAILED"
    ]
    return ApplicationExceptions(exception_history=ApplicationExceptionHistory(entries=entries))
