"""Before a job runs: where it keeps what it must not lose, and what it begins with."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from firesteel.common.clock import Clock
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, StateCorruptionError
from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.common.options import recovery
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.checkpoints.coordinator import CheckpointCoordinator
from firesteel.jobmanager.checkpoints.options import (
    CheckpointOptions,
    ClaimMode,
    checkpoint_options,
    notices,
    recovery_options,
)
from firesteel.jobmanager.checkpoints.recovery import find, recovered, sweep
from firesteel.jobmanager.checkpoints.registry import SharedFiles
from firesteel.jobmanager.checkpoints.restore import Beginning, Restorer, adopt_max_parallelism
from firesteel.jobmanager.checkpoints.storage import (
    CheckpointDirectory,
    MemoryStorage,
    files_of,
    snapshot_directory,
)
from firesteel.jobmanager.checkpoints.store import CompletedCheckpoint
from firesteel.jobmanager.restarts import NoRestart, RestartStrategy, restart_strategy
from firesteel.state.files import StateFiles
from firesteel.state.manifest import Manifest
from firesteel.state.untrusted import require_plain
from firesteel.storage.filesystems import join

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Continuity:
    """What makes a job go on after a failure: its checkpoints, when it is restarted, what it begins with."""

    checkpoints: CheckpointCoordinator
    restarts: RestartStrategy = field(default_factory=NoRestart)
    beginning: Beginning = field(default_factory=Beginning)


@dataclass(frozen=True, slots=True)
class Prepared:
    """:param graph: with the max parallelism of the state that the job begins with."""

    job_id: JobID
    graph: JobGraph
    files: StateFiles
    continuity: Continuity


def prepare(
    configuration: Configuration,
    graph: JobGraph,
    clock: Clock,
    state_root: Callable[[], str],
    running: Collection[str],
) -> Prepared:
    """Claim the job, find what it goes on from, fit that to the graph.

    :param state_root: where jobs keep their files that have no checkpoint directory.
    :param running: ids of the jobs of this process.
    :raises StateError: the state does not fit the graph.
    :raises JobFinishedBeforeError: the job of this id has finished.
    """
    options = checkpoint_options(configuration, batch=graph.batch)
    recovery = recovery_options(configuration)
    found = find(recovery, options, graph.name, running)
    job_id = found.job_id or JobID()
    manifest = found.manifest
    if options.interval_ms is not None and options.directory is not None:
        directory = CheckpointDirectory(
            options.directory, str(job_id), keeps_result=recovery.job_id is not None
        )  # from here on older drivers are fenced
        files = StateFiles(directory.state_root)
        coordinator = coordinator_of(options, directory, files, clock)
        if found.job_id is not None:
            manifest = take_over(coordinator, directory) or manifest
    else:
        files = StateFiles(f"{state_root()}/{job_id}")
        coordinator = CheckpointCoordinator(options, MemoryStorage(files.root), SharedFiles(files), clock)
    if manifest is not None and manifest is found.manifest and recovery.claim_mode is ClaimMode.CLAIM:
        _claim(coordinator, manifest, str(recovery.path))
    coordinator.statistics.noted(tuple(notices(configuration, batch=graph.batch)))
    beginning = Beginning()
    while manifest is not None:
        if recovery.untrusted:
            require_plain(manifest, files)
        fitted = adopt_max_parallelism(graph, manifest)
        allowed = recovery.allow_non_restored_state
        name = f"restored-{secrets.token_hex(4)}"
        try:
            beginning = Restorer(manifest, fitted, files, name, allow_non_restored=allowed).beginning()
        except StateCorruptionError as error:
            if coordinator.completed.latest is None:
                raise
            manifest = _older(coordinator, error)
        else:
            alone = coordinator.enabled and recovery.claim_mode is not ClaimMode.LEGACY
            beginning = replace(beginning, stands_alone=alone)
            graph = fitted
            coordinator.continue_after(manifest.id)
            latest = coordinator.completed.latest
            path = str(recovery.path) if latest is None else latest.path
            coordinator.statistics.went_back_to(path, manifest, clock.now_ms())
            log.warning("job goes on from a checkpoint or savepoint job=%s id=%d", job_id, manifest.id)
            break
    restarts = restart_strategy(configuration, checkpointing=coordinator.enabled)
    return Prepared(job_id, graph, files, Continuity(coordinator, restarts, beginning))


def coordinator_of(
    options: CheckpointOptions, directory: CheckpointDirectory, files: StateFiles, clock: Clock
) -> CheckpointCoordinator:
    """:param files: where this driver writes its state, in the directory."""
    shared = SharedFiles(files, (join(directory.root, "shared") + "/",))
    return CheckpointCoordinator(options, directory, shared, clock)


def take_over(coordinator: CheckpointCoordinator, directory: CheckpointDirectory) -> Manifest | None:
    """The newest checkpoint of the job that an earlier driver ran; all of them are this driver's now."""
    checkpoints = recovered(directory)
    for checkpoint in checkpoints:
        coordinator.shared.claim(checkpoint.manifest.claimed)
    coordinator.completed.recover(checkpoints)
    sweep(directory, coordinator.shared)
    for checkpoint in checkpoints:
        coordinator.continue_after(checkpoint.id)
    latest = coordinator.completed.latest
    return None if latest is None else latest.manifest


def _claim(coordinator: CheckpointCoordinator, manifest: Manifest, path: str) -> None:
    """The snapshot that the job begins with counts as the first of its own checkpoints."""
    if not coordinator.storage.durable:
        raise ConfigurationError(
            "Only a job with checkpoints of its own can claim the snapshot that it begins with",
            detail=f"{recovery.CLAIM_MODE.key} is {ClaimMode.CLAIM.name}",
            hint="set execution.checkpointing.interval and execution.checkpointing.dir, or use NO_CLAIM",
        )
    directory = snapshot_directory(path)
    coordinator.shared.claim([files_of(manifest, directory) + "/"])
    coordinator.completed.recover([CompletedCheckpoint(manifest, directory)])


def _older(coordinator: CheckpointCoordinator, error: StateCorruptionError) -> Manifest:
    """The newest checkpoint is damaged: the one before it."""
    damaged = coordinator.completed.latest
    assert damaged is not None, "it was just read"
    log.warning("checkpoint is damaged and given up id=%d: %s", damaged.id, error)
    coordinator.completed.give_up(damaged)
    latest = coordinator.completed.latest
    if latest is None:
        raise error
    return latest.manifest
