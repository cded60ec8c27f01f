"""The accumulators and metrics of a job: what its committed epochs have added up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from firesteel.runtime.program import Ack


class Accumulated:
    """Changed by the thread that runs the epochs, and by no other."""

    def __init__(self, accumulators: Mapping[str, Any] | None = None) -> None:
        self.by_name: dict[str, Any] = dict(accumulators or {})

    def add(self, acks: Iterable[Ack]) -> None:
        """Add what the subtasks of one epoch counted."""
        for ack in acks:
            for name, part in ack.accumulators.items():
                if name in self.by_name:
                    self.by_name[name].merge(part)
                else:
                    self.by_name[name] = part
