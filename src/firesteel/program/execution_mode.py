"""Streaming or batch: how a job treats its input."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """The semantics that a job runs with (Flink: ``RuntimeExecutionMode``)."""

    STREAMING = 0  # results as they come, watermarks, checkpoints
    BATCH = 1  # bounded input only: a keyed operator sees one key after the other and gives final results
    AUTOMATIC = 2  # BATCH when every source is bounded, else STREAMING
