"""What the dispatcher has in common with all processes that it starts: questions to them, and their end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from firesteel.cluster.messages import Answered, Refused
from firesteel.jobmanager.reported import ReportedError

__all__ = ["Questions", "kill_group"]


class Questions:
    """Those that a process has not answered yet. Belongs to the event loop."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._number = 0

    def new(self) -> tuple[int, asyncio.Future[Any]]:
        """The number of a question, and what its answer comes to."""
        self._number += 1
        answer = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        return self._number, answer

    def answered(self, message: Answered | Refused) -> None:
        answer = self._waiting.pop(message.number, None)
        if answer is None or answer.done():
            return
        match message:
            case Answered(_, value):
                answer.set_result(value)
            case Refused(_, failure):
                answer.set_exception(ReportedError(failure))

    def give_up(self, reason: Callable[[], Exception]) -> None:
        """The process has gone: nobody waits any more."""
        waiting = list(self._waiting.values())
        self._waiting.clear()
        for answer in waiting:
            if not answer.done():
                answer.set_exception(reason())


def kill_group(pid: int) -> None:
    """End a process, which leads a group, and all that it has started; it may be gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
