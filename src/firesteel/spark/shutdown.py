"""Ending a session of ours without noise from its Python workers."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

_PATIENCE_S: Final = 2.0


def stop_quietly(session: SparkSession) -> None:
    """End the Python workers, then the session.

    A session that is stopped closes the sockets of its idle workers before it ends them, and those print a
    BrokenPipeError each into the terminal. Asked first, their daemon ends them without a word.
    """
    for daemon in _daemons(session):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(daemon, signal.SIGTERM)
            _await_end(daemon)
    session.stop()


def _daemons(session: SparkSession) -> list[int]:
    """The ``pyspark.daemon`` processes of a local session, where the system has /proc."""
    gateway = getattr(session.sparkContext, "_gateway", None)
    jvm = getattr(getattr(gateway, "proc", None), "pid", None)
    if jvm is None or not Path("/proc/self/stat").exists():
        return []
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _is_daemon_of(pid, jvm)]


def _is_daemon_of(pid: int, jvm: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended meanwhile
        return False
    parent = int(stat.rpartition(")")[2].split()[1])
    return parent == jvm and b"pyspark.daemon" in command


def _await_end(pid: int) -> None:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
