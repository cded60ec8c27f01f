"""What happens after a failure (Flink: ``RestartStrategies``). Plain data; the job manager acts on it."""

from __future__ import annotations

from datetime import timedelta

from firesteel.common.errors import ProgramError
from firesteel.common.time import Duration, as_millis

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]

_Length = int | timedelta | Duration


class RestartStrategyConfiguration:
    """Base of all restart strategies. They are equal when they do the same."""

    def get_description(self) -> str:
        """The sentence that the dashboard shows."""
        return type(self).__name__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"<{self.get_description()}>"


def _millis(length: _Length | None, what: str) -> int:
    if length is None or isinstance(length, (float, str)):
        raise TypeError(f"{what} is a number of milliseconds or a datetime.timedelta, not {length!r}")
    millis = as_millis(length, what)
    if millis < 0:
        raise ProgramError(f"{what} must not be negative: {millis} ms")
    return millis


def _count(number: int | None, what: str, least: int) -> int:
    if not isinstance(number, int) or number < least:
        raise ProgramError(f"{what} must be {least} or more, not {number!r}")
    return number


class RestartStrategies:
    """Makes restart strategies."""

    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The first failure ends the job."""

        def get_description(self) -> str:
            return "Restart deactivated."

    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The strategy that the configuration names."""

        def get_description(self) -> str:
            return "Cluster level default restart strategy"

    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """So many restarts, each after the same delay."""

        def __init__(
            self,
            restart_attempts: int | None = None,
            delay_between_attempts_interval: _Length | None = None,
        ) -> None:
            self._attempts = _count(restart_attempts, "restart_attempts", 0)
            self._delay_ms = _millis(delay_between_attempts_interval, "delay_between_attempts_interval")

        def get_restart_attempts(self) -> int:
            return self._attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            return timedelta(milliseconds=self._delay_ms)

        def get_description(self) -> str:
            return f"Restart with fixed delay ({self._delay_ms} ms). #{self._attempts} restart attempts."

    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts as long as there are not too many failures within an interval."""

        def __init__(
            self,
            max_failure_rate: int | None = None,
            failure_interval: _Length | None = None,
            delay_between_attempts_interval: _Length | None = None,
        ) -> None:
            self._max_failures = _count(max_failure_rate, "max_failure_rate", 1)
            self._interval_ms = _millis(failure_interval, "failure_interval")
            self._delay_ms = _millis(delay_between_attempts_interval, "delay_between_attempts_interval")

        def get_max_failure_rate(self) -> int:
            return self._max_failures

        def get_failure_interval(self) -> timedelta:
            return timedelta(milliseconds=self._interval_ms)

        def get_delay_between_attempts_interval(self) -> timedelta:
            return timedelta(milliseconds=self._delay_ms)

        def get_description(self) -> str:
            return (
                f"Failure rate restart with maximum of {self._max_failures} failures within interval "
                f"{self._interval_ms} ms and fixed delay {self._delay_ms} ms."
            )

    class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts after a delay that grows with each failure, and shrinks back after a quiet time."""

        def __init__(
            self,
            initial_backoff: _Length,
            max_backoff: _Length,
            backoff_multiplier: float,
            reset_backoff_threshold: _Length,
            jitter_factor: float,
        ) -> None:
            self.initial_backoff_ms = _millis(initial_backoff, "initial_backoff")
            self.max_backoff_ms = _millis(max_backoff, "max_backoff")
            self.reset_backoff_threshold_ms = _millis(reset_backoff_threshold, "reset_backoff_threshold")
            if backoff_multiplier < 1:
                raise ProgramError(f"backoff_multiplier must be 1 or more, not {backoff_multiplier}")
            if not 0 <= jitter_factor <= 1:
                raise ProgramError(f"jitter_factor must lie between 0 and 1, not {jitter_factor}")
            self.backoff_multiplier = backoff_multiplier
            self.jitter_factor = jitter_factor

        def get_description(self) -> str:
            return (
                f"Restart with exponential delay: starting at {self.initial_backoff_ms} ms, increasing by "
                f"{self.backoff_multiplier}, with maximum {self.max_backoff_ms} ms. Delay resets after "
                f"{self.reset_backoff_threshold_ms} ms with jitter {self.jitter_factor}"
            )

    @staticmethod
    def no_restart() -> RestartStrategies.NoRestartStrategyConfiguration:
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> RestartStrategies.FallbackRestartStrategyConfiguration:
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: _Length
    ) -> RestartStrategies.FixedDelayRestartStrategyConfiguration:
        """:param delay_between_attempts: milliseconds or a ``datetime.timedelta``."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(
            restart_attempts, delay_between_attempts
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: _Length, delay_interval: _Length
    ) -> RestartStrategies.FailureRateRestartStrategyConfiguration:
        """Fail the job when ``failure_rate`` failures came within ``failure_interval``. Lengths are in
        milliseconds or a ``datetime.timedelta``."""
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, failure_interval, delay_interval
        )

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: _Length,
        max_backoff: _Length,
        backoff_multiplier: float,
        reset_backoff_threshold: _Length,
        jitter_factor: float,
    ) -> RestartStrategies.ExponentialDelayRestartStrategyConfiguration:
        """The delay starts at ``initial_backoff``, is multiplied at each failure up to ``max_backoff``, and
        starts anew after ``reset_backoff_threshold`` without one; ``jitter_factor`` spreads it at random."""
        return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
            initial_backoff, max_backoff, backoff_multiplier, reset_backoff_threshold, jitter_factor
        )
