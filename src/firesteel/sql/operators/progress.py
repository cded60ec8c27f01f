"""How far event time has come in an operator with windows, of which its state remembers: after a restore
there is no watermark, and what has fired must not fire again."""

from __future__ import annotations

from typing import Any

from firesteel.runtime.batch import MIN_WATERMARK
from firesteel.state.backend import OperatorState

__all__ = ["Progress"]


class Progress:
    """
    :ivar at: windows that fire at this instant, or before it, have fired.
    """

    def __init__(self, state: OperatorState) -> None:
        self._list: Any = state.union_list_state("progress")
        self._kept = MIN_WATERMARK
        self.at = MIN_WATERMARK

    def begin_epoch(self, watermark: int) -> None:
        self._kept = min(self._list.get(), default=MIN_WATERMARK)
        self.at = max(self._kept, watermark)

    def end_epoch(self) -> None:
        if self.at != self._kept:
            self._list.update([self.at])
