"""Source of a sequence of numbers."""

from __future__ import annotations

from firesteel.common.typeinfo import Types
from firesteel.connectors.generated import sequence
from firesteel.program.connector_wrappers import SourceWrapper


class NumberSequenceSource(SourceWrapper):
    """Emits the integers from ``start`` to ``end``, both inclusive, read in parallel; bounded.

    (Flink: ``NumberSequenceSource``.)
    """

    def __init__(self, start: int, end: int) -> None:
        super().__init__(sequence.SequenceSource(start, end))
        self.produced_type = Types.LONG()
