"""Failures as Flink's clients read them."""

from __future__ import annotations

from firesteel.common.masking import masked
from firesteel.jobmanager.job_view import ExceptionView
from firesteel.jobmanager.reported import failure_of
from firesteel.rest.messages.jobs import FailureCause
from firesteel.rest.serialized_throwable import serialized_throwable


def cause_of(error: BaseException) -> FailureCause:
    """Why a command failed."""
    failure = failure_of(error)
    return _cause(failure.name, masked(_without_name(failure.message, failure.name)), failure.trace)


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
