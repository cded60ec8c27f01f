"""What became of each checkpoint of a job (Flink: ``CheckpointStatsTracker``)."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final

import msgspec

from firesteel.common.logs import logger
from firesteel.state.manifest import Manifest

log = logger(__name__)

_KEPT: Final = 100


class CheckpointStatus(enum.Enum):
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


class SubtaskState(msgspec.Struct, frozen=True):
    """What one subtask has in a checkpoint."""

    vertex: str
    subtask: int
    state_bytes: int
    entries: int


class CheckpointReport(msgspec.Struct, frozen=True):
    """One checkpoint or savepoint.

    :param snapshot_ms: taking the cut in memory; ``write_ms``: the manifest, and what a savepoint copies;
        ``commit_ms``: making the output visible that it covers.
    :param answered: whether all subtasks had answered when it failed.
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
    persisted_in_flight_bytes: int = 0  # there are no unaligned checkpoints
    path: str | None = None
    failure: str | None = None
    subtasks: tuple[SubtaskState, ...] = ()
    answered: bool = False

    @property
    def duration_ms(self) -> float:
        return self.snapshot_ms + self.write_ms + self.commit_ms

    @property
    def acknowledged_ms(self) -> int | None:
        """When all subtasks had answered: what follows is work of the driver. None: they have not."""
        answered = self.answered or self.status is CheckpointStatus.COMPLETED
        return self.triggered_ms + int(self.snapshot_ms) if answered else None


class Restored(msgspec.Struct, frozen=True):
    """What the job went on from last. ``restored_ms``: when.

    :param files: how many state files it consists of: workers fetch of them what they need. The deltas of an
        incremental checkpoint are files of their own. ``state_bytes``: their size.
    :param resumed_ms: when the first epoch after it was committed; None: none was.
    """

    id: int
    path: str
    savepoint: bool
    restored_ms: int
    files: int = 0
    state_bytes: int = 0
    resumed_ms: int | None = None

    @property
    def elapsed_ms(self) -> int | None:
        """How long it took from there until an epoch was committed."""
        return None if self.resumed_ms is None else self.resumed_ms - self.restored_ms


class InProgress(msgspec.Struct, frozen=True):
    """The checkpoint or savepoint that is being taken.

    :param snapshot_ms: how long the cut has taken; None: it is not there yet.
    """

    id: int
    savepoint: bool
    triggered_ms: int
    snapshot_ms: float | None = None
    subtasks: tuple[SubtaskState, ...] = ()

    @property
    def state_bytes(self) -> int:
        return sum(part.state_bytes for part in self.subtasks)

    @property
    def acknowledged_ms(self) -> int | None:
        """When all subtasks had answered; None: they have not."""
        return None if self.snapshot_ms is None else self.triggered_ms + int(self.snapshot_ms)


class Summary(msgspec.Struct, frozen=True):
    """One figure of all completed checkpoints and savepoints of the job."""

    count: int = 0
    total: float = 0.0
    least: float = 0.0
    greatest: float = 0.0

    @property
    def average(self) -> float:
        return self.total / self.count if self.count else 0.0

    def with_value(self, value: float) -> Summary:
        if not self.count:
            return Summary(1, value, value, value)
        least, greatest = min(self.least, value), max(self.greatest, value)
        return Summary(self.count + 1, self.total + value, least, greatest)


class CheckpointsView(msgspec.Struct, frozen=True):
    """Counts and the newest reports, oldest first: at most 100.

    :param latest_completed: the newest checkpoint; ``latest_savepoint`` and ``latest_failed`` likewise. They
        stay when newer reports have pushed them out of the history.
    :param retained: paths of the completed checkpoints that the job could go on from, oldest first.
    :param claim: the fencing token of this driver; ``durable``: whether checkpoints outlive the process.
    :param notes: settings without effect.
    """

    completed: int = 0
    failed: int = 0
    restored: int = 0
    in_progress: InProgress | None = None
    history: tuple[CheckpointReport, ...] = ()
    latest_completed: CheckpointReport | None = None
    latest_savepoint: CheckpointReport | None = None
    latest_failed: CheckpointReport | None = None
    latest_restored: Restored | None = None
    duration_ms: Summary = Summary()
    state_bytes: Summary = Summary()
    checkpointed_bytes: Summary = Summary()
    retained: tuple[str, ...] = ()
    claim: str = ""
    durable: bool = False
    notes: tuple[str, ...] = ()

    @property
    def restored_from(self) -> str | None:
        """The path of what the job went on from last; None: it began at the beginning."""
        return None if self.latest_restored is None else self.latest_restored.path


