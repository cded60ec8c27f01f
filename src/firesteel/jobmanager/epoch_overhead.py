"""What an epoch costs that has no records: planning, scheduling, an empty exchange, the commit.

It is not what a small epoch took beside the work of its tasks: records may cost much there too, in an
exchange. What stays when there are fewer of them is the cost of the epoch, so two epochs of different sizes
tell them apart. Spark takes now longer, now shorter for an epoch, and two of a similar size differ by little
else, so no single measure is believed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median_low
from typing import Final

_FIRST_MS: Final = 150.0
_LEAST_MS: Final = 5.0  # it rises from there again
_APART: Final = 1.5  # as a quotient of their records: epochs that are closer tell differences of chance
_MEASURES: Final = 3  # of which the middle one is believed
_KEPT: Final = 0.95  # of what earlier comparisons have said, with each new one
_FEW_RECORDS: Final = 1000  # an epoch with fewer tells what an empty one costs, before any are compared


@dataclass(frozen=True, slots=True)
class _Seen:
    records: int
    overhead_ms: float


class EpochOverhead:
    """:ivar ms: what an epoch without records is believed to cost."""

    def __init__(self) -> None:
        self.ms = _FIRST_MS
        self._compared: _Seen | None = None  # the next one of another size is compared with it
        # What a record costs is the mean of what the comparisons say, each as weighty as the square of its
        # distance: so much less does chance do to it.
        self._weight = self._weighted_ms = 0.0
        self._empty_ms: deque[float] = deque(maxlen=_MEASURES)

    @property
    def _each_ms(self) -> float:
        return max(0.0, self._weighted_ms / self._weight) if self._weight else 0.0

    def learn(self, records: int, overhead_ms: float) -> None:
        """An epoch of *records* took *overhead_ms* beside the work of its tasks."""
        self._compare(_Seen(records, overhead_ms))
        if not self._weight and records >= _FEW_RECORDS:
            return
        self._empty_ms.append(max(_LEAST_MS, overhead_ms - self._each_ms * records))
        self.ms = median_low(self._empty_ms)

    def at_most(self, records: int, elapsed_ms: float) -> None:
        """An epoch of *records* took *elapsed_ms* in all; how long its tasks worked is not known."""
        if records < _FEW_RECORDS:
            self.ms = min(self.ms, max(_LEAST_MS, elapsed_ms))

    def _compare(self, seen: _Seen) -> None:
        other = self._compared
        if other is None:
            self._compared = seen
            return
        few, many = sorted((other, seen), key=lambda s: s.records)
        if many.records >= _APART * few.records and many.records > few.records:
            more = many.records - few.records
            self._weight = _KEPT * self._weight + more**2
            self._weighted_ms = _KEPT * self._weighted_ms + more * (many.overhead_ms - few.overhead_ms)
            self._compared = seen
