"""What an epoch costs that has no records: planning, scheduling, an empty exchange, the commit.

It is not what a small epoch took beside the work of its tasks: records may cost much there too, in an
exchange. What stays when there are fewer of them is the cost of the epoch, so two epochs of different sizes
tell them apart. A worker that stands still makes one epoch long; what two in succession say is believed.
"""

from __future__ import annotations

from dataclasses import dataclass
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
        self._each_ms: float | None = None  # what a record costs there; None: nothing has been compared
        self._last_ms: float | None = None  # what the epoch before has said

    def learn(self, records: int, overhead_ms: float) -> None:
        """An epoch of *records* took *overhead_ms* beside the work of its tasks."""
        seen = _Seen(records, overhead_ms)
        self._compare(seen)
        if self._each_ms is None and records >= _FEW_RECORDS:
            return
        said_ms = max(_LEAST_MS, overhead_ms - (self._each_ms or 0.0) * records)
        agreed_ms = self.ms if self._last_ms is None else min(said_ms, self._last_ms)
        self.ms = max(agreed_ms, self.ms) if said_ms > self.ms else said_ms
        self._last_ms = said_ms

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
            self._each_ms = max(0.0, many.overhead_ms - few.overhead_ms) / more
            self._compared = seen
