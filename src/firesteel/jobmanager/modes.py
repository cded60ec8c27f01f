"""In which mode a job runs: in epochs, or in real time."""

from __future__ import annotations

from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, UnsupportedFeatureError
from firesteel.common.options import checkpointing, execution, firesteel as own
from firesteel.common.options.checks import in_vain
from firesteel.jobmanager.real_time import RealTimeOptions

#: Options that have an effect in real-time mode alone.
OF_REAL_TIME: Final = frozenset(
    (execution.BUFFER_TIMEOUT.key, execution.BUFFER_TIMEOUT_ENABLED.key, own.REAL_TIME_EPOCH.key)
)

_OF_EPOCHS: Final = (
    own.EPOCH_TARGET,
    own.EPOCH_INTERVAL,
    own.EPOCH_MAX_RECORDS,
    own.EPOCH_MAX_BYTES,
    own.EPOCH_TIME_LIMIT,
    own.EPOCH_ATTEMPTS,
)

#: For what is done beside a job in real time, as commits: its tasks leave none free.
SPARE_SLOTS: Final = 2

_EPOCHS: Final = "epochs"
_AUTO: Final = "auto"
_REAL_TIME: Final = "real-time"
_DEFAULT_TIMEOUT_MS: Final = 5.0
_EPOCH_MS: Final = 1000  # of a job without checkpoints
_LONGEST_EPOCH_MS: Final = 5000


def wants_real_time(configuration: Configuration, *, bounded: bool, batch: bool) -> bool:
    """Whether the job is to run in real time where that is possible."""
    mode = configuration.get(execution.MODE)
    if mode == _EPOCHS or (mode == _AUTO and (bounded or batch)):
        return False
    if batch:
        raise UnsupportedFeatureError(
            "A job in BATCH mode does not run in real time.",
            hint=f"take STREAMING for {execution.RUNTIME_MODE.key}, or epochs for {execution.MODE.key}",
        )
    return True


def must_be_real_time(configuration: Configuration) -> bool:
    """Whether the job is refused where it cannot run in real time."""
    return configuration.get(execution.MODE) == _REAL_TIME


def refusal(reasons: list[str]) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "The job cannot run in real time.",
        detail="; ".join(reasons),
        hint=f"set {execution.MODE.key} to epochs, or to auto to have it run in epochs where it must",
    )


def without_effect(configuration: Configuration) -> list[str]:
    """A sentence about options that are set and have no effect on a job in real time, if there are any."""
    keys = [option.key for option in _OF_EPOCHS if configuration.contains(option)]
    why = f"the job runs in real time, not in epochs ({execution.MODE.key})"
    return [in_vain(keys, why)] if keys else []


def check_epoch(configuration: Configuration) -> None:
    """
    :raises ConfigurationError: the length of epochs in real time is none.
    """
    epoch_ms = configuration.get(own.REAL_TIME_EPOCH)
    if epoch_ms is not None and epoch_ms < 1:
        raise ConfigurationError(f"{own.REAL_TIME_EPOCH.key} must be at least 1 ms", detail=f"got {epoch_ms}")


def real_time_options(configuration: Configuration) -> RealTimeOptions:
    epoch_ms = configuration.get(own.REAL_TIME_EPOCH)
    if epoch_ms is None:
        epoch_ms = _LONGEST_EPOCH_MS if configuration.get(checkpointing.INTERVAL) else _EPOCH_MS
    return RealTimeOptions(epoch_ms, _buffer_timeout_ms(configuration))


def _buffer_timeout_ms(configuration: Configuration) -> float | None:
    if not configuration.get(execution.BUFFER_TIMEOUT_ENABLED):
        return None
    if not configuration.contains(execution.BUFFER_TIMEOUT):
        return _DEFAULT_TIMEOUT_MS
    return float(configuration.get(execution.BUFFER_TIMEOUT))
