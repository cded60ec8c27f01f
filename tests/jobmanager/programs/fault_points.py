"""Where a driver may die by its own hand, beside the points that every sink is proven at."""

from __future__ import annotations

from firesteel.connectors.files import part_store as _part_store
from firesteel.jobmanager.checkpoints.storage import CheckpointDirectory
from firesteel.jobmanager.checkpoints.store import CompletedCheckpoints
from firesteel.jobmanager.epochs import EpochRunner
from firesteel.jobmanager.sinks import JobSinks
from firesteel.state.files import StateFiles
from firesteel.testing import connectors
from firesteel.testing.connectors import KillPoint
from tests.jobmanager.programs.sqlite_sink import SqliteSink

POINTS: dict[str, KillPoint] = {
    "after pre-commit": KillPoint(EpochRunner, "run", False),
    "after an epoch": KillPoint(JobSinks, "epoch_done", False),
    "before the manifest": KillPoint(CheckpointDirectory, "publish", True),
    "after the manifest": KillPoint(CheckpointDirectory, "publish", False),
    "before clean-up": KillPoint(CompletedCheckpoints, "_drop", True),
    "in clean-up": KillPoint(CheckpointDirectory, "discard", False),
    "between the files of a clean-up": KillPoint(StateFiles, "delete", True),
    "before the commit": KillPoint(JobSinks, "checkpoint_done", True),
    "in the commit, before its journal": KillPoint(_part_store.PartStore, "store", True),
    "in the commit, after its journal": KillPoint(_part_store.PartStore, "store", False),
    "in the commit, before a file appears": KillPoint(_part_store.LocalParts, "publish", True),
    "after the commit": KillPoint(JobSinks, "checkpoint_done", False),
    "before the end": KillPoint(JobSinks, "finish", True),
    "after the end, before it is recorded": KillPoint(JobSinks, "finish", False),
    "in a transaction of the commit": KillPoint(SqliteSink, "before_each_commit", True),
    "between two transactions of the commit": KillPoint(SqliteSink, "commit", False),
    "in the recovery of the sink": KillPoint(SqliteSink, "finish_recovering_context", False),
}

#: Where tasks run in the driver's own process.
LOCAL_POINTS: dict[str, KillPoint] = {"in pre-commit": KillPoint(SqliteSink, "pre_commit", False)}


#: Where it is recorded that the job has ended.
LAST_POINTS: dict[str, KillPoint] = {
    "after the end is recorded": KillPoint(CheckpointDirectory, "record_end", False),
    "between the last clean-up of two sinks": KillPoint(_part_store.LocalParts, "remove", False),
    "after the last clean-up of the sinks": KillPoint(CheckpointDirectory, "dispose", True),
}


def die_at(point: str, count: int) -> None:
    """This process is killed when it passes ``point`` for the ``count``-th time."""
    connectors.die_at((POINTS | LOCAL_POINTS | LAST_POINTS)[point]._replace(times=count))
