"""The consistency that checkpoints are asked for."""

from __future__ import annotations

from firesteel.program.checkpointing_mode import CheckpointingMode

__all__ = ["CheckpointingMode"]
