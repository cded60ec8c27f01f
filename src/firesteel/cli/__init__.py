"""The ``firesteel`` command."""

from firesteel.cli._main import main

__all__ = ["main"]
