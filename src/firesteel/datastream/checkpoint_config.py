"""When and how checkpoints are taken."""

from __future__ import annotations

from firesteel.common.configuration import Configuration
from firesteel.common.time import Duration, as_millis
from firesteel.datastream._checks import WrongArgumentError, require_int
from firesteel.datastream._options import get_member
from firesteel.datastream.checkpointing_mode import CheckpointingMode
from firesteel.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention

__all__ = ["CheckpointConfig"]

_PREFIX = "execution.checkpointing."
INTERVAL = _PREFIX + "interval"
MODE = _PREFIX + "mode"
TIMEOUT = _PREFIX + "timeout"
MIN_PAUSE = _PREFIX + "min-pause"
MAX_CONCURRENT = _PREFIX + "max-concurrent-checkpoints"
TOLERABLE_FAILURES = _PREFIX + "tolerable-failed-checkpoints"
RETENTION = _PREFIX + "externalized-checkpoint-retention"
UNALIGNED = _PREFIX + "unaligned.enabled"
UNALIGNED_FORCED = _PREFIX + "unaligned.forced"
ALIGNED_TIMEOUT = _PREFIX + "aligned-checkpoint-timeout"

_MINIMAL_TIME_MS = 10
_ANY_NUMBER_OF_FAILURES = 2**31 - 1


class CheckpointConfig:
    """Checkpoint settings of an environment, kept in its configuration (Flink: ``CheckpointConfig``).

    Nothing is in flight between two epochs, so a checkpoint neither waits for barriers nor stores buffers:
    the settings for unaligned checkpoints hold without costing anything. All times are in milliseconds.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The mode; without checkpoints no more than AT_LEAST_ONCE can be promised."""
        if not self.is_checkpointing_enabled():
            return CheckpointingMode.AT_LEAST_ONCE
        return get_member(self._configuration, MODE, CheckpointingMode.EXACTLY_ONCE)

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        if not isinstance(checkpointing_mode, CheckpointingMode):
            raise WrongArgumentError("Not a CheckpointingMode.", detail=f"got {checkpointing_mode!r}")
        return self._set(MODE, checkpointing_mode.name)

    def get_checkpoint_interval(self) -> int:
        """The time from one checkpoint to the next; -1 when there are none."""
        return self._configuration.get_duration_ms(INTERVAL, -1)

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        require_int(checkpoint_interval, "checkpoint interval (in milliseconds)", _MINIMAL_TIME_MS)
        return self._set(INTERVAL, f"{checkpoint_interval} ms")

    def get_checkpoint_timeout(self) -> int:
        return self._configuration.get_duration_ms(TIMEOUT, 600_000)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Give up a checkpoint that is not complete after this time."""
        require_int(checkpoint_timeout, "checkpoint timeout (in milliseconds)", _MINIMAL_TIME_MS)
        return self._set(TIMEOUT, f"{checkpoint_timeout} ms")

    def get_min_pause_between_checkpoints(self) -> int:
        return self._configuration.get_duration_ms(MIN_PAUSE, 0)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """The least time from the end of one checkpoint to the begin of the next."""
        require_int(min_pause_between_checkpoints, "pause between checkpoints (in milliseconds)", 0)
        return self._set(MIN_PAUSE, f"{min_pause_between_checkpoints} ms")

    def get_max_concurrent_checkpoints(self) -> int:
        return self._configuration.get_integer(MAX_CONCURRENT, 1)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """How many checkpoints may be under way at once. There is never more than one."""
        require_int(max_concurrent_checkpoints, "number of concurrent checkpoints", 1)
        return self._set(MAX_CONCURRENT, str(max_concurrent_checkpoints))

    def is_fail_on_checkpointing_errors(self) -> bool:
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """True: the first failed checkpoint fails the job; False: none does."""
        tolerable = 0 if fail_on_checkpointing_errors else _ANY_NUMBER_OF_FAILURES
        return self.set_tolerable_checkpoint_failure_number(tolerable)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        return self._configuration.get_integer(TOLERABLE_FAILURES, 0)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """How many checkpoints may fail in a row before the job does."""
        require_int(tolerable_checkpoint_failure_number, "number of tolerable checkpoint failures", 0)
        return self._set(TOLERABLE_FAILURES, str(tolerable_checkpoint_failure_number))

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """What becomes of the last checkpoint when the job is cancelled."""
        if not isinstance(retention_mode, ExternalizedCheckpointRetention):
            raise WrongArgumentError(
                "Not an ExternalizedCheckpointRetention.", detail=f"got {retention_mode!r}"
            )
        return self._set(RETENTION, retention_mode.name)

    def is_externalized_checkpoints_enabled(self) -> bool:
        none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self.get_externalized_checkpoint_retention() is not none

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return get_member(self._configuration, RETENTION, none)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        return self._configuration.get_boolean(UNALIGNED, False)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        return self._set(UNALIGNED, str(bool(enabled)).lower())

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        millis = as_millis(alignment_timeout, "aligned checkpoint timeout")
        return self._set(ALIGNED_TIMEOUT, f"{millis} ms")

    def get_aligned_checkpoint_timeout(self) -> Duration:
        return Duration.of_millis(self._configuration.get_duration_ms(ALIGNED_TIMEOUT, 0))

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """The older name of ``set_aligned_checkpoint_timeout``."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """The older name of ``get_aligned_checkpoint_timeout``."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        return self._set(UNALIGNED_FORCED, str(bool(force_unaligned_checkpoints)).lower())

    def is_force_unaligned_checkpoints(self) -> bool:
        return self._configuration.get_boolean(UNALIGNED_FORCED, False)

    def _set(self, key: str, value: str) -> CheckpointConfig:
        self._configuration.set_string(key, value)
        return self
