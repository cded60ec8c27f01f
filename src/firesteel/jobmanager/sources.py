"""Source coordinators: which splits there are, who reads them, and how far each epoch goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.connectors.base import EnumeratorContext, ReadRange, Source, Split, SplitEnumerator
from firesteel.runtime.program import Ack, SourceAssignment


@dataclass(slots=True)
class _SplitProgress:
    split: Split
    subtask: int
    position: Any = None
    announced: bool = False  # a committed epoch has told the subtask of it
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one epoch may read of one split."""

    max_records: int
    max_bytes: int


@dataclass(slots=True)
class SourcePlan:
    """What one source does in an epoch. ``wanted``: the epoch is needed for this source's sake.
    ``next_ms``: when to ask again at the latest, when nothing can be read now."""

    assignments: dict[int, SourceAssignment]
    wanted: bool
    next_ms: int | None


class SourceCoordinator:
    """One source of the job, on the driver (Flink: ``SourceCoordinator``)."""

    def __init__(
        self, vertex: str, uid: str, name: str, source: Source, parallelism: int, work_dir: str
    ) -> None:
        self.vertex = vertex
        self.uid = uid
        self.name = name
        self._parallelism = parallelism
        self._enumerator: SplitEnumerator = source.create_enumerator(EnumeratorContext(parallelism, work_dir))
        self._splits: dict[str, _SplitProgress] = {}
        self._ended_subtasks: set[int] = set()

    def open(self) -> None:
        self._enumerator.open()

    def close(self) -> None:
        self._enumerator.close()

    def plan(self, now_ms: int, budget: Budget) -> SourcePlan:
        for split in self._enumerator.discover(now_ms):
            self._splits[split.id] = _SplitProgress(split, len(self._splits) % self._parallelism)
        ranges: dict[int, list[ReadRange]] = {}
        new: dict[int, list[str]] = {}
        for progress in self._splits.values():
            if progress.ended:
                continue
            if not progress.announced:
                new.setdefault(progress.subtask, []).append(progress.split.id)
            readable = self._enumerator.plan(
                progress.split, progress.position, budget.max_records, budget.max_bytes, now_ms
            )
            if readable is not None:
                ranges.setdefault(progress.subtask, []).append(readable)
        last = self._enumerator.finished
        assignments = {
            i: SourceAssignment(tuple(ranges.get(i, ())), tuple(new.get(i, ())), last)
            for i in range(self._parallelism)
        }
        live = {p.subtask for p in self._splits.values() if not p.ended}
        ending = last and any(
            i not in live and i not in self._ended_subtasks for i in range(self._parallelism)
        )
        return SourcePlan(assignments, bool(ranges or new) or ending, self._enumerator.next_data_ms(now_ms))

    def commit(self, ack: Ack) -> None:
        """The epoch of this answer is committed: go on from where it came to."""
        for split, position in ack.positions.get(self.uid, {}).items():
            self._splits[split].position = position
        for split in ack.ended_splits.get(self.uid, ()):
            self._splits[split].ended = True
        for progress in self._splits.values():
            if progress.subtask == ack.subtask:
                progress.announced = True
        if ack.ended:
            self._ended_subtasks.add(ack.subtask)
