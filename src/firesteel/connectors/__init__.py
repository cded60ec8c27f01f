"""Sources and sinks, and the base classes for your own (Flink: FLIP-27 sources, Sink V2)."""

from __future__ import annotations

from firesteel.program import sources as base
from firesteel.program.sources import *  # noqa: F403 - one list of the names, there

__all__ = base.__all__