class CheckpointStatistics:
    """Makes the view of a job's checkpoints; the job's thread calls it. ``view`` is replaced, never changed.

    :ivar on_change: called when one is triggered, and with the report of each that has ended.
    """

    def __init__(self, view: CheckpointsView = CheckpointsView()) -> None:  # noqa: B008 - it is immutable
        self.view = view
        self.on_change: Callable[[CheckpointReport | None], None] = lambda report: None

    def noted(self, notes: tuple[str, ...]) -> None:
        """Settings of the job have no effect."""
        self._change(notes=notes)

    def retained(self, paths: tuple[str, ...]) -> None:
        """These checkpoints are there to go on from."""
        self._change(retained=paths)

    def triggered(self, number: int, savepoint: bool, now_ms: int) -> None:
        self._change(in_progress=InProgress(number, savepoint, now_ms))
        self.on_change(None)

    def answered(self, manifest: Manifest, snapshot_ms: float) -> None:
        """The cut of the one that is being taken is there: its subtasks have answered, all at once."""
        pending = self.view.in_progress
        assert pending is not None
        subtasks = subtask_states(manifest)
        pending = msgspec.structs.replace(pending, snapshot_ms=snapshot_ms, subtasks=subtasks)
        self._change(in_progress=pending)
        self.on_change(None)

    def committed(self, elapsed_ms: float) -> None:
        """The output that the newest checkpoint covers is visible."""
        *before, newest = self.view.history
        newest = msgspec.structs.replace(newest, commit_ms=elapsed_ms)
        self._change(history=(*before, newest), latest_completed=newest)

    def went_back_to(self, path: str, manifest: Manifest, now_ms: int) -> None:
        """The job goes on from a checkpoint or savepoint."""
        sizes = file_sizes(manifest)
        size = sum(sizes.values())
        restored = Restored(manifest.id, path, manifest.savepoint, now_ms, len(sizes), size)
        self._change(restored=self.view.restored + 1, latest_restored=restored)
        log.info("state restored id=%d files=%d bytes=%d path=%s", manifest.id, len(sizes), size, path)

    def resumed(self, now_ms: int) -> None:
        """An epoch is committed."""
        restored = self.view.latest_restored
        if restored is not None and restored.resumed_ms is None:
            self._change(latest_restored=msgspec.structs.replace(restored, resumed_ms=now_ms))
            log.info("processing resumed id=%d elapsed_ms=%d", restored.id, now_ms - restored.restored_ms)
            self.on_change(None)

    def report(self, report: CheckpointReport) -> None:
        """The one that was being taken is complete, or has failed."""
        view, pending = self.view, self.view.in_progress
        if pending is not None and pending.snapshot_ms is not None:
            report = msgspec.structs.replace(
                report,
                answered=True,
                snapshot_ms=pending.snapshot_ms,
                state_bytes=report.state_bytes or pending.state_bytes,
                subtasks=pending.subtasks,
            )
        self._change(in_progress=None, history=(*view.history, report)[-_KEPT:])
        if report.status is CheckpointStatus.FAILED:
            self._change(failed=view.failed + 1, latest_failed=report)
        else:
            latest = "latest_savepoint" if report.savepoint else "latest_completed"
            self._change(
                completed=view.completed + 1,
                duration_ms=view.duration_ms.with_value(report.duration_ms),
                state_bytes=view.state_bytes.with_value(report.state_bytes),
                checkpointed_bytes=view.checkpointed_bytes.with_value(report.checkpointed_bytes),
                **{latest: report},
            )
        self.on_change(report)

    def _change(self, **fields: object) -> None:
        self.view = msgspec.structs.replace(self.view, **fields)


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
