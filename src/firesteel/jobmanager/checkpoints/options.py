"""The checkpoint settings of a job, and what is said about those that have no effect (Flink's keys)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, ProgramError
from firesteel.common.job_id import JobID
from firesteel.common.options import checkpointing, recovery, restart
from firesteel.common.options.checks import without_effect
from firesteel.program.checkpoint_config import CheckpointConfig
from firesteel.program.checkpointing_mode import CheckpointingMode
from firesteel.program.retention import ExternalizedCheckpointRetention
from firesteel.state.backends import backend_of

LATEST: Final = "latest"  # as a recovery path: the newest checkpoint of a job of this name

_STORAGE_RESTARTS: Final = 6  # some 20 s with the usual delays


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """:param interval_ms: between the triggers of two checkpoints; None: there are none.
    :param directory: where they are kept; None: in this process, and they end with it.
    :param storage_restarts: how often the job is restarted in a row because nothing could be stored, without
        a checkpoint in between, before it is given up; None: the restart strategy alone decides.
    :param ample_bytes: state that is larger is warned of: the backend does not suit it. None: any does.
    """

    interval_ms: int | None = None
    timeout_ms: int = 600_000
    min_pause_ms: int = 0
    tolerable_failures: int = 0
    max_retained: int = 1
    mode: CheckpointingMode = CheckpointingMode.EXACTLY_ONCE
    retention: ExternalizedCheckpointRetention = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
    directory: str | None = None
    savepoint_directory: str | None = None
    ample_bytes: int | None = None
    storage_restarts: int | None = None


class ClaimMode(Enum):
    """Whose the snapshot is that a job begins with by its path (Flink: ``RecoveryClaimMode``).

    ``CLAIM``: the job's; it goes with the job's own checkpoints. ``NO_CLAIM``: the user's; the job needs it
    until its first checkpoint is there. ``LEGACY``: the user's; the job refers to it for an unknown time.
    """

    CLAIM = "CLAIM"
    NO_CLAIM = "NO_CLAIM"
    LEGACY = "LEGACY"


@dataclass(frozen=True, slots=True)
class RecoveryOptions:
    """What a job begins with. ``path`` None: nothing.

    :param job_id: the id that the program's job has for ever: it goes on from its own newest checkpoint where
        there is one, else begins with ``path``.
    :param untrusted: what is restored may hold plain data only (``state.untrusted``).
    """

    path: str | None = None
    allow_non_restored_state: bool = False
    job_id: JobID | None = None
    claim_mode: ClaimMode = ClaimMode.NO_CLAIM
    untrusted: bool = False

    @property
    def latest(self) -> bool:
        return self.path == LATEST


def checkpoint_options(configuration: Configuration, *, batch: bool) -> CheckpointOptions:
    config = CheckpointConfig(configuration)
    interval_ms = config.get_checkpoint_interval()
    retained = configuration.get(checkpointing.NUM_RETAINED)
    if retained < 1:
        raise ConfigurationError(
            f"{checkpointing.NUM_RETAINED.key} must be at least 1", detail=f"got {retained}"
        )
    if config.is_unaligned_checkpoints_enabled() and config.get_max_concurrent_checkpoints() > 1:
        raise ConfigurationError(
            "Unaligned checkpoints are taken one at a time",
            detail=f"{checkpointing.MAX_CONCURRENT.key} is {config.get_max_concurrent_checkpoints()}",
            hint=f"set it to 1, or leave {checkpointing.UNALIGNED.key} out: neither has an effect here",
        )
    return CheckpointOptions(
        interval_ms=interval_ms if interval_ms > 0 and not batch else None,
        timeout_ms=config.get_checkpoint_timeout(),
        min_pause_ms=config.get_min_pause_between_checkpoints(),
        tolerable_failures=config.get_tolerable_checkpoint_failure_number(),
        max_retained=retained,
        mode=config.get_checkpointing_mode(),
        retention=config.get_externalized_checkpoint_retention(),
        directory=_directory(configuration),
        savepoint_directory=configuration.get(checkpointing.SAVEPOINT_DIRECTORY) or None,
        ample_bytes=backend_of(configuration).ample_bytes,
        storage_restarts=None if configuration.contains(restart.STRATEGY) else _STORAGE_RESTARTS,
    )


def _directory(configuration: Configuration) -> str | None:
    directory = configuration.get(checkpointing.DIRECTORY) or None
    storage = configuration.get(checkpointing.STORAGE) or ("filesystem" if directory else "jobmanager")
    if storage not in ("filesystem", "jobmanager"):
        raise ConfigurationError(
            f"There is no checkpoint storage {storage!r}", hint="it is filesystem or jobmanager"
        )
    if storage == "filesystem" and directory is None:
        raise ConfigurationError(
            "The checkpoint storage filesystem needs a directory", hint=f"set {checkpointing.DIRECTORY.key}"
        )
    return directory if storage == "filesystem" else None


def recovery_options(configuration: Configuration) -> RecoveryOptions:
    return RecoveryOptions(
        configuration.get(recovery.PATH) or None,
        configuration.get(recovery.IGNORE_UNCLAIMED),
        _job_id(configuration.get(recovery.JOB_ID)),
        configuration.get_member(recovery.CLAIM_MODE, ClaimMode),
        configuration.get(recovery.UNTRUSTED),
    )


def _job_id(text: str | None) -> JobID | None:
    try:
        return JobID(text) if text else None
    except ProgramError as error:
        raise ConfigurationError(f"{recovery.JOB_ID.key}: {error}") from error


def notices(configuration: Configuration, *, batch: bool) -> list[str]:
    """One sentence for each checkpoint setting that is accepted and has no effect."""
    return without_effect(configuration, checkpointing) + interplay(configuration, batch=batch)


def interplay(configuration: Configuration, *, batch: bool) -> list[str]:
    """One sentence for each checkpoint setting that has no effect because of another one."""
    interval = CheckpointConfig(configuration).get_checkpoint_interval()
    found = []
    if interval > 0 and batch:
        found.append(
            f"{checkpointing.INTERVAL.key} has no effect: a job in BATCH mode is one epoch, "
            "without checkpoints"
        )
    if (
        interval > 0
        and CheckpointConfig(configuration).get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    ):
        found.append(
            f"{checkpointing.MODE.key} AT_LEAST_ONCE has no effect: {checkpointing.ALIGNED}, so every "
            "checkpoint is exactly-once"
        )
    return found
