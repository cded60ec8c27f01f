"""The completed checkpoints of a job that are kept (Flink: ``CompletedCheckpointStore``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from firesteel.common.logs import logger
from firesteel.jobmanager.checkpoints.registry import SharedFiles
from firesteel.jobmanager.checkpoints.storage import CheckpointStorage
from firesteel.state.manifest import Manifest

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class CompletedCheckpoint:
    """A checkpoint that a job can go on from."""

    manifest: Manifest
    path: str

    @property
    def id(self) -> int:
        return self.manifest.id


class CompletedCheckpoints:
    """The newest checkpoints of a job, at most ``max_retained``. An older one is subsumed: its manifest is
    removed, and then the state files that no other checkpoint, and not the job itself, refers to.

    :param on_change: called with the paths of those that are kept, oldest first, when these have changed.
    """

    def __init__(
        self,
        storage: CheckpointStorage,
        shared: SharedFiles,
        max_retained: int,
        on_change: Callable[[tuple[str, ...]], None] = lambda paths: None,
    ) -> None:
        self._storage = storage
        self._shared = shared
        self._max_retained = max_retained
        self._on_change = on_change
        self._kept: list[CompletedCheckpoint] = []  # oldest first

    @property
    def latest(self) -> CompletedCheckpoint | None:
        return self._kept[-1] if self._kept else None

    @property
    def all(self) -> tuple[CompletedCheckpoint, ...]:
        """Oldest first."""
        return tuple(self._kept)

    def recover(self, checkpoints: Iterable[CompletedCheckpoint]) -> None:
        """Take over what an earlier driver of this job has completed; oldest first."""
        for checkpoint in checkpoints:
            self._shared.acquire(checkpoint.manifest.files)
            self._kept.append(checkpoint)
        while len(self._kept) > self._max_retained:  # that driver died before it could remove them
            self._drop(self._kept[0])
        self._changed()

    def add(self, checkpoint: CompletedCheckpoint) -> None:
        self._shared.acquire(checkpoint.manifest.files)
        self._kept.append(checkpoint)
        while len(self._kept) > self._max_retained:
            self._drop(self._kept[0])
        self._changed()

    def give_up(self, checkpoint: CompletedCheckpoint) -> None:
        """It is damaged: nobody shall go on from it. What it refers to stays where it is needed elsewhere."""
        self._drop(checkpoint)
        self._changed()

    def _changed(self) -> None:
        self._on_change(tuple(checkpoint.path for checkpoint in self._kept))

    def _drop(self, checkpoint: CompletedCheckpoint) -> None:
        self._kept.remove(checkpoint)
        try:
            self._storage.discard(checkpoint.path)
            self._shared.release(checkpoint.manifest.files)
        except OSError as error:  # the job goes on; what is left lies in its directory and ends with that
            log.warning("checkpoint %d could not be removed: %s: %s", checkpoint.id, checkpoint.path, error)
