"""How a task keeps an epoch short: it works in pieces and looks at the clock between them.

The first pieces are small and each may be several times larger than the one before, so slow code is noticed
after a few records and fast code is not held up. Piece sizes depend on measured time only where it is long
enough to matter: fast code is cut the same way each time, which keeps the bytes of its output the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from firesteel.runtime.program import Pace

_GROWTH: Final = 8  # a piece is at most this many times as large as the one before
_PIECES: Final = 4  # a piece should take no more than this part of the limit
_TICK_S: Final = 1e-9
_UNLIMITED: Final = 1 << 62


class TimeLimit:
    """The time limit of one task in one epoch.

    :param pace: None: no limit, and one piece.
    :param shares: how many parts of the task share ``pace.limit_ms`` one after the other.
    """

    def __init__(
        self, pace: Pace | None, shares: int = 1, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self.now_s = monotonic_s  # the clock of the work
        self._limited = pace is not None
        self._limit_s = self._overrun_s = float("inf")
        self.piece = _UNLIMITED
        if pace is not None:
            self._limit_s = pace.limit_ms / 1000 / shares
            self._overrun_s = pace.overrun_ms / 1000
            self.piece = max(1, pace.first_records)
        self.worked_s = 0.0
        self.records = 0
        self.is_over = False
        self.is_overrun = False

    def worked(self, records: int, elapsed_s: float) -> None:
        """Add the work on this many records."""
        if not self._limited:
            return
        self.worked_s += elapsed_s
        self.records += records
        self.is_over = self.worked_s >= self._limit_s
        self.is_overrun = self.worked_s >= self._overrun_s
        if records:
            affordable = records * self._limit_s / _PIECES / (elapsed_s + _TICK_S)
            self.piece = int(min(self.piece * _GROWTH, affordable + 1, _UNLIMITED))
