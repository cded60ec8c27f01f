"""The settings of an environment. Each lives in its configuration under Flink's key."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any, Self

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError
from firesteel.common.execution_config import ExecutionConfig
from firesteel.common.options import checkpointing, execution, pipeline, restart, state
from firesteel.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from firesteel.datastream._settings import MAX_PARALLELISM
from firesteel.datastream.checkpoint_storage import CheckpointStorage, FileSystemCheckpointStorage
from firesteel.datastream.slot_sharing_group import SlotSharingGroup
from firesteel.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from firesteel.program.checkpoint_config import CheckpointConfig
from firesteel.program.checkpointing_mode import CheckpointingMode
from firesteel.program.checks import WrongArgumentError, require_int, require_text
from firesteel.program.execution_mode import RuntimeExecutionMode

_LOCAL_MASTER = re.compile(r"local(?:\[(\d+|\*)(?:,\d+)?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[(\d+),(\d+),\d+\]")


class EnvironmentSettings:
    """Parallelism, chaining, checkpoints, state. Setters return the environment."""

    _configuration: Configuration
    _default_local_parallelism: int | None
    _slot_sharing_groups: dict[str, SlotSharingGroup]

    @property
    def configuration(self) -> Configuration:
        """All settings of this environment."""
        return self._configuration

    def get_config(self) -> ExecutionConfig:
        return ExecutionConfig(self._configuration)

    def configure(self, configuration: Configuration) -> Self:
        """Take over all options of ``configuration``; those that it does not have stay as they are."""
        if not isinstance(configuration, Configuration):
            raise WrongArgumentError("configure() takes a Configuration.", detail=f"got {configuration!r}")
        self._configuration.add_all(configuration)
        return self

    # ---- parallelism ----

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the parallelism of all operators that do not set their own; -1: the default again."""
        if parallelism == ExecutionConfig.PARALLELISM_DEFAULT:
            self._configuration.remove_config(pipeline.PARALLELISM.key)
            return self
        require_int(parallelism, "parallelism", 1, MAX_PARALLELISM)
        self._configuration.set(pipeline.PARALLELISM, parallelism)
        return self

    def get_parallelism(self) -> int:
        """The parallelism that was set, else the number of cores that a local Spark has here."""
        return self._configuration.get(pipeline.PARALLELISM) or self.get_default_local_parallelism()

    def get_default_local_parallelism(self) -> int:
        """What ``set_default_local_parallelism`` said, else the cores of the local master."""
        if self._default_local_parallelism is not None:
            return self._default_local_parallelism
        return _local_cores(self._configuration.get(execution.SPARK_MASTER) or "local[*]")

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism that counts when none is set."""
        self._default_local_parallelism = require_int(parallelism, "parallelism", 1, MAX_PARALLELISM)

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups: the upper limit of the parallelism, also of later runs."""
        require_int(max_parallelism, "max parallelism", 1, MAX_PARALLELISM)
        self._configuration.set(pipeline.MAX_PARALLELISM, max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The max parallelism that was set, -1: it follows from the parallelism of each operator."""
        return self._configuration.get(pipeline.MAX_PARALLELISM)

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Make a group known. Spark gives all tasks of a job equal resources, so those of the group are a
        hint that has no effect, and a warning says so."""
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            raise WrongArgumentError("Not a SlotSharingGroup.", detail=f"got {slot_sharing_group!r}")
        name = slot_sharing_group.get_name()
        if slot_sharing_group.has_resources and self._slot_sharing_groups.get(name) != slot_sharing_group:
            warnings.warn(
                f"the resources of slot sharing group {name!r} have no effect: all tasks of a Spark job have "
                "equal resources; set spark.task.cpus and spark.executor.memory instead",
                stacklevel=3,
            )
        self._slot_sharing_groups[name] = slot_sharing_group
        return self

    # ---- execution ----

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> Self:
        """Choose between STREAMING, BATCH and AUTOMATIC."""
        if not isinstance(execution_mode, RuntimeExecutionMode):
            raise WrongArgumentError(
                "Not a RuntimeExecutionMode.",
                detail=f"got {execution_mode!r}",
                hint="for example RuntimeExecutionMode.BATCH",
            )
        self._configuration.set_string(execution.RUNTIME_MODE.key, execution_mode.name)
        return self

    def get_runtime_mode(self) -> RuntimeExecutionMode:
        return self._configuration.get_member(execution.RUNTIME_MODE, RuntimeExecutionMode)

    def set_execution_mode(self, mode: str) -> Self:
        """Choose how a STREAMING job is run: ``"epochs"``, ``"real-time"`` or ``"auto"``.

        The same as the option ``execution.mode``. A savepoint of a job in one mode is restored in the other.
        """
        self._configuration.set_string(execution.MODE.key, mode)
        self._configuration.get(execution.MODE)  # one of its words
        return self

    def get_execution_mode(self) -> str:
        """How a STREAMING job is run: ``"epochs"``, ``"real-time"`` or ``"auto"``."""
        return self._configuration.get(execution.MODE)

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """How long records may wait in a buffer that is not full, in milliseconds; 0: they do not; -1: until
        it is full.

        In real-time mode, where it is 5 unless it is set. In epoch mode buffers are handed on at the end of
        each epoch, so that another value than 100 has no effect, and the job says so.
        """
        require_int(timeout_millis, "buffer timeout (in milliseconds)", -1)
        self._configuration.set(execution.BUFFER_TIMEOUT_ENABLED, timeout_millis >= 0)
        if timeout_millis >= 0:
            self._configuration.set_string(execution.BUFFER_TIMEOUT.key, f"{timeout_millis} ms")
        return self

    def get_buffer_timeout(self) -> int:
        if not self._configuration.get(execution.BUFFER_TIMEOUT_ENABLED):
            return -1
        return self._configuration.get(execution.BUFFER_TIMEOUT)

    def disable_operator_chaining(self) -> Self:
        """Run each operator in a vertex of its own."""
        self._configuration.set(pipeline.CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        return self._configuration.get(pipeline.CHAINING)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        return self._configuration.get(pipeline.CHAINING_MAX_PARALLELISM)

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> Self:
        """Set what happens after a failure (in Flink 2 a matter of the configuration alone)."""
        for key, value in _restart_options(restart_strategy_configuration).items():
            self._configuration.set_string(key, value)
        return self

    # ---- checkpoints and state ----

    def get_checkpoint_config(self) -> CheckpointConfig:
        return CheckpointConfig(self._configuration)

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> Self:
        """Take a checkpoint every ``interval`` milliseconds, at least 10."""
        config = self.get_checkpoint_config().set_checkpoint_interval(interval)
        if mode is not None:
            config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """In milliseconds; -1 when there are no checkpoints."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        return self.get_checkpointing_consistency_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        return self.get_checkpoint_config().get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        return self.get_checkpoint_config().is_force_unaligned_checkpoints()

    def set_state_backend(self, state_backend: StateBackend) -> Self:
        """Choose the state backend (in Flink 2 a matter of the configuration alone)."""
        if not isinstance(state_backend, (HashMapStateBackend, EmbeddedRocksDBStateBackend)):
            raise WrongArgumentError(
                "Not a state backend.",
                detail=f"got {state_backend!r}",
                hint="pass HashMapStateBackend() or EmbeddedRocksDBStateBackend()",
            )
        for key, value in state_backend.settings().items():
            self._configuration.set_string(key, value)
        return self

    def get_state_backend(self) -> StateBackend | None:
        """The state backend that was chosen, None: the default."""
        if not self._configuration.contains(state.BACKEND):
            return None
        if self._configuration.get(state.BACKEND) == "rocksdb":
            return EmbeddedRocksDBStateBackend.from_settings(self._configuration)
        return HashMapStateBackend()

    def set_checkpoint_storage(self, checkpoint_storage: CheckpointStorage) -> Self:
        """Choose where checkpoints are kept (in Flink 2 a matter of the configuration alone)."""
        if not isinstance(checkpoint_storage, CheckpointStorage):
            raise WrongArgumentError("Not a checkpoint storage.", detail=f"got {checkpoint_storage!r}")
        if isinstance(checkpoint_storage, FileSystemCheckpointStorage):
            self._configuration.set_string(checkpointing.STORAGE.key, "filesystem")
            self._configuration.set_string(
                checkpointing.DIRECTORY.key, checkpoint_storage.get_checkpoint_path()
            )
        else:
            self._configuration.set_string(checkpointing.STORAGE.key, "jobmanager")
        return self

    def enable_changelog_state_backend(self, enabled: bool) -> Self:
        """State changes are always logged for each epoch, so this changes nothing; False is kept as well."""
        self._configuration.set(state.CHANGELOG, bool(enabled))
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """What was set, None when nothing was."""
        if not self._configuration.contains(state.CHANGELOG):
            return None
        return self._configuration.get(state.CHANGELOG)

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Set where a savepoint goes when its trigger names no directory."""
        self._configuration.set_string(
            checkpointing.SAVEPOINT_DIRECTORY.key, require_text(directory, "savepoint directory")
        )
        return self

    def get_default_savepoint_directory(self) -> str | None:
        return self._configuration.get(checkpointing.SAVEPOINT_DIRECTORY) or None


def _local_cores(master: str) -> int:
    """Task slots of a local Spark master. Of any other nothing is known before Spark runs: this machine's
    cores are taken."""
    if found := _LOCAL_CLUSTER.fullmatch(master):
        return int(found[1]) * int(found[2])
    found = _LOCAL_MASTER.fullmatch(master)
    if found and found[1] != "*":
        return int(found[1] or 1)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _restart_options(strategy: Any) -> dict[str, str]:
    """A restart strategy as Flink's options."""
    match strategy:
        case RestartStrategies.NoRestartStrategyConfiguration():
            return {restart.STRATEGY.key: "none"}
        case RestartStrategies.FallbackRestartStrategyConfiguration():
            return {}
        case RestartStrategies.FixedDelayRestartStrategyConfiguration():
            return {
                restart.STRATEGY.key: "fixed-delay",
                restart.FIXED_ATTEMPTS.key: str(strategy.get_restart_attempts()),
                restart.FIXED_DELAY.key: _millis(strategy.get_delay_between_attempts_interval()),
            }
        case RestartStrategies.FailureRateRestartStrategyConfiguration():
            return {
                restart.STRATEGY.key: "failure-rate",
                restart.RATE_FAILURES.key: str(strategy.get_max_failure_rate()),
                restart.RATE_INTERVAL.key: _millis(strategy.get_failure_interval()),
                restart.RATE_DELAY.key: _millis(strategy.get_delay_between_attempts_interval()),
            }
        case RestartStrategies.ExponentialDelayRestartStrategyConfiguration():
            return {
                restart.STRATEGY.key: "exponential-delay",
                restart.INITIAL_BACKOFF.key: f"{strategy.initial_backoff_ms} ms",
                restart.MAX_BACKOFF.key: f"{strategy.max_backoff_ms} ms",
                restart.MULTIPLIER.key: str(strategy.backoff_multiplier),
                restart.RESET_THRESHOLD.key: f"{strategy.reset_backoff_threshold_ms} ms",
                restart.JITTER.key: str(strategy.jitter_factor),
            }
    raise ProgramError(
        "Not a restart strategy.",
        detail=f"got {strategy!r}",
        hint="make one with RestartStrategies, for example RestartStrategies.fixed_delay_restart(3, 10000)",
    )


def _millis(length: Any) -> str:
    return f"{round(length.total_seconds() * 1000)} ms"
