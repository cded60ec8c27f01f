"""The options that the engine runs a job with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import execution, firesteel as own
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.autoscaler import WatchOptions, autoscaler_options
from firesteel.jobmanager.pacing import PacingOptions
from firesteel.jobmanager.real_time import RealTimeOptions
from firesteel.jobmanager.scaling_options import ScalingOptions, scaling_options
from firesteel.runtime.latency import latency_interval_ms
from firesteel.runtime.user_logs import log_level
from firesteel.state.backend import StateLimits
from firesteel.state.backends import state_limits

_TARGET_UNBOUNDED_MS: Final = 500
_TARGET_BOUNDED_MS: Final = 6000  # no single record of a job that ends is waited for
_BATCH_RECORDS: Final = 1 << 62
_LARGEST_RECORD_BYTES: Final = 2000 << 20


@dataclass(frozen=True, slots=True)
class JobOptions:
    pacing: PacingOptions
    epoch_attempts: int = 4  # how often an epoch is tried that Spark could not run
    commit_retries: int = 10  # how often a sink may ask for time
    max_message_bytes: int = own.MAX_RECORD_BYTES  # from the driver to a task of a commit, and back
    local_dir: str | None = None
    real_time: RealTimeOptions | None = None  # None: epochs
    state: StateLimits = field(default_factory=StateLimits)
    scaling: ScalingOptions = field(default_factory=ScalingOptions)
    autoscaler: WatchOptions | None = None
    latency_interval_ms: int = 0
    host_id: str = ""  # separates the local stores of executors that share a machine


def job_options(configuration: Configuration, *, bounded: bool, batch: bool) -> JobOptions:
    """Read and check."""
    log_level(configuration)
    _check_record_size(configuration)
    target = configuration.get(own.EPOCH_TARGET)
    if target is None:
        target = _TARGET_BOUNDED_MS if bounded else _TARGET_UNBOUNDED_MS
    records = _positive(configuration, own.EPOCH_MAX_RECORDS)
    if batch:  # one epoch
        pacing = PacingOptions(target, _BATCH_RECORDS, _BATCH_RECORDS, limited=False)
    else:
        pacing = PacingOptions(
            target,
            records,
            configuration.get(own.EPOCH_MAX_BYTES),
            configuration.get(own.EPOCH_INTERVAL),
            limited=configuration.get(own.EPOCH_TIME_LIMIT),
        )
    return JobOptions(
        pacing=pacing,
        state=state_limits(configuration, batch=batch),
        scaling=scaling_options(configuration),
        autoscaler=autoscaler_options(configuration),
        latency_interval_ms=latency_interval_ms(configuration, batch=batch),
        host_id=configuration.get(own.HOST_ID),
        max_message_bytes=configuration.get(own.MAX_RECORD_SIZE),
        commit_retries=_commit_retries(configuration),
        epoch_attempts=_positive(configuration, own.EPOCH_ATTEMPTS) or 1,
    )


def dirty_bytes(limits: StateLimits, graph: JobGraph) -> int:
    """How much an epoch should change of the state of one subtask, at most."""
    if limits.managed is None:
        return limits.changes_bytes
    return limits.within(limits.managed.share(1, graph.keyed_subtasks)).changes_bytes


def _positive(configuration: Configuration, option: ConfigOption[Any]) -> int | None:
    value: int | None = configuration.get(option)
    if value is not None and value < 1:
        raise ConfigurationError(f"{option.key} must be at least 1", detail=f"got {value}")
    return value


def _check_record_size(configuration: Configuration) -> None:
    size = configuration.get(own.MAX_RECORD_SIZE)
    if not 1 <= size <= _LARGEST_RECORD_BYTES:
        raise ConfigurationError(
            f"{own.MAX_RECORD_SIZE.key} must be between 1 byte and {_LARGEST_RECORD_BYTES >> 20} MB",
            detail=f"got {size} bytes",
            hint="an array of the JVM, which holds a record in an exchange, has at most 2 GB",
        )


def _commit_retries(configuration: Configuration) -> int:
    retries = configuration.get(execution.COMMIT_RETRIES)
    if retries < 0:
        raise ConfigurationError(
            f"{execution.COMMIT_RETRIES.key} must be at least 0", detail=f"got {retries}"
        )
    return retries
