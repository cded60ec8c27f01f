"""How long an epoch in real time is."""

from __future__ import annotations

from typing import Final

_SHORTEST_MS: Final = 100.0
_ENDING_MS: Final = 20.0  # that a task may compute to end an epoch
_GROWTH: Final = 2.0


class EpochLength:
    """Long epochs are cheap; but a task that ends one processes nothing, for as long as it takes to write
    down what has changed, and holds that in memory. So an epoch is as long as that stays little.

    :param longest_ms: what an epoch may have at most; it has that where little changes.
    """

    def __init__(self, longest_ms: float) -> None:
        self._longest_ms = longest_ms
        self._shortest_ms = min(_SHORTEST_MS, longest_ms)
        #: Of the next epoch.
        self.ms = self._shortest_ms

    def adapt(self, epoch_ms: float, ending_ms: float, dirt: float = 0.0) -> None:
        """An epoch has lasted *epoch_ms*, and the slowest task has computed *ending_ms* to end it.

        :param dirt: how much of its state a subtask has changed, as a part of what it should at most.
        """
        fitting = min(_ENDING_MS / max(ending_ms, 1e-3), 1 / max(dirt, 1e-3))
        fitting_ms = max(epoch_ms, self._shortest_ms) * fitting
        self.ms = max(self._shortest_ms, min(self._longest_ms, _GROWTH * self.ms, fitting_ms))
