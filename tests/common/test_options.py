"""The tables of options, and what is said about the keys of a configuration."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import firesteel
from firesteel.common import ConfigOptions, Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import AREAS, OLDER_NAMES, OPTIONS, PRESENT_NAMES
from firesteel.common.options.checks import Verdict, check, examine, nearest, notices
from firesteel.common.options.document import described, page
from firesteel.common.options.flink_keys import flink_keys
from tests.waiting import patience

SOURCES = Path(firesteel.__file__).parent
TABLES = SOURCES / "common" / "options"
# What each key that the specification's area of configuration names does here.
DECISIONS = {
    "taskmanager.numberOfTaskSlots": Verdict.EFFECT,
    "state.backend": Verdict.EFFECT,
    "state.backend.type": Verdict.EFFECT,
    "state.backend.incremental": Verdict.NO_EFFECT,
    "execution.checkpointing.incremental": Verdict.NO_EFFECT,
    "state.checkpoints.dir": Verdict.EFFECT,
    "execution.checkpointing.dir": Verdict.EFFECT,
    "execution.checkpointing.interval": Verdict.EFFECT,
    "execution.checkpointing.mode": Verdict.EFFECT,
    "execution.checkpointing.timeout": Verdict.EFFECT,
    "execution.checkpointing.min-pause": Verdict.EFFECT,
    "execution.checkpointing.aligned-checkpoint-timeout": Verdict.NO_EFFECT,
    "state.backend.rocksdb.memory.managed": Verdict.EFFECT,
    "taskmanager.memory.managed.fraction": Verdict.EFFECT,
    "taskmanager.memory.task.heap.size": Verdict.EFFECT,
    "taskmanager.memory.network.fraction": Verdict.EFFECT,
    "taskmanager.memory.task.off-heap.size": Verdict.EFFECT,
    "taskmanager.memory.jvm-overhead.fraction": Verdict.EFFECT,
    "table.exec.mini-batch.enabled": Verdict.EFFECT,
    "table.exec.mini-batch.size": Verdict.EFFECT,
    "table.exec.mini-batch.allow-latency": Verdict.EFFECT,
    "table.optimizer.distinct-agg.split.enabled": Verdict.EFFECT,
    "parallelism.default": Verdict.EFFECT,
    "pipeline.max-parallelism": Verdict.EFFECT,
    "execution.checkpointing.num-retained": Verdict.EFFECT,
    "restart-strategy": Verdict.EFFECT,
    "restart-strategy.type": Verdict.EFFECT,
    "restart-strategy.fixed-delay.attempts": Verdict.EFFECT,
    "pipeline.operator-chaining": Verdict.EFFECT,
    "execution.buffer-timeout": Verdict.NO_EFFECT,
    "execution.savepoint.path": Verdict.EFFECT,
    "pipeline.global-job-parameters.mine": Verdict.EFFECT,
    "pipeline.jars": Verdict.REFUSED,
    "high-availability.zookeeper.client.acl": Verdict.NO_EFFECT,
    "akka.ask.timeout": Verdict.NO_EFFECT,
    "metrics.reporter.prom.factory.class": Verdict.EFFECT,
    "metrics.scope.jm-operator": Verdict.NO_EFFECT,
    "spark.executor.memory": Verdict.SPARK,
    "totally.unknown": Verdict.UNKNOWN,
    "execution.checkpointing.intervall": Verdict.MISSPELT,
    "firesteel.epoch.max-recods": Verdict.MISSPELT,
}


@pytest.mark.row("S-CFG-24")
@pytest.mark.parametrize(("key", "verdict"), DECISIONS.items())
def test_every_key_has_a_decision(key: str, verdict: Verdict) -> None:
    found = examine(key)
    assert found.verdict is verdict
    assert bool(found.why) == (verdict in (Verdict.NO_EFFECT, Verdict.REFUSED))


@pytest.mark.parametrize("key", [key for key, verdict in DECISIONS.items() if verdict is Verdict.MISSPELT])
@pytest.mark.row("S-CFG-01")
def test_a_misspelt_key_is_an_error_that_names_the_nearest(key: str) -> None:
    with pytest.raises(ConfigurationError, match="did you mean") as refused:
        check(Configuration.from_dict({key: "1"}))
    assert nearest(key)[0] in str(refused.value)


@pytest.mark.row("S-CFG-24")
def test_keys_of_others_are_told_of_and_keys_of_spark_pass() -> None:
    configuration = Configuration.from_dict({"totally.unknown": "1", "spark.anything": "2", "my_own": "3"})
    check(configuration)
    (said,) = notices(configuration)
    assert "my_own, totally.unknown" in said
    assert "spark" not in said


@pytest.mark.row("S-CFG-24")
def test_a_key_of_flink_that_cannot_be_obeyed_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="no jars are loaded"):
        check(Configuration.from_dict({"pipeline.jars": "file:///x.jar"}))


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.key)
def test_each_option_says_what_it_is_and_reads_its_default(option) -> None:
    assert option.description
    assert examine(option.key).present == option.key
    if option.default_value is not None:
        assert Configuration().get(option) == option.default_value
        if option.kind.name not in ("list", "paths", "map"):
            assert option.read(option.default_value) == option.default_value


@pytest.mark.parametrize(("key", "older"), [(key, name) for key in OLDER_NAMES for name in OLDER_NAMES[key]])
def test_an_older_name_has_the_value_and_is_told_of(key: str, older: str) -> None:
    option = OPTIONS[key]
    of_kinds = {"boolean": "true", "integer": "7", "duration": "7 s", "memory size": "7 mb", "double": "0.5"}
    value = of_kinds.get(option.kind.name, "x")
    value = option.words[0] if option.words else value
    configuration = Configuration.from_dict({older: value})
    assert configuration.get(option) == option.read(value)
    assert configuration.contains_key(key)
    check(configuration)
    assert any(older in said for said in notices(configuration))


@pytest.mark.row("S-CFG-24")
@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.key)
def test_an_option_without_effect_is_told_of_unless_it_is_at_its_default(option) -> None:
    if option.no_effect is None:
        return
    if option.default_value is not None:
        assert notices(Configuration().set(option, option.default_value)) == []
    changed = "true" if option.default_value is False else "false" if option.default_value is True else "77"
    changed = next((word for word in option.words if word != option.default_value), changed)
    (said,) = notices(Configuration().set_string(option.key, changed))
    assert said == f"{option.key} has no effect: {option.no_effect}"


def test_what_cannot_be_read_names_key_value_kind_and_origin(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("execution.checkpointing.interval: soon\n")
    outside = Configuration.load(file)
    with pytest.raises(ConfigurationError) as refused:
        check(Configuration().add_all(outside))
    for word in ("execution.checkpointing.interval", "'soon'", "duration", str(file)):
        assert word in str(refused.value)
    with pytest.raises(ConfigurationError, match="set by the program"):
        check(Configuration().add_all(outside).set_string("execution.checkpointing.interval", "later"))


def test_older_names_that_are_set_too_are_checked() -> None:
    with pytest.raises(ConfigurationError, match=r"pipeline\.operator-chaining"):
        check(Configuration.from_dict({"pipeline.operator-chaining": "maybe"}))


def test_options_of_users_have_older_names_as_in_flink() -> None:
    option = ConfigOptions.key("new").int_type().default_value(1).with_deprecated_keys("old", "older")
    assert Configuration.from_dict({"older": "3"}).get(option) == 3
    assert Configuration.from_dict({"older": "3", "old": "2"}).get(option) == 2
    assert Configuration.from_dict({"older": "3", "new": "5"}).get(option) == 5


def test_the_keys_of_flink_are_others_than_those_that_are_read() -> None:
    known = flink_keys()
    assert len(set(known.reasons) | set(OPTIONS)) > 1000  # those of Flink that are read, too
    assert not set(known.reasons) & (set(OPTIONS) | set(PRESENT_NAMES))
    assert not set(known.older) & (set(OPTIONS) | set(PRESENT_NAMES) | set(known.reasons))
    assert all(known.reasons.values())


def test_options_are_declared_in_their_areas() -> None:
    parts = {"__init__", "_declare", "checks", "document", "flink_keys"}
    modules = {path.stem for path in TABLES.glob("*.py")} - parts
    assert {module.__name__.rpartition(".")[2] for module in AREAS.values()} == modules
    declared = sum(
        len(re.findall(r"^[A-Z_]+: Final = [a-z]+\(", (TABLES / f"{m}.py").read_text(), re.M))
        for m in modules
    )
    assert declared == len(OPTIONS), "two options have one key"


def test_no_key_stands_outside_the_tables() -> None:
    names = set(OPTIONS) | set(PRESENT_NAMES)
    found = [
        f"{path.relative_to(SOURCES)}:{node.lineno}: {node.value}"
        for path in SOURCES.rglob("*.py")
        if TABLES not in path.parents
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


def test_the_page_of_the_documentation_is_current() -> None:
    written = SOURCES.parents[1] / "docs" / "configuration.md"
    assert written.read_text() == page(), (
        "python -m firesteel.common.options.document > docs/configuration.md"
    )


def test_a_key_is_explained() -> None:
    about = described("state.backend")
    assert (about["present name"], about["default"]) == ("state.backend.type", "hashmap")
    assert described("firesteel.epoch.max-recods")["nearest"][0] == "firesteel.epoch.max-records"
    assert "spark.executor.cores" in described("taskmanager.numberOfTaskSlots")["description"]
    assert described("slotmanager.number-of-slots.max")["why"] == "Spark deploys and schedules the job"


ADDED = """
TEST_NAP: Final = duration("firesteel.test.nap", 5, "How long a test naps.", since="9.9")
"""
KNOWN = """
import sys
from firesteel.common import Configuration
from firesteel.common.options import OPTIONS
from firesteel.common.options.checks import check
from firesteel.common.options.document import page
from firesteel.cli import main

