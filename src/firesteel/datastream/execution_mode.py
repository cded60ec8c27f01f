"""Streaming or batch: how a job treats its input."""

from __future__ import annotations

from firesteel.program.execution_mode import RuntimeExecutionMode

__all__ = ["RuntimeExecutionMode"]
