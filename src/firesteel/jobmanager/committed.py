"""What the committed epochs of a job have come to: where its next epoch starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from firesteel.jobmanager.checkpoints.registry import SharedFiles
from firesteel.jobmanager.lines import StateLines, Subtask
from firesteel.runtime.program import Ack, SourceAssignment, SubtaskDescriptor
from firesteel.state.files import StateFiles
from firesteel.state.line import StateLine
from firesteel.state.manifest import SubtaskEntry, VertexEntry


@dataclass(frozen=True, slots=True)
class CommittedCut:
    """What a job has committed, for those who read its state.

    :param now_ms: processing time of the epoch.
    :param vertices: the names of their files are complete; they stay as long as somebody looks.
    """

    epoch: int
    now_ms: int
    vertices: tuple[VertexEntry, ...]


class CommittedState:
    """State lines, what operators carry from epoch to epoch, processing-time timers, and who has ended.

    Source positions are with the coordinators (``sources.py``).

    :param begin: where subtasks go on; those that are not in it begin with nothing.
    :param shared: who else may need the state files; None: nobody.
    """

    def __init__(
        self,
        files: StateFiles,
        subtasks: Sequence[Subtask],
        begin: Mapping[Subtask, SubtaskEntry] | None = None,
        shared: SharedFiles | None = None,
    ) -> None:
        begin = begin or {}
        self._subtasks = sorted(subtasks)
        self._lines = StateLines(files, {key: entry.line for key, entry in begin.items()}, shared)
        self._carry: dict[Subtask, bytes | None] = {key: entry.carry for key, entry in begin.items()}
        due = {key: entry.next_timer_ms for key, entry in begin.items()}
        self._timers: dict[Subtask, int] = {key: ms for key, ms in due.items() if ms is not None}
        self._ended: set[Subtask] = {key for key, entry in begin.items() if entry.ended}
        #: Whether there are subtasks that have ended and have no state any more.
        self.has_forgotten = False
        self._moved: dict[str, bytes] = {}  # by vertex, until an epoch is committed

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

    def entry(self, subtask: Subtask) -> SubtaskEntry:
        """Everything that is committed of a subtask."""
        return SubtaskEntry(
            self._lines.of(subtask),
            self._carry.get(subtask),
            self._timers.get(subtask),
            subtask in self._ended,
        )

    def rename(self, path_of: Callable[[str], str]) -> None:
        """The same state files are elsewhere, too: the job uses them there."""
        self._lines.rename(path_of)

    def release(self) -> None:
        """The job does not go on from here: its lines need no files any more."""
        self._lines.release()

    def descriptor(self, subtask: Subtask, sources: dict[str, SourceAssignment]) -> SubtaskDescriptor:
        moved = self._moved.get(subtask[0])
        return SubtaskDescriptor(self._lines.of(subtask), self._carry.get(subtask), moved, sources)

    def take_over(self, moved: Mapping[str, bytes], carry: Mapping[Subtask, bytes]) -> None:
        """Begin with what the subtasks before a change of parallelism remembered.

        :param moved: by vertex, for all of its subtasks; see ``runtime/moved.py``.
        :param carry: for one subtask each.
        """
        self._moved = dict(moved)
        self._carry.update(carry)

    def commit(self, manifest_id: str, acks: Sequence[Ack]) -> None:
        """``acks``: one for each subtask."""
        self._lines.commit(manifest_id, list(acks))
        self._moved.clear()
        for ack in acks:
            key = (ack.vertex, ack.subtask)
            self._carry[key] = ack.carry
            self._timers.pop(key, None)
            if ack.next_timer_ms is not None:
                self._timers[key] = ack.next_timer_ms
            self.has_forgotten = self.has_forgotten or ack.forgets
            if ack.ended:
                self._ended.add(key)
