"""The process of a program that was handed in by the REST API: it builds graphs, and hands its jobs in.

python -P -c "from firesteel.cli.program_process import main; main()" DESCRIPTOR
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import socket
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from firesteel.cluster.blobs import BlobStore
from firesteel.cluster.messages import Message, framed, read_frame
from firesteel.cluster.program_messages import (
    Failed,
    Instruction,
    Planned,
    RunProgram,
    Submit,
    Taken,
    decode_instruction,
)
from firesteel.cluster.remote import RemoteExecutor
from firesteel.common.errors import ConfigurationError
from firesteel.jobmanager.checkpoints.options import CheckpointOptions
from firesteel.jobmanager.job_view import JobInfo
from firesteel.jobmanager.reported import ReportedError, failure_of
from firesteel.rest.messages.submission import Submission


class _Door:
    """Hands jobs to the dispatcher that has started this process, and files to its blobs."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._file = connected.makefile("rb")
        begin = self.receive()
        assert isinstance(begin, RunProgram)
        self.begin = begin
        self._blobs = BlobStore(Path(begin.directory) / "blobs")
        self._only_plan = begin.only_plan

    def missing(self, digests: Sequence[str]) -> list[str]:
        return [] if self._only_plan else [digest for digest in digests if not self._blobs.has(digest)]

    def put(self, digest: str, content: bytes) -> None:
        self._blobs.put(content)

    def submit(self, submission: Submission) -> None:
        if self._only_plan:
            info = JobInfo(
                submission.job_id,
                submission.name,
                submission.batch,
                submission.vertices,
                (),
                CheckpointOptions(),
                "",
            )
            self.tell(Planned(info))
            raise _Planned
        self.tell(Submit(submission))
        answer = self.receive()
        if isinstance(answer, Taken) and answer.refusal is not None:
            raise ReportedError(answer.refusal)

    def tell(self, message: Message) -> None:
        self._socket.sendall(framed(message))

    def receive(self) -> Instruction:
        body = read_frame(self._file)
        if body is None:
            raise EOFError("the dispatcher has ended")
        return decode_instruction(body)


class _Planned(BaseException):
    """The first job is known, and nothing of the program must run any more."""


def main() -> None:
    """The program of the process."""
    door = _Door(socket.socket(fileno=int(sys.argv[1])))
    code = 0
    try:
        _run(door.begin, door)
    except _Planned:
        pass
    except SystemExit as e:
        code = 0 if e.code in (None, 0) else 1
        if code:
            door.tell(Failed(failure_of(e)))
    except BaseException as e:
        code = 1
        door.tell(Failed(failure_of(e)))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(begin: RunProgram, door: _Door) -> None:
    from firesteel.cli._scripts import become_pyflink
    from firesteel.datastream._session_defaults import set_session_defaults
    from firesteel.program.execution import set_executor

    set_session_defaults(begin.settings)
    executor = RemoteExecutor(door, None, detached=True, job_id=begin.job_id)
    set_executor(executor)
    if importlib.util.find_spec("pyflink") is None:
        become_pyflink()
    place = Path(begin.place) / "program"
    script, entry = _unpacked(begin, place)
    sys.argv = [script.name if script is not None else begin.name, *begin.arguments]
    sys.path.insert(0, str(place))
    if script is not None:
        runpy.run_path(str(script), run_name="__main__")
        return
    module, _, function = entry.partition(":")
    if function:
        getattr(importlib.import_module(module), function)()
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)


def _unpacked(begin: RunProgram, place: Path) -> tuple[Path | None, str]:
    """The file to run; if there is none, the module, or the function of a module.

    :raises ConfigurationError: the entry names nothing of the program.
    """
    place.mkdir(exist_ok=True)
    entry = "" if begin.entry in (None, "", "__main__") else str(begin.entry)
    name = begin.name.lower()
    if name.endswith(".py"):
        script = place / begin.name
        script.write_bytes(Path(begin.path).read_bytes())
        if ":" in entry:
            return None, entry
        if entry not in ("", begin.name, script.stem):
            raise _no_entry(entry, [begin.name, f"{script.stem}:FUNCTION"])
        return script, ""
    if name.endswith((".zip", ".whl")):
        with zipfile.ZipFile(begin.path) as archive:
            archive.extractall(place)
    else:
        with tarfile.open(begin.path) as packed:
            packed.extractall(place, filter="data")
    scripts = sorted(path.name for path in place.glob("*.py"))
    if not entry:
        entry = "__main__.py" if "__main__.py" in scripts else scripts[0] if len(scripts) == 1 else ""
    if entry in scripts:
        return place / entry, ""
    if not entry or entry.endswith(".py"):
        raise _no_entry(entry or "(none)", [*scripts, "MODULE", "MODULE:FUNCTION"])
    return None, entry


def _no_entry(entry: str, known: list[str]) -> ConfigurationError:
    return ConfigurationError(
        "The program has no such entry.",
        detail=f"entryClass is {entry}",
        hint=f"what can be run: {', '.join(known)}",
    )
