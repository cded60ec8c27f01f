"""When and how checkpoints are taken."""

from __future__ import annotations

from firesteel.program.checkpoint_config import CheckpointConfig

__all__ = ["CheckpointConfig"]
