"""Where a driver may die, and how a test makes it."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Final, NamedTuple

from firesteel.jobmanager.checkpoints.storage import CheckpointDirectory
from firesteel.jobmanager.commits import SinkCommits
from firesteel.jobmanager.sinks import JobSinks
from firesteel.runtime.operators.sink import SinkOperator
from firesteel.testing.local_platform import LocalEngine

__all__ = ["KILL_POINTS", "KillPoint", "die_at"]


class KillPoint(NamedTuple):
    """The process is killed when ``method`` of ``owner``, a class or a module, is called for the
    ``times``-th time: before it does anything, or when it has returned."""

    owner: type | ModuleType
    method: str
    before: bool
    times: int = 2


#: The points of the engine around a commit, in the order of a job's life.
KILL_POINTS: Final[Mapping[str, KillPoint]] = MappingProxyType(
    {
        "in a task that has staged": KillPoint(SinkOperator, "end_epoch", False, 3),
        "after an epoch that does not count yet": KillPoint(LocalEngine, "run", False),
        "after an epoch": KillPoint(JobSinks, "epoch_done", False),
        "before the checkpoint": KillPoint(CheckpointDirectory, "publish", True),
        "after the checkpoint": KillPoint(CheckpointDirectory, "publish", False),
        "before the commit": KillPoint(JobSinks, "checkpoint_done", True),
        "at the committer": KillPoint(SinkCommits, "commit", True),
        "behind the committer": KillPoint(SinkCommits, "commit", False),
        "after the commit": KillPoint(JobSinks, "checkpoint_done", False),
        "before a recovery": KillPoint(JobSinks, "open", True, 1),
        "in a recovery": KillPoint(JobSinks, "open", False, 1),
        "after a recovery": KillPoint(JobSinks, "commit_pending", False, 1),
        "before the end": KillPoint(JobSinks, "finish", True, 1),
    }
)


def die_at(point: KillPoint) -> None:
    """From now on this process is killed (SIGKILL) at ``point``."""
    owner, name, before, left = point
    method = getattr(owner, name)

    def passing(*args: Any, **options: Any) -> Any:
        nonlocal left
        left -= 1
        dies = left == 0  # another thread may call it meanwhile
        if dies and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = method(*args, **options)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, passing)
