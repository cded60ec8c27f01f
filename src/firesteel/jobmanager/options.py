"""The configuration keys that the engine reads: Flink's where Flink has one, ``firesteel.*`` for our own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.datastream._options import MAX_RECORD_BYTES, MAX_RECORD_SIZE
from firesteel.jobmanager.pacing import PacingOptions
from firesteel.runtime.user_logs import LOG_LEVEL, log_level
from firesteel.spark.settings import SPARK_LOG

STATE_DIR: Final = "firesteel.state.dir"  # where jobs keep their files; reachable from driver and workers
LOCAL_DIR: Final = "firesteel.local-dir"  # on each host: the local state stores
# Under the local dir, for tests that need several hosts; ``{epoch}`` in it gives a new host for each epoch.
HOST_ID: Final = "firesteel.host-id"
EPOCH_TARGET: Final = "firesteel.epoch.target"  # length aimed at while there is a backlog
EPOCH_INTERVAL: Final = "firesteel.epoch.interval"  # between the starts of epochs without a backlog
EPOCH_MAX_RECORDS: Final = "firesteel.epoch.max-records"  # of one split in one epoch
EPOCH_MAX_BYTES: Final = "firesteel.epoch.max-bytes"  # of one split in one epoch
EPOCH_ATTEMPTS: Final = "firesteel.epoch.attempts"  # how often an epoch is tried that Spark cannot run
# Aggregate windows, and reduces of BATCH mode, before the exchange (``pre_aggregation.py``): true or false.
PRE_AGGREGATION: Final = "firesteel.window.pre-aggregation"
COMMIT_RETRIES: Final = "sink.committer.retries"  # Flink's

KEYS: Final = frozenset(
    (
        STATE_DIR,
        LOCAL_DIR,
        HOST_ID,
        EPOCH_TARGET,
        EPOCH_INTERVAL,
        EPOCH_MAX_RECORDS,
        EPOCH_MAX_BYTES,
        EPOCH_ATTEMPTS,
        PRE_AGGREGATION,
        LOG_LEVEL,
        MAX_RECORD_SIZE,
        SPARK_LOG,
    )
)

_TARGET_UNBOUNDED_MS: Final = 500
_TARGET_BOUNDED_MS: Final = 6000  # nobody waits for a single record of a job that will end
_BATCH_RECORDS: Final = 1 << 62
_LARGEST_RECORD_BYTES: Final = 2000 << 20


@dataclass(frozen=True, slots=True)
class JobOptions:
    pacing: PacingOptions
    epoch_attempts: int = 4  # how often an epoch is tried that Spark could not run
    commit_retries: int = 10  # how often a sink may ask for time
    local_dir: str | None = None
    host_id: str = ""  # separates the local stores of executors that share a machine


def job_options(configuration: Configuration, *, bounded: bool, batch: bool) -> JobOptions:
    """Read and check; a key of ours that does not exist is an error that lists those that do."""
    for key in configuration.key_set():
        if key.startswith("firesteel.") and key not in KEYS:
            raise ConfigurationError(
                f"There is no option {key}", hint="the options are: " + ", ".join(sorted(KEYS))
            )
    log_level(configuration.to_dict())
    _check_record_size(configuration)
    target = configuration.get_duration_ms(
        EPOCH_TARGET, _TARGET_BOUNDED_MS if bounded else _TARGET_UNBOUNDED_MS
    )
    records: int | None = _positive(configuration, EPOCH_MAX_RECORDS)
    if batch:  # one epoch (design, section 3)
        pacing = PacingOptions(target, _BATCH_RECORDS, _BATCH_RECORDS, limited=False)
    else:
        usual = PacingOptions(0)
        pacing = PacingOptions(
            target,
            records,
            configuration.get_memory_bytes(EPOCH_MAX_BYTES, usual.max_bytes),
            configuration.get_duration_ms(EPOCH_INTERVAL, usual.min_interval_ms),
        )
    return JobOptions(
        pacing=pacing,
        host_id=configuration.get_string(HOST_ID, ""),
        commit_retries=_commit_retries(configuration, JobOptions(pacing).commit_retries),
        epoch_attempts=_positive(configuration, EPOCH_ATTEMPTS) or JobOptions(pacing).epoch_attempts,
    )


def _positive(configuration: Configuration, key: str) -> int | None:
    if not configuration.contains_key(key):
        return None
    value = configuration.get_integer(key, 0)
    if value < 1:
        raise ConfigurationError(f"{key} must be at least 1", detail=f"got {value}")
    return value


def _check_record_size(configuration: Configuration) -> None:
    size = configuration.get_memory_bytes(MAX_RECORD_SIZE, MAX_RECORD_BYTES)
    if not 1 <= size <= _LARGEST_RECORD_BYTES:
        raise ConfigurationError(
            f"{MAX_RECORD_SIZE} must be between 1 byte and {_LARGEST_RECORD_BYTES >> 20} MB",
            detail=f"got {size} bytes",
            hint="an array of the JVM, which holds a record in an exchange, has at most 2 GB",
        )


def _commit_retries(configuration: Configuration, usual: int) -> int:
    retries = configuration.get_integer(COMMIT_RETRIES, usual)
    if retries < 0:
        raise ConfigurationError(f"{COMMIT_RETRIES} must be at least 0", detail=f"got {retries}")
    return retries
