"""How large an epoch is, and how soon the next one follows: adapted to a target length, capped by records,
bytes and dirty state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from firesteel.jobmanager.sources import Budget
from firesteel.state.line import EpochDelta

_FIRST_RECORDS: Final = 20_000  # nobody knows yet how large they are
_LEAST_RECORDS: Final = 100
_FEW_RECORDS: Final = 1000  # an epoch with fewer tells what an empty one costs
_DIRTY_ENTRIES: Final = 1_000_000  # changed state entries of one subtask in one epoch
_DIRTY_BYTES: Final = (
    128 << 20
)  # the same in bytes: the worker holds them, and some copies when it writes them
_STEP: Final = 8.0  # an epoch is at most so many times larger than the one before


@dataclass(frozen=True, slots=True)
class PacingOptions:
    """``target_ms`` is the length aimed at while there is a backlog; the two caps hold for each split;
    ``min_interval_ms`` lies between the starts of two epochs while there is no backlog."""

    target_ms: int
    max_records: int | None = None
    max_bytes: int = 512 * 1024 * 1024
    min_interval_ms: int = 100


def dirt(delta: EpochDelta) -> float:
    """What an epoch has changed of the state of a subtask; 1 is the most that it should."""
    return max(delta.entries / _DIRTY_ENTRIES, delta.length / _DIRTY_BYTES)


class Pacer:
    """Learns from each epoch how many records fit into the target length."""

    def __init__(self, options: PacingOptions) -> None:
        self._options = options
        self._records = float(options.max_records or _FIRST_RECORDS)
        self._fixed_ms = 150.0  # what an empty epoch costs

    def budget(self) -> Budget:
        return Budget(int(self._records), self._options.max_bytes)

    def pause_ms(self, elapsed_ms: float, records: int) -> int:
        """How long to wait after an epoch that read so many records."""
        if records >= int(self._records):
            return 0
        return max(0, int(self._options.min_interval_ms - elapsed_ms))

    def learn(self, elapsed_ms: float, records: int, most_records: int, most_dirty: float) -> None:
        """``elapsed_ms``: without what the tasks only waited for at its end, which does not become less with
        fewer records; ``records``: what the epoch read; ``most_records``: the most that one subtask read;
        ``most_dirty``: the most state that one subtask changed, as a share of what it should (``dirt``)."""
        if records < _FEW_RECORDS:
            self._fixed_ms = min(self._fixed_ms, elapsed_ms)
        if self._options.max_records is not None or most_records < self._records * 0.9:
            return  # fixed by the user, or the epoch was not cut by the budget: nothing to learn
        work = max(1.0, elapsed_ms - self._fixed_ms)
        factor = min(_STEP, max(1 / _STEP, max(1.0, self._options.target_ms - self._fixed_ms) / work))
        if most_dirty:
            factor = min(factor, 1 / most_dirty)
        self._records = max(float(_LEAST_RECORDS), self._records * factor)
