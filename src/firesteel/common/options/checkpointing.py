"""Options of checkpoints."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, duration, integer, paths, text, word

MINIMAL_TIME_MS: Final = 10
ALIGNED: Final = "checkpoints are taken between two epochs, and barriers are always aligned"

INTERVAL: Final = duration(
    "execution.checkpointing.interval",
    None,
    "The time from one checkpoint to the next; each is taken at the end of the epoch that is nearest to its "
    "instant. Without it, or with 0, there are none.",
    bounds=Bounds(MINIMAL_TIME_MS, beside=0),
)
MODE: Final = word(
    "execution.checkpointing.mode",
    "EXACTLY_ONCE",
    ("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    "What checkpoints promise. AT_LEAST_ONCE has no effect: every checkpoint is exactly-once.",
)
TIMEOUT: Final = duration(
    "execution.checkpointing.timeout",
    600_000,
    "Give up a checkpoint that is not complete after this time.",
    bounds=Bounds(MINIMAL_TIME_MS),
)
MIN_PAUSE: Final = duration(
    "execution.checkpointing.min-pause",
    0,
    "The least time from the end of one checkpoint to the beginning of the next.",
)
MAX_CONCURRENT: Final = integer(
    "execution.checkpointing.max-concurrent-checkpoints",
    1,
    "Flink: how many checkpoints may be under way at once.",
    no_effect="there is never more than one checkpoint under way",
    bounds=Bounds(1),
)
TOLERABLE_FAILURES: Final = integer(
    "execution.checkpointing.tolerable-failed-checkpoints",
    0,
    "How many checkpoints may fail in a row before the job does.",
    bounds=Bounds(0),
)
RETENTION: Final = word(
    "execution.checkpointing.externalized-checkpoint-retention",
    "NO_EXTERNALIZED_CHECKPOINTS",
    ("DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"),
    "What becomes of the last checkpoint when the job is cancelled.",
)
NUM_RETAINED: Final = integer(
    "execution.checkpointing.num-retained",
    1,
    "How many checkpoints are kept.",
    bounds=Bounds(1),
    older_names=("state.checkpoints.num-retained",),
)
DIRECTORY: Final = text(
    "execution.checkpointing.dir",
    None,
    "Where checkpoints are kept, reachable from all hosts. Without it they end with the process.",
    bounds=Bounds(1),
    older_names=("state.checkpoints.dir", "state.backend.fs.checkpointdir"),
)
SAVEPOINT_DIRECTORY: Final = text(
    "execution.checkpointing.savepoint-dir",
    None,
    "Where a savepoint goes when its trigger names no directory.",
    bounds=Bounds(1),
    older_names=("state.savepoints.dir", "savepoints.state.backend.fs.dir"),
)
STORAGE: Final = text(
    "execution.checkpointing.storage",
    None,
    "`filesystem` or `jobmanager`. Without it: filesystem when there is a directory.",
    older_names=("state.checkpoint-storage",),
)
UNALIGNED: Final = boolean(
    "execution.checkpointing.unaligned.enabled",
    False,
    "Flink: let barriers overtake records.",
    older_names=("execution.checkpointing.unaligned",),
    no_effect=ALIGNED,
)
UNALIGNED_FORCED: Final = boolean(
    "execution.checkpointing.unaligned.forced",
    False,
    "Flink: unaligned checkpoints in programs with iterations too.",
    no_effect=ALIGNED,
)
ALIGNED_TIMEOUT: Final = duration(
    "execution.checkpointing.aligned-checkpoint-timeout",
    0,
    "Flink: how long a checkpoint waits for barriers before it becomes unaligned.",
    older_names=("execution.checkpointing.alignment-timeout",),
    no_effect=ALIGNED,
)
INCREMENTAL: Final = boolean(
    "execution.checkpointing.incremental",
    False,
    "Flink: write what has changed since the checkpoint before.",
    older_names=("state.backend.incremental",),
    no_effect="every checkpoint is incremental: it refers to the state files that are there already",
)
FILE_MERGING: Final = boolean(
    "execution.checkpointing.file-merging.enabled",
    False,
    "Flink: write small changes of many subtasks into one file.",
    no_effect="small changes of all subtasks share one file already",
)
SNAPSHOT_COMPRESSION: Final = boolean(
    "execution.checkpointing.snapshot-compression",
    False,
    "Flink: compress full snapshots.",
    no_effect="state files are written without compression",
)
LOCAL_BACKUP: Final = boolean(
    "execution.checkpointing.local-backup.enabled",
    False,
    "Keep copies of state files on each host where they are written or read, if they lie in a remote file "
    "system: a restart there reads no state remotely.",
    older_names=("state.backend.local-recovery",),
)
LOCAL_BACKUP_DIRECTORIES: Final = paths(
    "execution.checkpointing.local-backup.dirs",
    "The directory of each host for these copies; only the first is used. Without it: `firesteel.local-dir`.",
    older_names=("taskmanager.state.local.root-dirs",),
)
