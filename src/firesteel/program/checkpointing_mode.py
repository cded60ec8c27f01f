"""The consistency that checkpoints are asked for."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """How often a record may change state after a failure (Flink: ``CheckpointingMode``).

    An epoch is atomic here, so ``AT_LEAST_ONCE`` gets exactly-once as well, and costs nothing less.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
