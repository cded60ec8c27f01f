"""When and how checkpoints are taken."""

from __future__ import annotations

from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.options import checkpointing as options
from firesteel.common.time import Duration, as_millis
from firesteel.program.checkpointing_mode import CheckpointingMode
from firesteel.program.checks import WrongArgumentError, require_int
from firesteel.program.retention import ExternalizedCheckpointRetention

__all__ = ["CheckpointConfig"]

_ANY_NUMBER_OF_FAILURES = 2**31 - 1


class CheckpointConfig:
    """Checkpoint settings of an environment, kept in its configuration (Flink: ``CheckpointConfig``).

    A checkpoint is taken between two epochs and never stores buffers: in epochs nothing is in flight then, in
    real time barriers are aligned. So the settings for unaligned checkpoints are kept and have no effect. All
    times are in milliseconds.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The mode; without checkpoints no more than AT_LEAST_ONCE can be promised."""
        if not self.is_checkpointing_enabled():
            return CheckpointingMode.AT_LEAST_ONCE
        return self._configuration.get_member(options.MODE, CheckpointingMode)

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        if not isinstance(checkpointing_mode, CheckpointingMode):
            raise WrongArgumentError("Not a CheckpointingMode.", detail=f"got {checkpointing_mode!r}")
        return self._set(options.MODE, checkpointing_mode.name)

    def get_checkpoint_interval(self) -> int:
        """The time from one checkpoint to the next; -1 when there are none."""
        interval_ms = self._configuration.get(options.INTERVAL)
        return -1 if interval_ms is None else interval_ms

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        require_int(checkpoint_interval, "checkpoint interval (in milliseconds)", options.MINIMAL_TIME_MS)
        return self._set(options.INTERVAL, f"{checkpoint_interval} ms")

    def get_checkpoint_timeout(self) -> int:
        return self._configuration.get(options.TIMEOUT)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Give up a checkpoint that is not complete after this time."""
        require_int(checkpoint_timeout, "checkpoint timeout (in milliseconds)", options.MINIMAL_TIME_MS)
        return self._set(options.TIMEOUT, f"{checkpoint_timeout} ms")

    def get_min_pause_between_checkpoints(self) -> int:
        return self._configuration.get(options.MIN_PAUSE)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """The least time from the end of one checkpoint to the begin of the next."""
        require_int(min_pause_between_checkpoints, "pause between checkpoints (in milliseconds)", 0)
        return self._set(options.MIN_PAUSE, f"{min_pause_between_checkpoints} ms")

    def get_max_concurrent_checkpoints(self) -> int:
        return self._configuration.get(options.MAX_CONCURRENT)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """How many checkpoints may be under way at once. There is never more than one."""
        require_int(max_concurrent_checkpoints, "number of concurrent checkpoints", 1)
        return self._set(options.MAX_CONCURRENT, str(max_concurrent_checkpoints))

    def is_fail_on_checkpointing_errors(self) -> bool:
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """True: the first failed checkpoint fails the job; False: none does."""
        tolerable = 0 if fail_on_checkpointing_errors else _ANY_NUMBER_OF_FAILURES
        return self.set_tolerable_checkpoint_failure_number(tolerable)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        return self._configuration.get(options.TOLERABLE_FAILURES)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """How many checkpoints may fail in a row before the job does."""
        require_int(tolerable_checkpoint_failure_number, "number of tolerable checkpoint failures", 0)
        return self._set(options.TOLERABLE_FAILURES, str(tolerable_checkpoint_failure_number))

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """What becomes of the last checkpoint when the job is cancelled."""
        if not isinstance(retention_mode, ExternalizedCheckpointRetention):
            raise WrongArgumentError(
                "Not an ExternalizedCheckpointRetention.", detail=f"got {retention_mode!r}"
            )
        return self._set(options.RETENTION, retention_mode.name)

    def is_externalized_checkpoints_enabled(self) -> bool:
        none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self.get_externalized_checkpoint_retention() is not none

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        return self._configuration.get_member(options.RETENTION, ExternalizedCheckpointRetention)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        return self._configuration.get(options.UNALIGNED)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        return self._set(options.UNALIGNED, str(bool(enabled)).lower())

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        millis = as_millis(alignment_timeout, "aligned checkpoint timeout")
        return self._set(options.ALIGNED_TIMEOUT, f"{millis} ms")

    def get_aligned_checkpoint_timeout(self) -> Duration:
        return Duration.of_millis(self._configuration.get(options.ALIGNED_TIMEOUT))

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """The older name of ``set_aligned_checkpoint_timeout``."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """The older name of ``get_aligned_checkpoint_timeout``."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        return self._set(options.UNALIGNED_FORCED, str(bool(force_unaligned_checkpoints)).lower())

    def is_force_unaligned_checkpoints(self) -> bool:
        return self._configuration.get(options.UNALIGNED_FORCED)

    def _set(self, option: ConfigOption[Any], value: str) -> CheckpointConfig:
        self._configuration.set_string(option.key, value)
        return self
