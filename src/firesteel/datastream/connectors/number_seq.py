"""A sequence of numbers."""

from __future__ import annotations

from firesteel.connectors.generated.builders_sequence import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
