"""A job's process, as its dispatcher sees it. Belongs to the event loop."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from firesteel.cluster.children import Questions, kill_group
from firesteel.cluster.messages import (
    Answered,
    Begin,
    Message,
    Refused,
    Viewed,
    decode_report,
    framed,
    receive_frame,
)
from firesteel.common.errors import JobExecutionError
from firesteel.storage.private_files import private_opener

_PROGRAM: Final = "from firesteel.cluster.job_process import main; main()"
#: Written while the process runs, so that the next dispatcher can end what this one leaves.
PID: Final = "process"


class JobProcess:
    """:param begin: what it is told first.
    :param platform: ``module:name`` of what makes the platform of its job.
    :param python: the interpreter that runs it.
    :param on_view: called with each view, as bytes.
    """

    def __init__(
        self,
        begin: Begin,
        platform: str,
        python: str,
        variables: Mapping[str, str],
        on_view: Callable[[bytes], None],
    ) -> None:
        self._begin = begin
        self._platform = platform
        self._python = python
        self._variables = variables
        self._on_view = on_view
        self._questions = Questions()
        self._writer: asyncio.StreamWriter | None = None
        self._process: asyncio.subprocess.Process | None = None
        self.was_killed = False
        self.goes_on = False  # its job does, in another process

    @property
    def job_id(self) -> str:
        return self._begin.record.job_id

    @property
    def runs(self) -> bool:
        return self._writer is not None

    async def run(self) -> int:
        """Start it, and hear it to its end; the exit code."""
        mine, theirs = socket.socketpair()
        try:
            self._process = await self._start(theirs)
        except BaseException:
            mine.close()
            raise
        finally:
            theirs.close()
        reader, writer = await asyncio.open_unix_connection(sock=mine)
        self._writer = writer
        try:
            self._send(self._begin)
            await self._hear(reader)
        finally:
            code = await self._ended(writer)
        return code

    async def _start(self, theirs: socket.socket) -> asyncio.subprocess.Process:
        directory = Path(self._begin.directory)
        logs, place = directory / "logs", directory / "work" / self.job_id
        place.mkdir(0o700, parents=True, exist_ok=True)
        with (
            open(logs / f"job-{self.job_id}.out", "ab", opener=private_opener) as out,
            open(logs / f"job-{self.job_id}.log", "ab", opener=private_opener) as err,
        ):
            process = await asyncio.create_subprocess_exec(
                *(self._python, "-P", "-c", _PROGRAM, str(theirs.fileno()), self._platform),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=place,
                env=self._environment(),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        (directory / "jobs" / self.job_id / PID).write_text(str(process.pid))
        if self.was_killed:  # meanwhile
            process.kill()
        return process

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **self._variables,
            "PYSPARK_PYTHON": self._python,
            "PYSPARK_DRIVER_PYTHON": self._python,
            "PYTHONUNBUFFERED": "1",
        }

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                match decode_report(await receive_frame(reader)):
                    case Viewed(view):
                        self._on_view(view)
                    case Answered() | Refused() as answer:
                        self._questions.answered(answer)

    async def _ended(self, writer: asyncio.StreamWriter) -> int:
        self._writer = None
        writer.close()
        assert self._process is not None
        try:
            code = await asyncio.wait_for(self._process.wait(), 20)
        except TimeoutError:  # it has closed its end, and goes on
            self.kill()
            code = await self._process.wait()
        kill_group(self._process.pid)  # what it has started
        self._questions.give_up(lambda: _gone(self.job_id))
        return code

    # ---- orders

    def tell(self, message: Message) -> None:
        """It may have gone already; then it makes no difference."""
        if self._writer is not None:
            self._send(message)

    async def ask(self, make: Callable[[int], Message]) -> Any:
        """The answer to a message that ``make`` makes of its number.

        :raises ReportedError: what the job has failed with.
        """
        if self._writer is None:
            raise _gone(self.job_id)
        number, answer = self._questions.new()
        self._send(make(number))
        return await answer

    def kill(self) -> None:
        """End it, and all that it has started, at once."""
        self.was_killed = True
        if self._process is not None and self._process.returncode is None:
            kill_group(self._process.pid)

    def _send(self, message: Message) -> None:
        assert self._writer is not None
        self._writer.write(framed(message))


def _gone(job_id: str) -> JobExecutionError:
    return JobExecutionError(f"The process of job {job_id} does not answer: it ends", job_id=job_id)


def end_left_over(place: Path) -> None:
    """End the process that an earlier dispatcher has started for the job of this directory."""
    with suppress(OSError, ValueError):
        pid = int((place / PID).read_text())
        command = Path("/proc", str(pid), "cmdline").read_bytes()
        if _PROGRAM.encode() in command:
            kill_group(pid)


def python_of(settings: Mapping[str, str], *keys: str) -> str:
    """The interpreter that settings name; else the one of this process."""
    return next((settings[key] for key in keys if settings.get(key)), sys.executable)
