"""The program of ``windows.py`` in this process, without Spark. Its driver kills itself when it passes a
point for the COUNT-th time.

    killed.py CHECKPOINTS POINT COUNT, and the arguments of windows.py; POINT "none": it runs to its end
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from firesteel.connectors.kafka import transactions
from firesteel.connectors.kafka.sink import KafkaCommitter
from firesteel.connectors.kafka.transactions import Claim, SubtaskCommit
from firesteel.jobmanager.checkpoints.storage import CheckpointDirectory
from firesteel.jobmanager.sinks import JobSinks
from firesteel.jobmanager.sources import JobSources
from firesteel.testing.local_platform import LocalEngine
from tests.jobmanager.checkpoint_support import env_with
from tests.runtime.support import local_platform
from tests.servers.kafka.programs import windows

# Where a driver may die: the method, and whether it dies before or after it.
POINTS: dict[str, tuple[Any, str, bool]] = {
    "after an epoch ran": (LocalEngine, "run", False),
    "after an epoch": (JobSinks, "epoch_done", False),
    "before the manifest": (CheckpointDirectory, "publish", True),
    "before the commit": (JobSinks, "checkpoint_done", True),
    "in the transaction, with messages in it": (transactions, "produce", False),
    "between the transactions of two subtasks": (SubtaskCommit, "__call__", False),
    "when a task has read its marker": (transactions, "all_blocks", True),
    "before what was staged is gone": (KafkaCommitter, "post_commit", True),
    "after the commit": (JobSinks, "checkpoint_done", False),
    "before the group knows": (JobSources, "checkpoint_completed", True),
    "when the prefix is claimed": (Claim, "take", False),
}


def die_at(point: str, count: int) -> None:
    owner, name, before = POINTS[point]
    method: Callable[..., Any] = getattr(owner, name)
    left = count

    def passing(*args: Any, **options: Any) -> Any:
        nonlocal left
        left -= 1
        dies = left == 0  # another thread may call it meanwhile
        if dies and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = method(*args, **options)
        if dies:
            if name == "produce":
                args[0].flush(10)  # they are in the brokers' log
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, passing)


if __name__ == "__main__":
    checkpoints, point, count, *arguments = sys.argv[1:]
    if point != "none":
        die_at(point, int(count))
    options = {
        "execution.checkpointing.interval": "50 ms",
        "execution.checkpointing.dir": checkpoints,
        "execution.state-recovery.path": "latest",
        "firesteel.epoch.max-records": "40",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "100",
        "restart-strategy.fixed-delay.delay": "100 ms",
    }
    brokers, topic, partitions, stop, target = arguments
    with local_platform():
        windows.run(env_with(2, None, **options), brokers, topic, int(partitions), int(stop), target)
