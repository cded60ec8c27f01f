"""Why a job failed."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from firesteel.rest.messages.base import Id, Message


class ExceptionInfo(Message, frozen=True, rename="camel"):
    """``stacktrace``: Python's traceback, which begins with the oldest call."""

    exception_name: str
    stacktrace: str
    timestamp: int
    failure_labels: dict[str, str]
    concurrent_exceptions: list[Any]
    task_name: str | UnsetType = UNSET
    endpoint: str | UnsetType = UNSET
    task_manager_id: str | UnsetType = UNSET


class ExceptionHistory(Message, frozen=True):
    """The newest first."""

    entries: list[ExceptionInfo]
    truncated: bool


class JobExceptions(Message, frozen=True, rename={"exception_history": "exceptionHistory"}):
    exception_history: ExceptionHistory


class ApplicationException(Message, frozen=True, rename="camel"):
    exception_name: str
    stacktrace: str
    timestamp: int
    job_id: Id


class ApplicationExceptionHistory(Message, frozen=True):
    entries: list[ApplicationException]


class ApplicationExceptions(Message, frozen=True, rename={"exception_history": "exceptionHistory"}):
    exception_history: ApplicationExceptionHistory