option = OPTIONS["firesteel.test.nap"]
configuration = Configuration()
assert configuration.get(option) == 5
configuration.set_string("firesteel.test.nap", "2 s")
check(configuration)
assert configuration.get(option) == 2000
assert "`firesteel.test.nap`" in page() and "How long a test naps." in page()
configuration.set_string("firesteel.test.nep", "2 s")
try:
    check(configuration)
except Exception as error:
    assert "firesteel.test.nap" in str(error), error
else:
    raise AssertionError("a misspelt key passed")
sys.exit(main(["config", "firesteel.test.nap"]))
"""


def test_one_entry_in_a_table_is_all_that_an_option_needs(tmp_path: Path) -> None:
    """It is parsed, documented, shown by ``firesteel config``, and proposed to who misspells it."""
    copy = tmp_path / "firesteel"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "common" / "options" / "firesteel.py").open("a") as table:
        table.write(ADDED)
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", KNOWN],
        capture_output=True,
        text=True,
        env=variables,
        cwd=tmp_path,
        timeout=patience(60),
    )
    assert done.returncode == 0, done.stderr
    assert "How long a test naps." in done.stdout
    assert "9.9" in done.stdout


@pytest.mark.row("S-NET-10", "S-NET-13", "S-NET-14", "S-FAIL-08", "S-SLOT-26", "S-SLOT-16")
@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("execution.batch-shuffle-mode", "Spark schedules"),
        ("shuffle-service-factory.class", "Spark deploys and schedules"),
        ("jobmanager.execution.failover-strategy", "a job restarts as a whole"),
        ("heartbeat.rpc-failure-threshold", "Spark deploys and schedules"),
        ("execution.state-recovery.from-local", "are always used"),
        ("taskmanager.network.memory.buffer-debloat.enabled", "no network buffers"),
        ("taskmanager.network.memory.read-buffer.required-per-gate.max", "no network buffers"),
        ("taskmanager.memory.segment-size", "Spark's exchange"),
    ],
)
def test_what_spark_does_is_said_to_have_no_effect(key: str, why: str) -> None:
    found = examine(key)
    assert found.verdict is Verdict.NO_EFFECT
    assert found.why is not None
    assert why in found.why
