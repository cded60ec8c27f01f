"""The processes of a local Spark session: its JVM, and below it the executors and Python workers."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

_PROC: Final = Path("/proc")
_WORKER: Final = b"pyspark.worker"  # in the command of the daemons and of the workers they fork


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    state: str
    command: bytes

    @property
    def is_python(self) -> bool:
        return _WORKER in self.command and self.state != "Z"


def python_daemons(session: SparkSession) -> list[int]:
    """The processes that fork Python workers: one for each executor. Empty where the system has no /proc."""
    family = _descendants(session)
    return [p.pid for p in family.values() if p.is_python and not _is_forked(p, family)]


def python_workers(session: SparkSession) -> list[int]:
    """The Python workers of all executors on this machine. Empty where the system has no /proc."""
    family = _descendants(session)
    return [p.pid for p in family.values() if p.is_python and _is_forked(p, family)]


def python_processes_with(variable: str) -> list[int]:
    """The daemons and workers on this machine that were started with ``NAME=value`` in their environment,
    parents first. Empty where the system has no /proc."""
    wanted = variable.encode()
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir(_PROC) if _PROC.is_dir() else ())):
        process = find_process(pid)
        if process is not None and process.is_python:
            with suppress(OSError):
                if wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                    found.append(pid)
    return sorted(found)


def _is_forked(process: Process, family: dict[int, Process]) -> bool:
    parent = family.get(process.parent)
    return parent is not None and parent.is_python


def _descendants(session: SparkSession) -> dict[int, Process]:
    """All processes below the JVM of the session, which must be a child of this process."""
    gateway = getattr(session.sparkContext, "_gateway", None)
    jvm = getattr(getattr(gateway, "proc", None), "pid", None)
    if jvm is None or not (_PROC / "self" / "stat").exists():
        return {}
    everything = [p for p in map(find_process, map(int, filter(str.isdigit, os.listdir(_PROC)))) if p]
    family: dict[int, Process] = {}
    above = {jvm}
    while above:
        below = [p for p in everything if p.parent in above]
        family.update({p.pid: p for p in below})
        above = {p.pid for p in below}
    return family


def find_process(pid: int) -> Process | None:
    """None: it has ended."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
        command = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    state, parent = stat.rpartition(")")[2].split()[:2]
    return Process(pid, int(parent), state, command)
