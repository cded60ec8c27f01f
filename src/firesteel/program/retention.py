"""What becomes of the last checkpoint when its job is cancelled."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(Enum):
    """Whether checkpoints outlive their job (Flink: ``ExternalizedCheckpointRetention``)."""

    DELETE_ON_CANCELLATION = 0  # kept after a failure, removed when the job is cancelled
    RETAIN_ON_CANCELLATION = 1  # kept in both cases
    NO_EXTERNALIZED_CHECKPOINTS = 2  # never kept
