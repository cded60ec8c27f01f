"""When a failed job is started again (Flink: ``RestartBackoffTimeStrategy`` and its configuration)."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import (
    ConfigurationError,
    EngineLostError,
    ProgramError,
    StateCorruptionError,
    StateError,
    UnsupportedFeatureError,
)
from firesteel.common.options import restart as options


def causes_of(error: BaseException | None) -> list[BaseException]:
    """An exception and those it came from."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__
    return found


def may_pass(error: Exception) -> bool:
    """Whether a job that failed like this may run when it is tried again: not when the program is wrong
    (Flink: ``SuppressRestartsException``), nor when the engine is lost for good."""
    return not any(
        isinstance(cause, (ProgramError, UnsupportedFeatureError))
        or (isinstance(cause, StateError) and not isinstance(cause, StateCorruptionError))
        or (isinstance(cause, EngineLostError) and not cause.replaceable)
        for cause in causes_of(error)
    )


class RestartStrategy(Protocol):
    """Asked once for each failure; remembers those before."""

    def delay_ms(self, now_ms: int) -> int | None:
        """How long to wait before the job is started again after a failure at ``now_ms``; None: it is not."""


class NoRestart:
    def delay_ms(self, now_ms: int) -> int | None:
        return None


class FixedDelay:
    """So many restarts, each after the same time."""

    def __init__(self, attempts: int, delay_ms: int) -> None:
        self._left = attempts
        self._delay_ms = delay_ms

    def delay_ms(self, now_ms: int) -> int | None:
        if self._left <= 0:
            return None
        self._left -= 1
        return self._delay_ms


class FailureRate:
    """The job has failed for good when more than ``max_failures`` came within ``interval_ms``."""

    def __init__(self, max_failures: int, interval_ms: int, delay_ms: int) -> None:
        self._failures: deque[int] = deque(maxlen=max_failures)
        self._interval_ms = interval_ms
        self._delay_ms = delay_ms

    def delay_ms(self, now_ms: int) -> int | None:
        failures = self._failures
        if len(failures) == failures.maxlen and now_ms - failures[0] <= self._interval_ms:
            return None
        failures.append(now_ms)
        return self._delay_ms


class ExponentialDelay:
    """Each failure makes the next delay longer, up to a limit; a quiet time resets it.

    :param attempts: restarts before the job fails for good; a quiet time makes them all available again.
    :param jitter: the largest part of the delay added or subtracted at random, so that jobs restart apart.
    """

    def __init__(
        self,
        initial_ms: int,
        max_ms: int,
        multiplier: float,
        reset_ms: int,
        jitter: float,
        attempts: int = 2**31 - 1,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._initial_ms = initial_ms
        self._max_ms = max_ms
        self._multiplier = multiplier
        self._reset_ms = reset_ms
        self._jitter = jitter
        self._attempts = attempts
        self._chance = chance
        self._next_ms = float(initial_ms)
        self._failures = 0
        self._quiet_from_ms: int | None = None  # when the job runs again after the last failure

    def delay_ms(self, now_ms: int) -> int | None:
        if self._quiet_from_ms is not None and now_ms - self._quiet_from_ms >= self._reset_ms:
            self._next_ms, self._failures = float(self._initial_ms), 0
        self._failures += 1
        if self._failures > self._attempts:
            return None
        spread = self._next_ms * self._jitter * (2 * self._chance() - 1)
        delay = round(min(self._max_ms, max(self._initial_ms, self._next_ms + spread)))
        self._next_ms = min(float(self._max_ms), self._next_ms * self._multiplier)
        self._quiet_from_ms = now_ms + delay
        return delay


def restart_strategy(configuration: Configuration, *, checkpointing: bool) -> RestartStrategy:
    """The strategy that the configuration names. Without one a job with checkpoints is restarted with growing
    delays and without end, one without them is not (Flink 2's defaults)."""
    default = "exponential-delay" if checkpointing else "none"
    name = (configuration.get(options.STRATEGY) or default).strip().lower().replace("_", "-")
    make = _STRATEGIES.get(name)
    if make is None:
        raise ConfigurationError(
            f"There is no restart strategy {name!r}", hint="it is one of " + ", ".join(sorted(_STRATEGIES))
        )
    return make(configuration)


def _fixed_delay(c: Configuration) -> RestartStrategy:
    return FixedDelay(_count(c, options.FIXED_ATTEMPTS, least=0), c.get(options.FIXED_DELAY))


def _failure_rate(c: Configuration) -> RestartStrategy:
    return FailureRate(
        _count(c, options.RATE_FAILURES, least=1),
        c.get(options.RATE_INTERVAL),
        c.get(options.RATE_DELAY),
    )


def _exponential_delay(c: Configuration) -> RestartStrategy:
    initial_ms = c.get(options.INITIAL_BACKOFF)
    max_ms = c.get(options.MAX_BACKOFF)
    multiplier = c.get(options.MULTIPLIER)
    jitter = c.get(options.JITTER)
    if initial_ms < 1 or max_ms < initial_ms or multiplier < 1 or not 0 <= jitter <= 1:
        raise ConfigurationError(
            "The restart strategy exponential-delay cannot be like this",
            detail=f"initial-backoff {initial_ms} ms, max-backoff {max_ms} ms, "
            f"backoff-multiplier {multiplier}, jitter-factor {jitter}",
            hint="delays are positive and grow: a multiplier of at least 1, a jitter between 0 and 1",
        )
    return ExponentialDelay(
        initial_ms,
        max_ms,
        multiplier,
        c.get(options.RESET_THRESHOLD),
        jitter,
        _count(c, options.RESET_ATTEMPTS, least=1),
    )


_STRATEGIES: Final[dict[str, Callable[[Configuration], RestartStrategy]]] = {
    "none": lambda _: NoRestart(),
    "off": lambda _: NoRestart(),
    "disable": lambda _: NoRestart(),
    "fixed-delay": _fixed_delay,
    "fixeddelay": _fixed_delay,
    "failure-rate": _failure_rate,
    "failurerate": _failure_rate,
    "exponential-delay": _exponential_delay,
    "exponentialdelay": _exponential_delay,
}


def _count(configuration: Configuration, option: ConfigOption[int], *, least: int) -> int:
    number = configuration.get(option)
    if number < least:
        raise ConfigurationError(f"{option.key} must be at least {least}", detail=f"got {number}")
    return number
