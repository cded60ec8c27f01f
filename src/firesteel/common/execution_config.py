"""Settings of the execution of one program (Flink: ``ExecutionConfig``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.options import checkpointing, metrics, pipeline

__all__ = ["ExecutionConfig"]

MAX_MAX_PARALLELISM = 32768


def _refuse_java_serializer(what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{what} cannot be chosen: records are Python objects, no Java serializer is involved",
        hint="declare types with Types.* where a fixed type is wanted",
    )


class ExecutionConfig:
    """Parallelism, watermark interval and the like.

    The settings are options of a ``Configuration``: what is set here is seen there under its key, and what
    the environment is configured with is seen here.

    :param configuration: where the settings live; None: a new one.
    """

    PARALLELISM_DEFAULT = -1
    """Take the parallelism of the environment."""

    PARALLELISM_UNKNOWN = -2
    """Leave the parallelism as it is."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    # -- parallelism

    def get_parallelism(self) -> int:
        """``PARALLELISM_DEFAULT`` when it was not set."""
        return self._configuration.get(pipeline.PARALLELISM) or self.PARALLELISM_DEFAULT

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """:raises ProgramError: less than 1 and not ``PARALLELISM_DEFAULT``."""
        if parallelism == self.PARALLELISM_UNKNOWN:
            return self
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config(pipeline.PARALLELISM.key)
            return self
        if parallelism < 1:
            raise ProgramError(f"parallelism must be 1 or more, not {parallelism}")
        self._configuration.set(pipeline.PARALLELISM, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Number of key groups; -1 when it was not set and is computed from the parallelism."""
        return self._configuration.get(pipeline.MAX_PARALLELISM)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """:raises ProgramError: not between 1 and 32768."""
        if not 1 <= max_parallelism <= MAX_MAX_PARALLELISM:
            raise ProgramError(
                f"max parallelism lies between 1 and {MAX_MAX_PARALLELISM}, not {max_parallelism}"
            )
        self._configuration.set(pipeline.MAX_PARALLELISM, max_parallelism)
        return self

    # -- intervals, all in milliseconds

    def get_auto_watermark_interval(self) -> int:
        return self._configuration.get(pipeline.AUTO_WATERMARK_INTERVAL)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """0: no periodic watermarks."""
        if interval < 0:
            raise ProgramError(f"the watermark interval must not be negative: {interval} ms")
        return self._set(pipeline.AUTO_WATERMARK_INTERVAL, interval)

    def get_latency_tracking_interval(self) -> int:
        """0 or less: no latency is tracked."""
        return self._configuration.get(metrics.LATENCY_INTERVAL)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        return self._set(metrics.LATENCY_INTERVAL, interval)

    def get_task_cancellation_interval(self) -> int:
        return self._configuration.get(pipeline.CANCELLATION_INTERVAL)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        return self._set(pipeline.CANCELLATION_INTERVAL, interval)

    def get_task_cancellation_timeout(self) -> int:
        """0: without limit."""
        return self._configuration.get(pipeline.CANCELLATION_TIMEOUT)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        if timeout < 0:
            raise ProgramError(f"the cancellation timeout must not be negative: {timeout} ms")
        return self._set(pipeline.CANCELLATION_TIMEOUT, timeout)

    # -- switches

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Functions are pickled with what they use and nothing else, whatever this is set to."""
        return self._set(pipeline.CLOSURE_CLEANER, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        return self._set(pipeline.CLOSURE_CLEANER, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        return self._configuration.get(pipeline.CLOSURE_CLEANER) != "NONE"

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        return self._set(pipeline.AUTO_GENERATE_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """An operator without a uid becomes an error."""
        return self._set(pipeline.AUTO_GENERATE_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        return self._configuration.get(pipeline.AUTO_GENERATE_UIDS)

    def enable_object_reuse(self) -> ExecutionConfig:
        return self._set(pipeline.OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        return self._set(pipeline.OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        return self._configuration.get(pipeline.OBJECT_REUSE)

    def is_use_snapshot_compression(self) -> bool:
        return self._configuration.get(checkpointing.SNAPSHOT_COMPRESSION)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        return self._set(checkpointing.SNAPSHOT_COMPRESSION, use_snapshot_compression)

    # -- parameters of the user

    def get_global_job_parameters(self) -> dict[str, str]:
        return self._configuration.get(pipeline.GLOBAL_JOB_PARAMETERS)

    def set_global_job_parameters(self, global_job_parameters_dict: dict[str, Any]) -> ExecutionConfig:
        """Values the dashboard shows with the job. What is not text becomes text."""
        if not isinstance(global_job_parameters_dict, Mapping):
            raise ProgramError(
                "The global job parameters must be a dict.", detail=f"got {global_job_parameters_dict!r}"
            )
        return self._set(
            pipeline.GLOBAL_JOB_PARAMETERS,
            {str(k): str(v) for k, v in global_job_parameters_dict.items()},
        )

    # -- serializers of the JVM: there are none here

    def enable_force_kryo(self) -> ExecutionConfig:
        raise _refuse_java_serializer("Kryo")

    def disable_force_kryo(self) -> ExecutionConfig:
        return self

    def is_force_kryo_enabled(self) -> bool:
        return False

    def enable_force_avro(self) -> ExecutionConfig:
        raise _refuse_java_serializer("Avro for POJOs")

    def disable_force_avro(self) -> ExecutionConfig:
        return self

    def is_force_avro_enabled(self) -> bool:
        return False

    def enable_generic_types(self) -> ExecutionConfig:
        """Streams without a declared type may be used: the default, and the only way."""
        return self

    def disable_generic_types(self) -> ExecutionConfig:
        raise _refuse_java_serializer("to be without generic types")

    def has_generic_types_disabled(self) -> bool:
        return False

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        return []

    def get_registered_pojo_types(self) -> list[str]:
        return []

    def _set(self, option: ConfigOption[Any], value: Any) -> ExecutionConfig:
        self._configuration.set(option, value)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
