"""What a new driver finds: the job that it goes on with, and its checkpoints."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from firesteel.common.errors import ConfigurationError, PathNotFoundError, StateCorruptionError
from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.jobmanager.checkpoints.options import CheckpointOptions, RecoveryOptions
from firesteel.jobmanager.checkpoints.registry import SharedFiles
from firesteel.jobmanager.checkpoints.results import RESULT, JobFinishedBeforeError, read_result
from firesteel.jobmanager.checkpoints.storage import (
    METADATA,
    CheckpointDirectory,
    Stored,
    read_manifest,
    remove_manifest,
    stored_checkpoints,
)
from firesteel.jobmanager.checkpoints.store import CompletedCheckpoint
from firesteel.state.manifest import Manifest
from firesteel.state.untrusted import require_plain_pickle
from firesteel.storage.filesystems import join, resolve

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """:param job_id: the job to go on with, if it was begun; None: a new one.
    :param manifest: what it begins with unless ``job_id`` has a checkpoint; None: nothing.
    """

    job_id: JobID | None = None
    manifest: Manifest | None = None


def find(
    recovery: RecoveryOptions, options: CheckpointOptions, job_name: str, running: Collection[str]
) -> Found:
    """What the settings for recovery name.

    A job with an id of its own goes on from its newest checkpoint, whatever else is said. Else a path is
    where a new job begins. With ``latest`` the newest job of this name that has a checkpoint and does not
    run in this process is gone on with, under its own id; when there is none the job begins anew, so that
    the same command line serves for the first start and for every later one.

    :raises JobFinishedBeforeError: the job of this id has finished.
    :raises StateCorruptionError: there are checkpoints, and all of them are damaged.
    :raises StateError: the result of the job is not trusted and holds more than plain data.
    """
    if recovery.job_id is not None:
        _check_not_finished(recovery.job_id, options, recovery.untrusted)
        return Found(recovery.job_id, _manifest_of(recovery))
    if not recovery.latest:
        return Found(manifest=_manifest_of(recovery))
    if options.directory is None or options.interval_ms is None:
        raise ConfigurationError(
            "There can be no latest checkpoint of a job that keeps none",
            hint="set execution.checkpointing.interval and execution.checkpointing.dir",
        )
    storage, root = resolve(options.directory)
    newest: dict[str, int] = {}  # job id -> when its newest checkpoint was taken
    unknown: list[StateCorruptionError] = []
    for info in storage.list_dir(root):
        if info.is_dir and info.name not in running and read_result(info.path) is None:
            sound, damaged = _readable(info.path)
            if sound and sound[0].manifest.job_name == job_name:
                newest[info.name] = sound[0].manifest.triggered_ms
            if not sound:
                unknown += damaged
    if not newest and unknown:
        raise _nothing_sound(unknown)
    if not newest:
        log.warning("no checkpoint of a job named %r in %s: it starts from the beginning", job_name, root)
        return Found()
    return Found(JobID(max(newest, key=lambda job: newest[job])))


def _manifest_of(recovery: RecoveryOptions) -> Manifest | None:
    return None if recovery.path is None or recovery.latest else read_manifest(recovery.path)


def _check_not_finished(job_id: JobID, options: CheckpointOptions, untrusted: bool) -> None:
    if options.directory is None:
        return
    root = join(options.directory, str(job_id))
    result = read_result(root)
    if result is not None and result.finished:
        if untrusted:
            require_plain_pickle(result.accumulators, f"the result of the job {job_id}")
        raise JobFinishedBeforeError(result, join(root, RESULT))


def recovered(directory: CheckpointDirectory) -> list[CompletedCheckpoint]:
    """The checkpoints of a job that its new driver has claimed, oldest first; damaged ones are left out.

    :raises StateCorruptionError: all of them are damaged.
    """
    sound, damaged = _readable(directory.root)
    if damaged and not sound:
        raise _nothing_sound(damaged)
    return sound[::-1]


def _readable(job_root: str) -> tuple[list[CompletedCheckpoint], list[StateCorruptionError]]:
    """The checkpoints that can be read, and what is wrong with the others; newest first."""
    sound: list[CompletedCheckpoint] = []
    damaged: list[StateCorruptionError] = []
    for stored in stored_checkpoints(job_root):
        try:
            sound.append(CompletedCheckpoint(_own_manifest(stored), stored.path))
        except PathNotFoundError:
            continue  # another driver has removed it meanwhile
        except StateCorruptionError as error:
            log.warning("checkpoint is left out, an older one is used: %s", error)
            damaged.append(error)
    return sound, damaged


def _own_manifest(stored: Stored) -> Manifest:
    """The manifest of a checkpoint in the directory of its job; neither may have come from elsewhere."""
    manifest = read_manifest(stored.path)
    job = stored.path.split("/")[-2]
    if (manifest.job_id, manifest.id, manifest.savepoint) == (job, stored.id, False):
        return manifest
    what = "savepoint" if manifest.savepoint else "checkpoint"
    raise StateCorruptionError(
        f"The manifest {join(stored.path, METADATA)} is not the one that belongs there: "
        f"it is {what} {manifest.id} of job {manifest.job_id}.",
        hint="to begin with it name it as the path that the job is restored from",
    )


def _nothing_sound(damaged: list[StateCorruptionError]) -> StateCorruptionError:
    """Starting over would duplicate all output, so it must be requested explicitly."""
    return StateCorruptionError(
        "None of the checkpoints that the job could go on from is sound.",
        detail="\n".join(error.message for error in damaged),
        hint="restore it from a savepoint, or remove them to let the job start from the beginning",
    )


def sweep(directory: CheckpointDirectory, shared: SharedFiles) -> int:
    """Remove what earlier drivers of the job have left and no checkpoint refers to; how many files.

    Only what is in the directory of an *earlier* claim is looked at: what this driver writes is safe.
    """
    storage, shared_root = resolve(join(directory.root, "shared"))
    removed = 0
    waiting = [info for info in storage.list_dir(shared_root) if info.name != directory.claim]
    while waiting:
        info = waiting.pop()
        if info.is_dir:
            waiting += storage.list_dir(info.path)
        elif _is_state(info.name) and info.path not in shared:
            storage.delete(info.path)
            removed += 1
    storage, root = resolve(directory.root)
    for info in storage.list_dir(root):  # a crash in the middle of removing it, or of writing it
        if info.name.startswith("chk-") and storage.info(join(info.path, METADATA)) is None:
            remove_manifest(info.path)
    return removed


def _is_state(name: str) -> bool:
    """Not what sinks have staged, nor what sources read: who needs that is not known here."""
    return name.endswith((".run", ".tmp")) or name.startswith("epoch-")
