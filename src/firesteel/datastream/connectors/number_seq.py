"""A sequence of numbers."""

from __future__ import annotations

from firesteel.common.typeinfo import Types
from firesteel.connectors import sequence
from firesteel.datastream.connectors.base import Source

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """The integers from ``start`` to ``end``, both included, read in parallel; bounded.

    (Flink: ``NumberSequenceSource``.)
    """

    def __init__(self, start: int, end: int) -> None:
        super().__init__(sequence.NumberSequenceSource(start, end))
        self.produced_type = Types.LONG()
