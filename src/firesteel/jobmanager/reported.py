"""Exceptions of another process, as plain data: who hears of them need not have their classes."""

from __future__ import annotations

import msgspec

from firesteel.common.errors import FiresteelError
from firesteel.runtime.error_report import texts_of


class Failure(msgspec.Struct, frozen=True):
    """An exception: its class, what it says, its traceback."""

    name: str
    message: str
    trace: str


class ReportedError(FiresteelError):
    """What another process has failed with."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: BaseException) -> Failure:
    if isinstance(error, ReportedError):
        return error.failure
    summary, trace = texts_of(error)
    return Failure(type(error).__name__, str(error) if isinstance(error, FiresteelError) else summary, trace)
