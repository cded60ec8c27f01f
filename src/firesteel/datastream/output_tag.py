"""The name and type of a side output."""

from __future__ import annotations

from firesteel.program.output_tag import OutputTag

__all__ = ["OutputTag"]
