"""Commands that take their time: started by one request, asked after by others (Flink: trigger ids)."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from firesteel.rest.answers.failures import cause_of
from firesteel.rest.errors import RestError, not_found
from firesteel.rest.messages.jobs import QueueStatus
from firesteel.rest.messages.operations import OperationResult, OperationValue

_AT_ONCE: Final = 1_000  # operations that may be known; else a client could fill the memory

Key = tuple[str, str, str]  # which kind, of which job, under which id


@dataclass(slots=True)
class _Operation:
    task: asyncio.Task[OperationValue]
    ended_s: float | None = None
    seen: bool = False


class Operations:
    """Belongs to the event loop.

    :param keep_s: how long a result is kept.
    """

    def __init__(self, keep_s: float = 300.0, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._keep_s = keep_s
        self._monotonic_s = monotonic_s
        self._known: dict[Key, _Operation] = {}

    def start(
        self,
        kind: str,
        subject: str,
        trigger_id: str | None,
        do: Callable[[], Awaitable[OperationValue]],
    ) -> str:
        """Begin an operation; the id under which it is asked after. An id that is known begins nothing."""
        self._forget_old()
        trigger_id = trigger_id or secrets.token_hex(16)
        key = (kind, subject, trigger_id)
        if key not in self._known:
            if len(self._known) >= _AT_ONCE:
                raise RestError(429, f"There are {_AT_ONCE} operations already. Ask again later.")
            operation = _Operation(asyncio.ensure_future(_answered(do)))
            operation.task.add_done_callback(lambda task: self._ended(operation))
            self._known[key] = operation
        return trigger_id

    def result(self, kind: str, subject: str, trigger_id: str) -> OperationResult:
        """What has come of an operation so far.

        :raises RestError: 404: nobody began it, or its result is too old.
        """
        self._forget_old()
        operation = self._known.get((kind, subject, trigger_id))
        if operation is None:
            of_job = f" for job {subject}" if subject else ""
            raise not_found(
                f"There is no {kind} operation with triggerId={trigger_id}{of_job}. "
                f"Results are kept for {self._keep_s:.0f} seconds (rest.async.store-duration)."
            )
        if not operation.task.done():
            return OperationResult(status=QueueStatus(id="IN_PROGRESS"), operation=None)
        operation.seen = True
        return OperationResult(status=QueueStatus(id="COMPLETED"), operation=operation.task.result())

    async def all_seen(self, timeout_s: float) -> None:
        """Wait until somebody has asked for each result: so a client learns what came of a command that
        ended the program."""
        until_s = self._monotonic_s() + timeout_s
        while self._monotonic_s() < until_s and not all(o.seen for o in self._known.values()):
            await asyncio.sleep(0.1)

    def _ended(self, operation: _Operation) -> None:
        operation.ended_s = self._monotonic_s()

    def _forget_old(self) -> None:
        oldest_s = self._monotonic_s() - self._keep_s
        for key in [k for k, o in self._known.items() if o.ended_s is not None and o.ended_s < oldest_s]:
            del self._known[key]


async def _answered(do: Callable[[], Awaitable[OperationValue]]) -> OperationValue:
    """Whatever happens is a result."""
    try:
        return await do()
    except Exception as e:
        return OperationValue(failure_cause=cause_of(e))
