"""Programs that were handed in by the REST API: kept by content, run in processes of their own."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shutil
import socket
import tarfile
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Final

from firesteel.cluster.blobs import BlobStore
from firesteel.cluster.messages import framed, receive_frame
from firesteel.cluster.process import python_of
from firesteel.cluster.program_messages import (
    Failed,
    Planned,
    Reply,
    RunProgram,
    Submit,
    Taken,
    decode_reply,
)
from firesteel.common.errors import FiresteelError
from firesteel.common.logs import logger
from firesteel.common.options import python
from firesteel.jobmanager.job_view import JobInfo
from firesteel.jobmanager.reported import failure_of
from firesteel.rest.cluster import ProgramRun, UploadedProgram
from firesteel.rest.errors import RestError, bad_request
from firesteel.rest.messages.submission import Submission
from firesteel.runtime.error_report import summary_of
from firesteel.storage.durable import replace_durably
from firesteel.storage.private_files import make_directories, private_opener, writing

log = logger(__name__)

_ID: Final = re.compile(r"[0-9a-f]{64}_[^/\\\x00]{1,200}")
_NAME: Final = re.compile(r"[^/\\\x00-\x1f]{1,200}")
KINDS: Final = (".py", ".zip", ".whl", ".tar.gz", ".tgz")
_JAR: Final = (
    "A jar cannot run here: programs are Python. Hand in the program itself (.py, or its modules as .zip, "
    ".whl or .tar.gz), or run it by `firesteel run -m HOST:PORT program.py`, or by Flink's client with "
    "`flink run -py program.py -pyclientexec firesteel-python`."
)
_PATIENCE_S: Final = 300.0  # for the first job of a program
_RUNNER: Final = "from firesteel.cli.program_process import main; main()"


class ProgramStore:
    """Implements ``Programs``.

    :param submit: takes the jobs of programs.
    :param settings: of the cluster: below those of each program.
    """

    def __init__(
        self,
        directory: Path,
        submit: Callable[[Submission], Awaitable[None]],
        settings: Mapping[str, str],
    ) -> None:
        self._directory = directory / "programs"
        make_directories(str(self._directory))
        self._cluster = directory
        self._coming = BlobStore(directory / "programs" / "coming")
        self._submit = submit
        self._settings = settings
        self._running: set[asyncio.Task[None]] = set()

    def all(self) -> Sequence[UploadedProgram]:
        found = []
        for path in sorted(self._directory.iterdir()):
            if _ID.fullmatch(path.name) and path.is_file():
                name = path.name[65:]
                ms = path.stat().st_mtime_ns // 1_000_000
                found.append(UploadedProgram(path.name, name, ms, _entries(path, name)))
        return sorted(found, key=lambda program: -program.uploaded_ms)

    async def upload(self, name: str, parts: AsyncIterator[bytes]) -> str:
        name = PurePosixPath(name.replace("\\", "/")).name
        if name.lower().endswith(".jar"):
            raise bad_request(_JAR)
        if _NAME.fullmatch(name) is None or name.startswith(".") or not name.lower().endswith(KINDS):
            raise bad_request(f"The file is {name[:100]!r}; a program is one of {', '.join(KINDS)}.")
        async with self._coming.coming(parts) as (coming, digest, _):
            program_id = f"{digest}_{name}"
            await asyncio.to_thread(_check, coming, name)
            with writing(str(self._directory)):
                await asyncio.to_thread(replace_durably, str(coming), str(self._directory / program_id))
        log.info("program is handed in id=%s", program_id)
        return program_id

    def delete(self, program_id: str) -> None:
        self._path(program_id).unlink()

    def _path(self, program_id: str) -> Path:
        path = self._directory / program_id
        if _ID.fullmatch(program_id) is None or not path.is_file():
            raise RestError(
                404, f"There is no program {program_id[:300]}. GET /jars lists those that there are."
            )
        return path

    # ---- running them

    async def plan(self, program_id: str, run: ProgramRun) -> JobInfo:
        first = await self._first_of(self._path(program_id), run, only_plan=True)
        assert isinstance(first, Planned)
        return first.info

    async def run(self, program_id: str, run: ProgramRun) -> str:
        first = await self._first_of(self._path(program_id), run, only_plan=False)
        assert isinstance(first, Submit)
        return first.submission.job_id

    async def end(self) -> None:
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _first_of(self, path: Path, run: ProgramRun, *, only_plan: bool) -> Reply:
        """The first job of a program, whose process then runs on."""
        first: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(self._run(path, run, only_plan, first))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            reply = await asyncio.wait_for(asyncio.shield(first), _PATIENCE_S)
        except TimeoutError:
            task.cancel()
            raise RestError(
                408, f"The program has not come to a job within {_PATIENCE_S:g} s, and was ended."
            ) from None
        if isinstance(reply, Failed):
            raise bad_request(f"The program has failed.\n{reply.failure.trace}")
        return reply

    async def _run(self, path: Path, run: ProgramRun, only_plan: bool, first: asyncio.Future[Reply]) -> None:
        mine, theirs = socket.socketpair()
        place = self._cluster / "work" / f"program-{os.urandom(8).hex()}"
        place.mkdir(0o700)
        settings = {**self._settings, **run.settings}
        process = None
        try:
            with theirs, open(place / "output", "wb", opener=private_opener) as output:
                process = await asyncio.create_subprocess_exec(
                    *(python_of(settings, python.CLIENT_EXECUTABLE.key), "-P", "-c", _RUNNER),
                    str(theirs.fileno()),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd=place,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            reader, writer = await asyncio.open_unix_connection(sock=mine)
            try:
                begin = RunProgram(
                    str(path),
                    path.name[65:],
                    str(self._cluster),
                    str(place),
                    run.entry,
                    list(run.arguments),
                    run.settings,
                    run.job_id,
                    only_plan,
                )
                writer.write(framed(begin))
                await self._hear(reader, writer, first)
            finally:
                writer.close()
            await asyncio.wait_for(process.wait(), 10)
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            pass
        finally:
            mine.close()
            if process is not None and process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
            if not first.done():
                first.set_result(Failed(failure_of(_no_job(place))))
            shutil.rmtree(place, ignore_errors=True)

    async def _hear(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: asyncio.Future[Reply]
    ) -> None:
        while True:
            reply = decode_reply(await receive_frame(reader))
            if isinstance(reply, Submit):
                refusal = None
                try:
                    await self._submit(reply.submission)
                except Exception as e:
                    refusal = failure_of(e)
                writer.write(framed(Taken(refusal)))
                if refusal is not None:
                    continue  # the program says what becomes of it
            elif isinstance(reply, Failed) and first.done():
                log.warning("a program has failed after its first job: %s", reply.failure.message)
            if not first.done():
                first.set_result(reply)


def _no_job(place: Path) -> FiresteelError:
    output = ""
    with suppress(OSError):
        output = (place / "output").read_text(errors="replace")[-4_000:]
    return FiresteelError(
        "The program has ended without a job.", detail=output or None, hint="it must call execute()"
    )


# ---- looking into files, without running anything of them


def _check(path: Path, name: str) -> None:
    """Refuse what cannot be a program."""
    try:
        if name.lower().endswith(".py"):
            ast.parse(path.read_bytes(), filename=name)
        else:
            for member in _members(path, name):
                inner = PurePosixPath(member)
                if inner.is_absolute() or ".." in inner.parts or "\\" in member:
                    raise bad_request(f"The archive has a file outside of it: {member[:200]!r}.")
    except SyntaxError as e:
        raise bad_request(f"{name} is not Python: {e}.") from e
    except (ValueError, RecursionError, MemoryError) as e:
        raise bad_request(f"{name} is not Python: {summary_of(e)}.") from e
    except (zipfile.BadZipFile, tarfile.TarError, OSError, EOFError) as e:
        raise bad_request(f"{name} is not an archive that can be read: {summary_of(e)}.") from e


def _members(path: Path, name: str) -> list[str]:
    if name.lower().endswith((".zip", ".whl")):
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    with tarfile.open(path) as packed:
        return packed.getnames()


@lru_cache(maxsize=1_000)
def _entries(path: Path, name: str) -> tuple[str, ...]:
    """Return what can be run. Cached, since the digest in the path stands for the content."""
    if name.lower().endswith(".py"):
        return ("__main__",)
    members = [member for member in _members(path, name) if "/" not in member and member.endswith(".py")]
    return ("__main__",) if "__main__.py" in members else tuple(sorted(members))
