"""What cannot be done is refused, and what has no effect is said (I6)."""

from __future__ import annotations

import logging

import pytest

from firesteel.common.errors import ConfigurationError, UnsupportedFeatureError
from firesteel.common.time import Duration
from tests.runtime.support import At, collect, environment, local_platform, punctuated


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
    ],
)
def test_an_option_with_a_bad_value_is_refused_by_name(key: str, value: str) -> None:
    with local_platform() as platform:
        env = environment(1, **{key: value})
        with pytest.raises(ConfigurationError) as refused:
            collect(env.from_collection([1]).map(lambda v: v))
        assert key in str(refused.value)
        assert platform.engines == [], "nothing has run"


@pytest.mark.parametrize("where", ["source", "mid-stream"])
def test_watermark_alignment_is_refused_with_the_operators_name(where: str) -> None:
    strategy = punctuated().with_watermark_alignment("g", Duration.of_seconds(1))
    env = environment(1)
    if where == "source":
        from tests.runtime.support import SplitsSource

        stream = env.from_source(SplitsSource([(At(1), 1)]), strategy, "aligned one")
    else:
        stream = env.from_collection([At(1)]).assign_timestamps_and_watermarks(strategy).name("aligned one")
    with pytest.raises(UnsupportedFeatureError) as refused:
        collect(stream.map(lambda v: v))
    assert "aligned one" in str(refused.value.operator)
    assert refused.value.hint is not None


@pytest.mark.parametrize("key", ["execution.checkpointing.interval", "restart-strategy.type"])
def test_a_setting_without_effect_is_named(key: str, caplog: pytest.LogCaptureFixture) -> None:
    value = "10 s" if "interval" in key else "fixed-delay"
    with caplog.at_level(logging.WARNING):
        assert collect(environment(1, **{key: value}).from_collection([1]).map(lambda v: v)) == [1]
    assert any(key in r.getMessage() and "no effect" in r.getMessage() for r in caplog.records)


def test_windows_and_count_windows_are_refused_when_the_program_is_written() -> None:
    keyed = environment(1).from_collection([1]).key_by(lambda v: v)
    for refuse in (lambda: keyed.window(None), lambda: keyed.count_window(3), lambda: keyed.window_all(None)):
        with pytest.raises(UnsupportedFeatureError):
            refuse()


def test_savepoints_are_refused() -> None:
    env = environment(1)
    env.from_collection([1]).map(lambda v: v)
    client = env.execute_async()
    with pytest.raises(UnsupportedFeatureError):
        client.trigger_savepoint(None).result(5)
    with pytest.raises(UnsupportedFeatureError):
        client.stop_with_savepoint(True).result(5)
    client.get_job_execution_result().result(10)
