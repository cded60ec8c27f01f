"""What the tests on Spark share: programs in processes of their own, and what those leave behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.waiting import patience, until

PROGRAMS = Path(__file__).with_name("programs")
_TOKEN = "FIRESTEEL_TEST_RUN"  # in the environment of a program and of all processes that come from it

# What Spark's launcher says on standard error whatever the log level.
_LAUNCHER = ("WARNING: Using incubator modules", 'Setting default log level to "', "To adjust logging level")
# What ``firesteel run`` says of each job.
_STARTED = re.compile(r"Job '.*' has been submitted with JobID [0-9a-f]{32}(?:; Spark's log: \S+)?")
# Idle Python workers that see the end of Spark before Spark's daemon ends them, several at once: a race of
# PySpark's own, with tracebacks of two lines.
_AT_EXIT = re.compile(
    r'Traceback \(most recent call last\):|  File ".*/pyspark/daemon\.py", line \d+, in (?:manager|worker)'
    r"|(?:BrokenPipeError|ConnectionResetError): .*"
)


def firesteel(*args: str | Path) -> list[str]:
    """The ``firesteel`` command of this environment."""
    return [
        sys.executable,
        "-c",
        "from firesteel.cli import main; main(prog_name='firesteel')",
        *map(str, args),
    ]


@dataclass(frozen=True)
class Ended:
    """A program that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def complaints(self) -> str:
        """What it said on standard error, without Spark's launcher and the line for each job."""
        said = [line for line in self.err.splitlines() if not line.startswith(_LAUNCHER)]
        lines = [line for line in said if not _STARTED.fullmatch(line)]
        if all(_AT_EXIT.fullmatch(line) for line in lines):
            return ""
        return "\n".join(lines)


class Program:
    """A running program in a process group of its own, as a shell starts it."""

    def __init__(self, command: Sequence[str], cwd: Path, env: dict[str, str] | None = None) -> None:
        self.token = uuid.uuid4().hex
        self.lines: list[str] = []  # of standard output, so far
        self._err: list[str] = []
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            env=os.environ | {"TMPDIR": str(cwd), _TOKEN: self.token} | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._readers = [
            threading.Thread(target=_copy, args=args, daemon=True)
            for args in ((self._process.stdout, self.lines), (self._process.stderr, self._err))
        ]
        for reader in self._readers:
            reader.start()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return "\n".join([*self.lines, *self._err])

    def wait_for(self, enough: Callable[[list[str]], bool], timeout_s: float = 90) -> None:
        def is_enough() -> bool:
            has_ended = self._process.poll() is not None
            found = enough(self.lines)
            assert found or not has_ended, f"the program has ended: {self.lines} {self._err}"
            return found

        until(is_enough, lambda: f"it does not come: {self.lines} {self._err}", timeout_s)

    def signal_group(self, number: signal.Signals) -> None:
        """What a terminal does with Ctrl-C: all processes of the group get the signal."""
        os.killpg(self._process.pid, number)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def processes(self) -> list[psutil.Process]:
        """All that live and come from this program: itself, its JVMs, their Python workers."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(_TOKEN) == self.token and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def end(self, timeout_s: float = 150) -> Ended:
        """Wait for its end, and see that nothing of it goes on living."""
        until(self._has_ended, lambda: f"it does not end: {self.lines} {self._err}", timeout_s)
        code = self._process.wait()
        # Its JVM ends after it, and stops Spark before.
        until(lambda: not self.processes(), lambda: f"left behind: {self._left()}", 20, look_s=0.1)
        for reader in self._readers:
            reader.join(patience(10))
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()
        return Ended(code, "\n".join(self.lines), "\n".join(self._err))

    def _has_ended(self) -> bool:
        return self._process.poll() is not None

    def _left(self) -> list[str]:
        return [_describe(process) for process in self.processes()]

    def destroy(self) -> None:
        for process in self.processes():
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self._process.wait(patience(10))


@contextmanager
def started(command: Sequence[str], cwd: Path, env: dict[str, str] | None = None) -> Iterator[Program]:
    program = Program(command, cwd, env)
    try:
        yield program
    finally:
        program.destroy()


def run(
    command: Sequence[str], cwd: Path, env: dict[str, str] | None = None, timeout_s: float = 150
) -> Ended:
    with started(command, cwd, env) as program:
        return program.end(timeout_s)


def python(script: str, *args: str | Path) -> list[str]:
    """A program of ``programs/`` with this Python."""
    return [sys.executable, str(PROGRAMS / script), *map(str, args)]


def _copy(pipe: Iterator[str], lines: list[str]) -> None:
    for line in pipe:
        lines.append(line.rstrip("\n"))


def _describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {' '.join(process.cmdline())[:200]}"
    except psutil.NoSuchProcess:
        return f"{process.pid} (gone)"
