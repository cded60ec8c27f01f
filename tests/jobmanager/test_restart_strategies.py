"""When a job is restarted (counted beside PyFlink 2.3.0)."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.restart_strategy import RestartStrategies
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.jobmanager.restarts import ExponentialDelay, restart_strategy


def strategy(checkpointing: bool = False, **options: str) -> Any:
    settings = {
        f"restart-strategy.{key.replace('__', '.').replace('_', '-')}": v for key, v in options.items()
    }
    return restart_strategy(Configuration.from_dict(settings), checkpointing=checkpointing)


def delays(asked: Any, *at_ms: int) -> list[int | None]:
    return [asked.delay_ms(now) for now in at_ms]


@pytest.mark.row("S-CFG-22")
def test_the_default_depends_on_checkpoints() -> None:
    assert delays(strategy(), 0) == [None]
    assert isinstance(strategy(checkpointing=True), ExponentialDelay)
    assert delays(strategy(checkpointing=True, type="none"), 0) == [None]


@pytest.mark.row("S-FAIL-10")
def test_fixed_delay() -> None:
    """PyFlink 2.3.0 with 3 attempts runs a program that always fails 4 times."""
    fixed = strategy(type="fixed-delay", fixed_delay__attempts="3", fixed_delay__delay="2 s")
    assert delays(fixed, 0, 1, 10**9, 10**9) == [2000, 2000, 2000, None]
    assert delays(strategy(type="fixed-delay"), 0, 0) == [1000, None], "Flink's defaults"


@pytest.mark.row("S-FAIL-11")
def test_failure_rate() -> None:
    """PyFlink 2.3.0 with 3 failures for each interval runs a program that always fails 4 times."""
    options = {
        "failure_rate__max_failures_per_interval": "3",
        "failure_rate__failure_rate_interval": "10 s",
        "failure_rate__delay": "5 ms",
    }
    assert delays(strategy(type="failure-rate", **options), 0, 1, 2, 3) == [5, 5, 5, None]
    assert delays(strategy(type="failure-rate", **options), 0, 5_000, 9_000, 10_001, 15_000) == [5] * 4 + [
        None
    ]


@pytest.mark.row("S-CFG-22")
def test_exponential_delay_grows_and_begins_anew() -> None:
    calm = ExponentialDelay(100, 1_000, 2.0, 10_000, 0.0)
    assert delays(calm, 0, 100, 300, 700, 1_500, 2_500) == [100, 200, 400, 800, 1_000, 1_000]
    assert calm.delay_ms(2_500 + 1_000 + 9_999) == 1_000
    assert calm.delay_ms(13_499 + 1_000 + 10_000) == 100, "after a quiet time"


def test_exponential_delay_is_spread_and_stays_within_its_limits() -> None:
    chances = iter([0.0, 1.0, 1.0, 0.5])
    spread = ExponentialDelay(100, 1_000, 10.0, 10_000, 0.2, chance=lambda: next(chances))
    assert delays(spread, 0, 1, 2, 3) == [100, 1_000, 1_000, 1_000]


def test_exponential_delay_may_give_up() -> None:
    tired = strategy(type="exponential-delay", exponential_delay__attempts_before_reset_backoff="2")
    assert [d is None for d in delays(tired, 0, 1, 2)] == [False, False, True]


@pytest.mark.parametrize(
    "options",
    [
        {"type": "sometimes"},
        {"type": "fixed-delay", "fixed_delay__attempts": "-1"},
        {"type": "failure-rate", "failure_rate__max_failures_per_interval": "0"},
        {"type": "exponential-delay", "exponential_delay__backoff_multiplier": "0.5"},
        {"type": "exponential-delay", "exponential_delay__jitter_factor": "2"},
        {"type": "exponential-delay", "exponential_delay__max_backoff": "1 ms"},
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        strategy(**options)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (RestartStrategies.no_restart(), [None]),
        (RestartStrategies.fixed_delay_restart(2, 7), [7, 7, None]),
        (RestartStrategies.failure_rate_restart(1, 1000, 9), [9, None]),
    ],
)
def test_what_a_program_sets_is_what_happens(chosen: Any, expected: list[int | None]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_restart_strategy(chosen)
    asked = restart_strategy(env.configuration, checkpointing=True)
    assert delays(asked, *range(len(expected))) == expected
