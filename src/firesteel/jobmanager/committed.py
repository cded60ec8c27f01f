"""What the committed epochs of a job have come to: where its next epoch starts (I2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firesteel.jobmanager.lines import StateLines, Subtask
from firesteel.runtime.program import Ack, SourceAssignment, SubtaskDescriptor
from firesteel.state.files import StateFiles
from firesteel.state.line import StateLine


class CommittedState:
    """State lines, what operators carry from epoch to epoch, processing-time timers, and who has ended.

    Source positions are with the coordinators (``sources.py``).
    """

    def __init__(
        self,
        files: StateFiles,
        subtasks: Sequence[Subtask],
        lines: Mapping[Subtask, StateLine] | None = None,
    ) -> None:
        self._subtasks = sorted(subtasks)
        self._lines = StateLines(files, lines)
        self._carry: dict[Subtask, bytes | None] = {}
        self._timers: dict[Subtask, int] = {}
        self._ended: set[Subtask] = set()

    @property
    def subtasks(self) -> list[Subtask]:
        return self._subtasks

    @property
    def next_timer_ms(self) -> int | None:
        """The processing time at which something is due, whether there is input or not."""
        return min(self._timers.values(), default=None)

    @property
    def has_ended(self) -> bool:
        return len(self._ended) == len(self._subtasks)

    def line(self, subtask: Subtask) -> StateLine:
        return self._lines.of(subtask)

    def descriptor(self, subtask: Subtask, sources: dict[str, SourceAssignment]) -> SubtaskDescriptor:
        return SubtaskDescriptor(self._lines.of(subtask), self._carry.get(subtask), sources)

    def commit(self, manifest_id: str, acks: Sequence[Ack]) -> None:
        """``acks``: one for each subtask."""
        self._lines.commit(manifest_id, list(acks))
        for ack in acks:
            key = (ack.vertex, ack.subtask)
            self._carry[key] = ack.carry
            self._timers.pop(key, None)
            if ack.next_timer_ms is not None:
                self._timers[key] = ack.next_timer_ms
            if ack.ended:
                self._ended.add(key)
