"""What cannot be done is refused, and what has no effect is said."""

from __future__ import annotations

import logging

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, ProgramError
from firesteel.datastream import CheckpointingMode
from firesteel.datastream.functions import MapFunction, RuntimeContext
from firesteel.jobmanager.checkpoints.options import checkpoint_options
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


@pytest.mark.row("S-SCHED-07")
@pytest.mark.parametrize(("mode", "is_told"), [("BATCH", True), ("STREAMING", False)])
def test_a_parallelism_by_the_volume_of_a_batch_job_is_said_not_to_be(
    mode: str, is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    env = environment(2, **{"jobmanager.scheduler": "AdaptiveBatch", "execution.runtime-mode": mode})
    stream = env.from_collection([1]).key_by(lambda v: v).map(lambda v: v)
    with caplog.at_level(logging.WARNING):
        assert collect(stream) == [1]
    said = [record.getMessage() for record in caplog.records if "adaptivebatch" in record.getMessage()]
    assert ["no effect" in text and "parallelism of the program" in text for text in said] == [True] * is_told


def test_an_operator_without_a_uid_is_refused_where_none_are_generated() -> None:
    env = environment(1)
    env.get_config().disable_auto_generated_uids()
    with pytest.raises(ProgramError, match="no uid"):
        collect(env.from_collection([1]))


def test_settings_are_no_parameters_of_the_job() -> None:
    class Parameters(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            keys = ("mine", "parallelism.default")
            self.found = [runtime_context.get_job_parameter(key, "none") for key in keys]

        def map(self, value: int) -> list[str]:
            return self.found

    env = environment(1)
    env.get_config().set_global_job_parameters({"mine": 5})
    assert collect(env.from_collection([1]).map(Parameters())) == [["5", "none"]]


@pytest.mark.row("S-CFG-07")
def test_checkpoints_are_exactly_once_unless_something_else_is_asked_for() -> None:
    mode = "execution.checkpointing.mode"
    every_second = {"execution.checkpointing.interval": "1 s"}
    options = checkpoint_options(Configuration.from_dict(every_second), batch=False)
    assert options.mode is CheckpointingMode.EXACTLY_ONCE
    env = environment(1, **every_second, **{mode: "SOMETIMES"})
    with pytest.raises(ConfigurationError) as refused:
        collect(env.from_collection([1]))
    for word in (mode, "SOMETIMES", "EXACTLY_ONCE", "AT_LEAST_ONCE"):
        assert word in str(refused.value)


@pytest.mark.row("S-CKPT-11", "T25")
def test_what_flink_does_not_do_with_unaligned_checkpoints(caplog: pytest.LogCaptureFixture) -> None:
    """Several at once are refused; at least once, they are none, which is said."""
    unaligned = {
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.unaligned.enabled": "true",
    }
    env = environment(1, **unaligned, **{"execution.checkpointing.max-concurrent-checkpoints": "2"})
    with pytest.raises(ConfigurationError, match="one at a time") as refused:
        collect(env.from_collection([1]))
    assert "execution.checkpointing.max-concurrent-checkpoints" in str(refused.value)
    env = environment(1, **unaligned, **{"execution.checkpointing.mode": "AT_LEAST_ONCE"})
    with caplog.at_level(logging.WARNING):
        assert collect(env.from_collection([1])) == [1]
    said = [record.getMessage() for record in caplog.records if "no effect" in record.getMessage()]
    assert any("unaligned" in text for text in said)
    assert any("AT_LEAST_ONCE" in text for text in said)
