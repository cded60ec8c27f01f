"""What cannot be done is refused, and what has no effect is said (I6)."""

from __future__ import annotations

import logging

import pytest

from firesteel.common.errors import ConfigurationError
from tests.runtime.support import collect, environment, local_platform


def test_an_option_of_ours_that_does_not_exist_is_an_error_that_lists_those_that_do() -> None:
    env = environment(1, **{"firesteel.epoch.max-recods": "5"})
    with pytest.raises(ConfigurationError) as refused:
        collect(env.from_collection([1]).map(lambda v: v))
    assert "max-recods" in str(refused.value)
    assert "firesteel.epoch.max-records" in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("firesteel.epoch.max-records", "0"),
        ("firesteel.epoch.max-records", "-3"),
        ("firesteel.epoch.max-records", "many"),
        ("firesteel.epoch.attempts", "0"),
        ("firesteel.epoch.target", "soon"),
        ("firesteel.epoch.max-bytes", "1 lightyear"),
        ("firesteel.exchange.max-record-size", "0"),
        ("firesteel.exchange.max-record-size", "3 gb"),
        ("firesteel.exchange.max-record-size", "large"),
        ("pipeline.auto-watermark-interval", "often"),
    ],
)
def test_an_option_with_a_bad_value_is_refused_by_name(key: str, value: str) -> None:
    with local_platform() as platform:
        env = environment(1, **{key: value})
        with pytest.raises(ConfigurationError) as refused:
            collect(env.from_collection([1]).map(lambda v: v))
        assert key in str(refused.value)
        assert platform.engines == [], "nothing has run"


@pytest.mark.parametrize(
    "key", ["execution.checkpointing.unaligned.enabled", "execution.checkpointing.aligned-checkpoint-timeout"]
)
def test_a_setting_without_effect_is_named(key: str, caplog: pytest.LogCaptureFixture) -> None:
    value = "10 s" if "timeout" in key else "true"
    with caplog.at_level(logging.WARNING):
        assert collect(environment(1, **{key: value}).from_collection([1]).map(lambda v: v)) == [1]
    assert any(key in r.getMessage() and "no effect" in r.getMessage() for r in caplog.records)
