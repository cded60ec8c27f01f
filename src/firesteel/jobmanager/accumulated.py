"""The accumulators and metrics of a job: what its committed epochs have added up to."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from firesteel.runtime.metrics import Gauge
from firesteel.runtime.program import Ack
from firesteel.runtime.task_report import TaskReport


class Accumulated:
    """Changed by the thread that runs the epochs, and by no other."""

    def __init__(self, accumulators: Mapping[str, Any] | None = None) -> None:
        self.by_name: dict[str, Any] = dict(accumulators or {})

    def add(self, acks: Iterable[Ack], reports: Iterable[TaskReport] = ()) -> None:
        """Add what the subtasks of one epoch counted. Metrics are among the accumulators, too, those of an
        operator's subtasks together."""
        for ack in acks:
            for name, part in ack.accumulators.items():
                self._merge(name, part)
            for key, metric in ack.metrics.items():
                name = key.accumulator
                # A copy of the first, which others are merged into: the answer is for the views, too.
                self._merge(name, metric if name in self.by_name else copy.copy(metric))
        for report in reports:
            for key, value in report.gauges.items():
                self.by_name[key.accumulator] = Gauge(value)

    def _merge(self, name: str, part: Any) -> None:
        if name in self.by_name:
            self.by_name[name].merge(part)
        else:
            self.by_name[name] = part
