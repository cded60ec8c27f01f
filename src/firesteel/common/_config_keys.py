"""Options that were renamed in Flink: the present name and the older ones that still count."""

from __future__ import annotations

# present name -> older names, the most recent first
OLDER_NAMES: dict[str, tuple[str, ...]] = {
    "state.backend.type": ("state.backend",),
    "execution.checkpointing.incremental": ("state.backend.incremental",),
    "execution.checkpointing.dir": ("state.checkpoints.dir", "state.backend.fs.checkpointdir"),
    "execution.checkpointing.savepoint-dir": (
        "state.savepoints.dir",
        "savepoints.state.backend.fs.dir",
    ),
    "execution.checkpointing.num-retained": ("state.checkpoints.num-retained",),
    "execution.checkpointing.storage": ("state.checkpoint-storage",),
    "execution.checkpointing.aligned-checkpoint-timeout": ("execution.checkpointing.alignment-timeout",),
    "execution.checkpointing.unaligned.enabled": ("execution.checkpointing.unaligned",),
    "execution.state-recovery.path": ("execution.savepoint.path",),
    "execution.state-recovery.ignore-unclaimed-state": ("execution.savepoint.ignore-unclaimed-state",),
    "execution.state-recovery.claim-mode": ("execution.savepoint-restore-mode",),
    "execution.state-recovery.from-local": ("state.backend.local-recovery",),
    "restart-strategy.type": ("restart-strategy",),
    "high-availability.type": ("high-availability",),
}
