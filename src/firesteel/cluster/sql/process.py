"""The process of a SQL session, as its dispatcher sees it. Belongs to the event loop."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from firesteel.cluster.children import Questions, kill_group
from firesteel.cluster.messages import Answered, Message, Refused, framed, receive_frame
from firesteel.cluster.sql.messages import Ask, BeginSession, Reply, Request, decode_up
from firesteel.common.errors import FiresteelError
from firesteel.storage.private_files import private_opener

__all__ = ["SessionGoneError", "SessionProcess"]

_PROGRAM: Final = "from firesteel.cluster.sql.session_process import main; main()"
_GRACE_S: Final = 10.0  # how long it may take to end its queries

#: Status and content of the answer to a request.
Respond = Callable[[Request], Awaitable[tuple[int, bytes]]]


class SessionGoneError(FiresteelError):
    """The process of a session has ended."""


class SessionProcess:
    """:param place: the directory that it works in, and that goes with it.
    :param respond: answers its requests to the REST API.
    """

    def __init__(self, place: Path, python: str, respond: Respond) -> None:
        self._place = place
        self._python = python
        self._respond = respond
        self._questions = Questions()
        self._writer: asyncio.StreamWriter | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self, name: str, settings: Mapping[str, str]) -> None:
        """Start it. It need not be ready when this returns; questions wait."""
        mine, theirs = socket.socketpair()
        self._place.mkdir(0o700, parents=True)
        with theirs, open(self._place / "output", "wb", opener=private_opener) as output:
            self._process = await asyncio.create_subprocess_exec(
                *(self._python, "-P", "-c", _PROGRAM, str(theirs.fileno())),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._place,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        reader, self._writer = await asyncio.open_unix_connection(sock=mine)
        self._send(BeginSession(name, dict(settings)))
        self._later(self._hear(reader))

    async def ask(self, what: str, **given: Any) -> Any:
        """The answer to a question.

        :raises ReportedError: what the session has failed with. :raises SessionGoneError: it has ended.
        """
        if self._writer is None:
            raise self._gone()
        number, answer = self._questions.new()
        self._send(Ask(number, what, given))
        return await answer

    async def end(self) -> None:
        """End its queries, and it."""
        with suppress(TimeoutError, FiresteelError):
            await asyncio.wait_for(self.ask("end"), _GRACE_S)
        if self._writer is not None:
            self._writer.close()
        self.kill()
        if self._process is not None:
            await self._process.wait()
        shutil.rmtree(self._place, ignore_errors=True)

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            kill_group(self._process.pid)

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                match message := decode_up(await receive_frame(reader)):
                    case Request():
                        self._later(self._reply(message))
                    case Answered() | Refused():
                        self._questions.answered(message)
        self._writer = None
        self._questions.give_up(self._gone)

    async def _reply(self, request: Request) -> None:
        status, content = await self._respond(request)
        if self._writer is not None:
            self._send(Reply(request.number, status, content))

    def _gone(self) -> SessionGoneError:
        output = ""
        with suppress(OSError):
            output = (self._place / "output").read_text(errors="replace")[-4_000:]
        return SessionGoneError(
            "The process of the session has ended.", detail=output or None, hint="open another session"
        )

    def _later(self, do: Any) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(do)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _send(self, message: Message) -> None:
        assert self._writer is not None
        self._writer.write(framed(message))
