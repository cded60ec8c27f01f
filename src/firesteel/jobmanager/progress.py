"""What a job has done so far: numbers for the progress line, the results and the statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.jobmanager.lines import Subtask
from firesteel.runtime.program import Ack

_REPORTS_KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What one epoch did."""

    epoch: int
    started_ms: int
    elapsed_ms: float
    records: int  # that its sources read
    attempts: int


@dataclass(slots=True)
class JobProgress:
    """Numbers of a running job, from its committed epochs."""

    epochs: int = 0
    records_read: int = 0
    reports: list[EpochReport] = field(default_factory=list)
    operators: dict[str, tuple[int, int]] = field(default_factory=dict)  # uid -> records in, records out
    watermarks: dict[Subtask, int] = field(default_factory=dict)
    accumulators: dict[str, Any] = field(default_factory=dict)

    def count(self, acks: Sequence[Ack]) -> None:
        """Add what the subtasks of one epoch counted."""
        for ack in acks:
            if ack.watermark is not None:
                self.watermarks[ack.vertex, ack.subtask] = ack.watermark
            for uid, (records_in, records_out) in ack.operators.items():
                before = self.operators.get(uid, (0, 0))
                self.operators[uid] = (before[0] + records_in, before[1] + records_out)
            for name, part in ack.accumulators.items():
                if name in self.accumulators:
                    self.accumulators[name].merge(part)
                else:
                    self.accumulators[name] = part

    def report(self, report: EpochReport) -> None:
        self.epochs = report.epoch
        self.records_read += report.records
        self.reports.append(report)
        del self.reports[:-_REPORTS_KEPT]
