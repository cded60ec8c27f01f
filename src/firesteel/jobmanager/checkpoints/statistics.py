"""What became of each checkpoint of a job (Flink: ``CheckpointStatsTracker``)."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import Final

from firesteel.state.manifest import Manifest

_KEPT: Final = 100


class CheckpointStatus(enum.Enum):
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class SubtaskState:
    """What one subtask has in a checkpoint."""

    vertex: str
    subtask: int
    state_bytes: int
    entries: int


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """One checkpoint or savepoint.

    :param snapshot_ms: taking the cut in memory; ``write_ms``: the manifest, and what a savepoint copies;
        ``commit_ms``: making the output visible that it covers.
    :param state_bytes: of all state files it refers to; ``checkpointed_bytes``: of those, and of the
        manifest, that no earlier checkpoint had.
    """

    id: int
    status: CheckpointStatus
    savepoint: bool
    triggered_ms: int
    snapshot_ms: float = 0.0
    write_ms: float = 0.0
    commit_ms: float = 0.0
    state_bytes: int = 0
    checkpointed_bytes: int = 0
    persisted_in_flight_bytes: int = 0  # nothing is in flight between epochs
    path: str | None = None
    failure: str | None = None
    subtasks: tuple[SubtaskState, ...] = ()

    @property
    def duration_ms(self) -> float:
        return self.snapshot_ms + self.write_ms + self.commit_ms


@dataclass(slots=True)
class CheckpointStatistics:
    """Counts and the newest reports, oldest first. ``notes``: settings without effect."""

    completed: int = 0
    failed: int = 0
    restored: int = 0
    restored_from: str | None = None
    history: list[CheckpointReport] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def committed(self, elapsed_ms: float) -> None:
        """The output that the newest checkpoint covers is visible."""
        self.history[-1] = replace(self.history[-1], commit_ms=elapsed_ms)

    def went_back_to(self, path: str) -> None:
        self.restored += 1
        self.restored_from = path

    def report(self, report: CheckpointReport) -> None:
        if report.status is CheckpointStatus.COMPLETED:
            self.completed += 1
        else:
            self.failed += 1
        self.history.append(report)
        del self.history[:-_KEPT]


def file_sizes(manifest: Manifest) -> dict[str, int]:
    """How much of each state file a manifest refers to."""
    sizes: dict[tuple[str, int], int] = {(ref.path, ref.offset): ref.length for ref in manifest.runs}
    found: dict[str, int] = {}
    for (path, _), length in sizes.items():
        found[path] = found.get(path, 0) + length
    return found


def subtask_states(manifest: Manifest) -> tuple[SubtaskState, ...]:
    """What each subtask with state has."""
    return tuple(
        SubtaskState(vertex.id, number, sum(ref.length for ref in line.runs), line.entries)
        for vertex in manifest.vertices
        for number, line in enumerate(vertex.lines)
        if line.manifest_id
    )
