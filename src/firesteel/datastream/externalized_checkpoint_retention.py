"""What becomes of the last checkpoint when its job is cancelled."""

from __future__ import annotations

from firesteel.program.retention import ExternalizedCheckpointRetention

__all__ = ["ExternalizedCheckpointRetention"]
