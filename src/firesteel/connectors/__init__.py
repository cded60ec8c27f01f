"""Sources and sinks, and what one of your own derives from (Flink: FLIP-27 sources, Sink V2)."""

from __future__ import annotations

from firesteel.program import sources as base
from firesteel.program.sources import *  # noqa: F403 - one list of the names, there

__all__ = base.__all__
