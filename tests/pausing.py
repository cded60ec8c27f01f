"""Servers that stand still: they take connections and answer nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.waiting import until


def pause(pid: int) -> None:
    """Return when every thread of the process stands. A signal is only on its way when ``kill`` returns, and
    on a busy machine threads answered for some milliseconds more."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: _states(pid) == {"T"}, f"process {pid} does not stop")


def resume(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)


def _states(pid: int) -> set[str]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    # The name of a thread is in brackets before its state, and may hold any character.
    return {(task / "stat").read_text().rpartition(")")[2].split()[0] for task in tasks}
