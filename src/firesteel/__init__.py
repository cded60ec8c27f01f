"""Flink's model for Python programs, run by Apache Spark."""

from __future__ import annotations

from firesteel.version import __version__

__all__ = ["__version__"]
