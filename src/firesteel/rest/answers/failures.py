"""Failures as Flink's clients read them."""

from __future__ import annotations

from firesteel.common.errors import FiresteelError
from firesteel.common.masking import masked
from firesteel.jobmanager.job_view import ExceptionView
from firesteel.rest.messages.jobs import FailureCause
from firesteel.rest.serialized_throwable import serialized_throwable
from firesteel.runtime.error_report import texts_of


def cause_of(error: BaseException) -> FailureCause:
    """Why a command failed."""
    summary, trace = texts_of(error)
    name = type(error).__name__
    message = str(error) if isinstance(error, FiresteelError) else _without_name(summary, name)
    return _cause(name, masked(message), trace)


def cause_of_job(failure: ExceptionView | None) -> FailureCause:
    """Why a job failed: the message has the user's traceback, since Flink's client prints nothing else."""
    if failure is None:
        message = "The job failed; nobody knows why any more."
        return _cause("JobExecutionError", message, message)
    trace = failure.traceback
    whole = trace if trace.startswith(failure.message) else f"{failure.message}\n{trace}"
    return _cause(failure.name, _without_name(whole, failure.name), trace)


def _cause(name: str, message: str, trace: str) -> FailureCause:
    return FailureCause(
        name=name, stack_trace=trace, serialized_throwable=serialized_throwable(name, message, trace)
    )


def _without_name(summary: str, name: str) -> str:
    """``ValueError: no room`` without the class, which is said beside it."""
    before, colon, message = summary.partition(": ")
    return message if colon and before.rpartition(".")[2] == name else summary
