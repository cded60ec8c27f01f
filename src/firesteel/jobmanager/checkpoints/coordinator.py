"""When checkpoints are taken and what becomes of them (Flink: ``CheckpointCoordinator``).

A checkpoint is taken between two epochs. The state files are there already, because each epoch writes its
own; so what is left to do is one small file, the manifest, and the job waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from firesteel.common.clock import Clock
from firesteel.common.errors import (
    FiresteelError,
    StateCorruptionError,
    StateError,
    StorageError,
    StorageUnavailableError,
)
from firesteel.common.job_status import JobStatus
from firesteel.common.logs import logger
from firesteel.jobmanager.checkpoints.options import CheckpointOptions
from firesteel.jobmanager.checkpoints.registry import SharedFiles
from firesteel.jobmanager.checkpoints.results import JobResult, encode_result
from firesteel.jobmanager.checkpoints.statistics import (
    CheckpointReport,
    CheckpointStatistics,
    CheckpointStatus,
    CheckpointsView,
    file_sizes,
)
from firesteel.jobmanager.checkpoints.storage import CheckpointStorage, HandedOverError, SupersededError
from firesteel.jobmanager.checkpoints.store import CompletedCheckpoint, CompletedCheckpoints
from firesteel.jobmanager.restarts import causes_of
from firesteel.program.retention import (
    ExternalizedCheckpointRetention as Retention,
)
from firesteel.state.files import StateFiles
from firesteel.state.manifest import Manifest
from firesteel.storage.private_files import NO_ROOM

log = logger(__name__)

_KEPT_AFTER: Final = {
    Retention.RETAIN_ON_CANCELLATION: frozenset((JobStatus.CANCELED, JobStatus.FAILED)),
    Retention.DELETE_ON_CANCELLATION: frozenset((JobStatus.FAILED,)),
    Retention.NO_EXTERNALIZED_CHECKPOINTS: frozenset[JobStatus](),
}


class CheckpointFailedError(FiresteelError):
    """More checkpoints failed in a row than the job tolerates."""


class UncertainCheckpointError(HandedOverError):
    """Nobody knows whether a checkpoint counts: this driver cannot go on without risking what it covers."""


class NoSoundCheckpointError(StateError):
    """There is nothing that the job could go on from without losing or doubling records."""


def _is_of_storage(error: Exception) -> bool:
    return any(
        isinstance(cause, (StorageError, CheckpointFailedError))
        or (isinstance(cause, OSError) and cause.errno in NO_ROOM)
        for cause in causes_of(error)
    )


class CheckpointCoordinator:
    """The checkpoints of one job. Not safe for several threads: the job's own thread calls it."""

    def __init__(
        self,
        options: CheckpointOptions,
        storage: CheckpointStorage,
        shared: SharedFiles,
        clock: Clock,
    ) -> None:
        self.options = options
        self.storage = storage
        self.shared = shared
        self.statistics = CheckpointStatistics(CheckpointsView(claim=storage.claim, durable=storage.durable))
        self.completed = CompletedCheckpoints(storage, shared, options.max_retained, self.statistics.retained)
        self._clock = clock
        self._next_id = 1
        self._failures = 0  # in a row
        self._known: frozenset[str] = frozenset()  # the files of the checkpoint before
        self._next_ms: int | None = None
        self._paused_until_ms = 0
        self._has_warned = False
        self._not_stored = 0  # failures of the job in a row because nothing could be stored
        self._given_up = False
        self._held: frozenset[str] = frozenset()

    @property
    def enabled(self) -> bool:
        return self.options.interval_ms is not None

    @property
    def due_ms(self) -> int | None:
        """When the next one is due; None: never."""
        return self._next_ms

    def is_due(self, now_ms: int, step_ms: float = 0.0) -> bool:
        """Whether a checkpoint is to be taken now, and not ``step_ms`` later.

        What is nearer to the instant at which it is due counts, so that long steps do not make it late by
        one. It is never taken before the least pause is over.
        """
        if self._next_ms is None or now_ms < self._paused_until_ms:
            return False
        return self._next_ms - now_ms <= step_ms / 2

    def begin(self, now_ms: int) -> None:
        """The job runs (again): the first checkpoint comes after one interval."""
        interval_ms = self.options.interval_ms
        self._next_ms = None if interval_ms is None else now_ms + interval_ms

    def continue_after(self, checkpoint_id: int) -> None:
        """Ids go on after those that were given before."""
        self._next_id = max(self._next_id, checkpoint_id + 1)

    def hold(self, files: Iterable[str]) -> None:
        """What the job begins with must stay until there is a checkpoint to go back to."""
        self._held = frozenset(files)
        self.shared.acquire(self._held)

    # ---- taking one

    def take(self, now_ms: int, cut: Callable[[int], Manifest]) -> CompletedCheckpoint | None:
        """Take a checkpoint; None when it failed and that is tolerated.

        :param cut: makes the manifest of the job as it is, for an id.
        :raises CheckpointFailedError: too many failed in a row.
        :raises SupersededError: another driver has taken the job over; nothing may be committed.
        """
        number = self.new_id()
        self.statistics.triggered(number, False, now_ms)
        begun_s = self._clock.monotonic_s()
        published = False
        try:
            manifest = cut(number)
            cut_s = self._clock.monotonic_s()
            self.statistics.answered(manifest, (cut_s - begun_s) * 1000)
            path, size = self.storage.publish(manifest)
            published = True
            self._check_in_time(begun_s)
            self.storage.check()
        except SupersededError:
            raise
        except Exception as error:
            unwritten = not published and isinstance(error, StorageUnavailableError) and error.undone
            self._withdraw(number, error, unwritten)
            self._failed(number, now_ms, error)
            return None
        finally:
            self._schedule(now_ms)
        checkpoint = CompletedCheckpoint(manifest, path)
        self.completed.add(checkpoint)
        self.shared.release(self._held)
        self._held = frozenset()
        self._failures = self._not_stored = 0
        written_s = self._clock.monotonic_s()
        self._report(checkpoint, now_ms, size, (written_s - cut_s) * 1000)
        return checkpoint

    @property
    def next_id(self) -> int:
        """What the next checkpoint or savepoint will be called."""
        return self._next_id

    def new_id(self) -> int:
        """Savepoints and checkpoints share their ids, as in Flink."""
        self._next_id += 1
        return self._next_id - 1

    def _withdraw(self, number: int, error: Exception, unwritten: bool) -> None:
        """Remove a checkpoint that failed but may have been written. The job goes on as if it did not exist
        and may abort what it promises to commit, so it must never be restored.

        :param unwritten: it was certainly not written.
        """
        try:
            self.storage.discard(self.storage.path_of(number))
        except Exception as left:
            if unwritten:  # what there is of it is no checkpoint
                return
            raise UncertainCheckpointError(
                f"Checkpoint {number} failed, and it cannot be made sure that it is gone: {left}",
                detail=f"it failed because of {type(error).__name__}: {error}",
                hint="start the job once more from its latest checkpoint when the storage works again",
            ) from error

    def _check_in_time(self, begun_s: float) -> None:
        elapsed_ms = (self._clock.monotonic_s() - begun_s) * 1000
        if elapsed_ms > self.options.timeout_ms:
            raise TimeoutError(f"Checkpoint expired before completing: it took {elapsed_ms:.0f} ms")

    def _schedule(self, triggered_ms: int) -> None:
        interval_ms = self.options.interval_ms
        if interval_ms is not None:
            self._paused_until_ms = self._clock.now_ms() + self.options.min_pause_ms
            self._next_ms = max(triggered_ms + interval_ms, self._paused_until_ms)

    def _failed(self, number: int, now_ms: int, error: Exception) -> None:
        self._failures += 1
        log.warning("checkpoint failed id=%d: %s", number, error)
        self.statistics.report(
            CheckpointReport(
                number, CheckpointStatus.FAILED, False, now_ms, failure=f"{type(error).__name__}: {error}"
            )
        )
        tolerated = self.options.tolerable_failures
        if self._failures > tolerated:
            failures, self._failures = self._failures, 0  # the restarted job may fail as often
            raise CheckpointFailedError(
                f"Checkpoint {number} failed: {error}",
                detail=f"{failures} in a row; {tolerated} are tolerated",
                hint="see execution.checkpointing.tolerable-failed-checkpoints",
            ) from error

    def _report(self, checkpoint: CompletedCheckpoint, now_ms: int, size: int, write_ms: float) -> None:
        sizes = file_sizes(checkpoint.manifest)
        new = sum(length for path, length in sizes.items() if path not in self._known)
        self._known = frozenset(sizes)
        self._warn_of(sum(sizes.values()))
        self.statistics.report(
            CheckpointReport(
                checkpoint.id,
                CheckpointStatus.COMPLETED,
                False,
                now_ms,
                write_ms=write_ms,
                state_bytes=sum(sizes.values()),
                checkpointed_bytes=new + size,
                path=checkpoint.path,
            )
        )

    def _warn_of(self, state_bytes: int) -> None:
        ample_bytes = self.options.ample_bytes
        if ample_bytes is not None and state_bytes > ample_bytes and not self._has_warned:
            self._has_warned = True
            log.warning(
                "the job has %d MB of state, much for the state backend hashmap, which keeps in memory what "
                "it can; with state.backend.type: rocksdb workers need less of it",
                state_bytes >> 20,
            )

    # ---- after a failure of the job

    def gives_up_after(self, error: Exception) -> bool:
        """Return whether restarting the job is pointless because storing keeps failing. Its checkpoints then
        outlive it, so that it can be started again once there is room."""
        limit = self.options.storage_restarts
        if limit is None or not _is_of_storage(error):
            return False
        self._not_stored += 1
        self._given_up = self._not_stored > limit
        if self._given_up:
            error.add_note(
                f"The job is given up: it failed {self._not_stored} times in a row because nothing could be "
                "stored, without a checkpoint in between. Its checkpoints are kept."
            )
        return self._given_up

    # ---- going on from one

    def check_claim(self) -> None:
        """To be asked when anything has failed or does not come: a newer driver removes what an older one
        still uses.

        :raises SupersededError: another driver has taken the job over. Not where the claims cannot be read.
        """
        with suppress(OSError):
            self.storage.check()

    def newest_sound(self, files: StateFiles, error: BaseException) -> CompletedCheckpoint | None:
        """The checkpoint to go on from after ``error``; None when none was completed. When state was damaged
        each is read whole, and damaged ones are given up.

        :raises NoSoundCheckpointError: all are damaged.
        """
        if not any(isinstance(cause, StateCorruptionError) for cause in causes_of(error)):
            return self.completed.latest
        while (latest := self.completed.latest) is not None:
            try:
                for ref in set(latest.manifest.runs):
                    files.open_run(ref).verify()
                return latest
            except StateCorruptionError as damage:
                log.warning("checkpoint is damaged and given up id=%d: %s", latest.id, damage)
                self.completed.give_up(latest)
                if self.completed.latest is None:
                    raise NoSoundCheckpointError(
                        "No checkpoint of the job is sound", detail=str(damage)
                    ) from damage
        return None

    def record_end(self, status: JobStatus, result: JobResult) -> bool:
        """Whether nobody goes on with the job from here on; False: its checkpoints are kept, or are another
        driver's.

        :raises SupersededError: nothing of it is this driver's any more.
        """
        if status is JobStatus.SUSPENDED:
            return False  # it belongs to another driver now
        self.storage.check()
        keep = self.storage.durable and (self._given_up or status in _KEPT_AFTER[self.options.retention])
        if keep and self.completed.latest is not None:
            return False
        self.storage.record_end(encode_result(result))
        return True

    def dispose(self) -> None:
        """The end is recorded: remove the checkpoints, and what the job has begun with if that is its own,
        wherever it lies."""
        self.storage.dispose()
        if self.shared.claimed:
            self.shared.delete_claimed()
            for checkpoint in self.completed.all:
                self.storage.discard(checkpoint.path)
