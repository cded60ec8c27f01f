"""What an epoch costs that has no records: planning, scheduling, an empty exchange, the commit.

It is not what a small epoch took beside the work of its tasks: records may cost much there too, in an
exchange. What stays when there are fewer of them is the cost of the epoch, so two epochs of different sizes
tell them apart. Spark takes now longer, now shorter for an epoch, and two of a similar size differ by that
alone; so of the last three measures the middle one is believed, of either cost.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median_low
from typing import Final

_FIRST_MS: Final = 150.0
_LEAST_MS: Final = 5.0  # it rises from there again
_APART: Final = 1.5  # as a quotient of their records: epochs that are closer tell differences of chance
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
        self._each = _Belief()  # in ms, what a record costs there
        self._empty = _Belief()  # in ms, what is left without that

    def learn(self, records: int, overhead_ms: float) -> None:
        """An epoch of *records* took *overhead_ms* beside the work of its tasks."""
        self._compare(_Seen(records, overhead_ms))
        each_ms = self._each.value
        if each_ms is None and records >= _FEW_RECORDS:
            return
        self.ms = self._empty.hear(max(_LEAST_MS, overhead_ms - (each_ms or 0.0) * records))

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
            self._each.hear(max(0.0, many.overhead_ms - few.overhead_ms) / more)
            self._compared = seen


class _Belief:
    """What measures say of which single ones may be wrong: the middle of the last three."""

    def __init__(self) -> None:
        self._heard: deque[float] = deque(maxlen=3)

    @property
    def value(self) -> float | None:
        """None: nothing has been measured."""
        return median_low(self._heard) if self._heard else None

    def hear(self, measure: float) -> float:
        self._heard.append(measure)
        return median_low(self._heard)
