"""Flame graphs of Python workers, by py-spy, which looks at processes from outside.

A frame in the stack of a task says which job and level it is of (``runtime/task_name.py``), so what a worker
does is known to be of a vertex, or of those that share its level. Nothing is paused, and nothing is asked of
the workers. Only workers of this machine can be seen.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from firesteel.common._requirements import install_command
from firesteel.jobmanager.job_view import JobView, WorkerView
from firesteel.rest.errors import not_found
from firesteel.runtime.task_name import task_name

SECONDS: Final = 2
PER_SECOND: Final = 50
_KEPT_S: Final = 10.0  # an answer serves all who look within
_KEPT: Final = 100
_MOST: Final = 16  # processes that are looked at at once


@dataclass(slots=True)
class Node:
    """A frame with what it called. ``count``: how often it was seen."""

    name: str
    count: int = 0
    children: dict[str, Node] = field(default_factory=dict)

    def add(self, frames: Iterable[str], count: int) -> None:
        node = self
        node.count += count
        for frame in frames:
            node = node.children.setdefault(frame, Node(frame))
            node.count += count

    def add_stacks(self, text: str, before: Sequence[str] = ()) -> None:
        """All stacks of py-spy's lines ``frame;frame count``.

        :param before: frames that come before them.
        """
        for line in text.splitlines():
            stack, _, count = line.rpartition(" ")
            if count.isdecimal():
                self.add((*before, *stack.split(";")), int(count))


@dataclass(frozen=True, slots=True)
class Profile:
    """``processes``: how many were looked at."""

    taken_ms: int
    processes: int
    root: Node


class FlameGraphs:
    """Belongs to the event loop. One sample is taken at a time, however many ask."""

    def __init__(self, allowed: bool) -> None:
        self._allowed = allowed
        self._lock = asyncio.Lock()
        self._kept: dict[tuple[str, bool], tuple[float, Profile]] = {}

    @property
    def why_not(self) -> str | None:
        """Why there are none; None: there are."""
        if not self._allowed:
            return "Flame graphs are switched off: rest.flamegraph.enabled is false."
        if py_spy() is None:
            return (
                "Flame graphs need py-spy, which is not installed where the server runs: "
                f"{install_command('profile', 'py-spy')}."
            )
        return None

    async def of(self, view: JobView, level: int, idle: bool) -> Profile:
        """What the tasks of a level are doing; nothing when none was at work in a process of this machine.

        :param idle: also where they wait.

        :raises RestError: 404: it cannot be found out, with the reason.
        """
        if self.why_not is not None:
            raise not_found(self.why_not)
        name = task_name(view.job_id, level)
        async with self._lock:
            found = self._kept.get((name, idle))
            if found is not None and time.monotonic() - found[0] < _KEPT_S:
                return found[1]
            profile = await _sampled(name, processes_here(view.workers), idle)
            while len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            if profile.root.count:  # else the next one may see more
                self._kept[name, idle] = (time.monotonic(), profile)
            return profile


def py_spy() -> str | None:
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.is_file() else shutil.which("py-spy")


def processes_here(workers: Iterable[WorkerView]) -> list[int]:
    """The newest of the Python processes that run tasks on this machine."""
    here = {socket.gethostname(), socket.getfqdn()}
    found = sorted(workers, key=lambda worker: worker.seen_ms, reverse=True)
    return [worker.pid for worker in found if worker.host in here][:_MOST]


async def _sampled(name: str, processes: list[int], idle: bool) -> Profile:
    with TemporaryDirectory(prefix="firesteel-flames-") as directory:
        files = [Path(directory, str(pid)) for pid in processes]
        errors = await asyncio.gather(*map(look, processes, files, [idle] * len(files)))
        root = Node("root")
        for file in files:
            if file.is_file():
                add_stacks(root, file.read_text(errors="replace"), name)
    seen = [error for error in errors if error is None]
    if processes and not seen:
        raise not_found(f"py-spy could not look at the Python workers: {errors[0]}")
    return Profile(time.time_ns() // 1_000_000, len(seen), root)


def add_stacks(root: Node, text: str, name: str) -> None:
    """The stacks with a frame of that name, of py-spy's lines ``frame;frame count``."""
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        task = next((n for n, frame in enumerate(frames) if frame.startswith(f"{name} (")), None)
        if task is not None and count.isdecimal():
            root.add(frames[task + 1 :], int(count))


async def look(pid: int, file: Path, idle: bool, seconds: int = SECONDS) -> str | None:
    """Sample a process for a while; why it could not be done."""
    program = py_spy()
    assert program is not None
    arguments = ["record", "--pid", str(pid), "--duration", str(seconds), "--rate", str(PER_SECOND)]
    arguments += ["--format", "raw", "--nonblocking", "--full-filenames", "--output", str(file)]
    arguments += ["--idle"] if idle else []
    spy = await asyncio.create_subprocess_exec(
        program, *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(seconds + 20):
            _, said = await spy.communicate()
    except TimeoutError:
        return "it did not come to an end"
    finally:
        if spy.returncode is None:
            spy.kill()
            await spy.wait()
    lines = said.decode(errors="replace").strip().splitlines() or ["it said nothing"]
    return None if spy.returncode == 0 and file.is_file() else lines[0]
