"""The sessions of the SQL gateway: each a process (Flink: ``SessionManager``). Belongs to the event loop."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from firesteel.cluster.process import python_of
from firesteel.cluster.sql.messages import Request
from firesteel.cluster.sql.process import SessionGoneError, SessionProcess
from firesteel.common.configuration import Configuration
from firesteel.common.errors import FiresteelError
from firesteel.common.logs import logger
from firesteel.common.options import python, sql_client as options
from firesteel.common.options.checks import check
from firesteel.rest.errors import RestError, bad_request
from firesteel.rest.messages.submission import Submission

__all__ = ["SqlSessions"]

log = logger(__name__)

_JOBS: Final = "/firesteel/v1/jobs"

#: Status and content of the answer to a request: method, target, content, type of the content.
Respond = Callable[[str, str, bytes, str], Awaitable[tuple[int, bytes]]]


@dataclass(slots=True)
class _Session:
    process: SessionProcess
    seen_s: float
    asked: int = 0  # questions that wait for their answers
    queries: set[str] = field(default_factory=set)  # ids of jobs whose rows the session fetches


class SqlSessions:
    """Implements ``SqlGateway`` of the REST API.

    :param settings: of the cluster: below those of each session.
    :param cancel: ends a job, if there is one of this id.
    """

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str],
        cancel: Callable[[str], Awaitable[None]],
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        configuration = Configuration.from_dict(dict(settings))
        self._directory = directory / "work"
        self._settings = settings
        self._cancel = cancel
        self._monotonic_s = monotonic_s
        self._idle_s = configuration.get(options.SESSION_IDLE_TIMEOUT) / 1000
        self._check_s = configuration.get(options.SESSION_CHECK_INTERVAL) / 1000
        self._at_most = configuration.get(options.MAX_SESSIONS)
        self._known: dict[str, _Session] = {}
        self._checking: asyncio.Task[None] | None = None
        self._respond: Respond | None = None

    def answer_by(self, respond: Respond) -> None:
        """Name what answers the requests of sessions to the REST API."""
        self._respond = respond

    # ---- sessions

    async def open(self, name: str | None, properties: Mapping[str, str]) -> str:
        """A new session; its handle.

        :raises RestError: there are as many as there may be, or an option is malformed.
        """
        if len(self._known) >= self._at_most:
            raise RestError(
                503,
                "Failed to create session, the count of active sessions exceeds the max count: "
                f"{self._at_most} ({options.MAX_SESSIONS.key})",
            )
        settings = {**self._settings, **properties}
        try:
            check(Configuration.from_dict(settings))
        except FiresteelError as error:
            raise bad_request(str(error)) from error
        handle = str(uuid.uuid4())
        place = self._directory / f"sql-{handle}"
        process = SessionProcess(
            place,
            python_of(settings, python.CLIENT_EXECUTABLE.key),
            lambda request: self._answered(handle, request),
        )
        self._known[handle] = _Session(process, self._monotonic_s())
        try:
            await process.begin(name or "", settings)
        except BaseException:
            del self._known[handle]
            raise
        if self._checking is None and self._idle_s > 0 and self._check_s > 0:
            self._checking = asyncio.ensure_future(self._close_idle())
        log.info("SQL session is open session=%s", handle)
        return handle

    async def close(self, handle: str) -> None:
        found = self._session(handle)
        del self._known[handle]
        await found.process.end()
        for job_id in found.queries:
            with suppress(Exception):  # it has ended already
                await self._cancel(job_id)
        log.info("SQL session is closed session=%s", handle)

    def touch(self, handle: str) -> None:
        """Somebody uses the session."""
        self._session(handle).seen_s = self._monotonic_s()

    async def ask(self, handle: str, what: str, **given: Any) -> Any:
        """The answer of a session.

        :raises ReportedError: what it has failed with.
        """
        session = self._session(handle)
        session.asked += 1
        try:
            return await session.process.ask(what, **given)
        except SessionGoneError:
            if self._known.get(handle) is session:
                await self.close(handle)
            raise
        finally:
            session.asked -= 1
            session.seen_s = self._monotonic_s()

    async def end(self) -> None:
        """Close all."""
        if self._checking is not None:
            self._checking.cancel()
        await asyncio.gather(*(self.close(handle) for handle in list(self._known)), return_exceptions=True)

    def _session(self, handle: str) -> _Session:
        found = self._known.get(handle)
        if found is None:
            raise RestError(404, f"Session '{handle[:100]}' does not exist.")
        return found

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(self._check_s)
            await self.close_idle()

    async def close_idle(self) -> None:
        """Close those that nobody has used for longer than they may be idle."""
        oldest_s = self._monotonic_s() - self._idle_s
        for handle, session in list(self._known.items()):
            if session.asked == 0 and session.seen_s < oldest_s:
                log.info("SQL session is idle session=%s", handle)
                await self.close(handle)

    # ---- what sessions ask of the cluster

    async def _answered(self, handle: str, request: Request) -> tuple[int, bytes]:
        assert self._respond is not None
        status, content = await self._respond(request.method, request.target, request.content, request.kind)
        session = self._known.get(handle)
        if session is not None and request.method == "POST" and request.target == _JOBS and status < 300:
            submission = msgspec.json.decode(request.content, type=Submission)
            if submission.collects:
                session.queries.add(submission.job_id)
        return status, content
