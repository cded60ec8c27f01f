"""Sizes by Flink's rules: what its own tools print for the same settings, and what Spark is given."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

from firesteel.cli import main
from firesteel.cli._memory import report
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.memory_budget import budget_of, executor_settings, managed_state, notices, unmet
from firesteel.spark.settings import session_settings, settings_of

MIB = 1 << 20
CLUSTER = {"spark.master": "spark://host:7077"}


def of(**settings: str) -> Configuration:
    names = {key.replace("__", "-").replace("_", "."): value for key, value in settings.items()}
    return Configuration.from_dict({f"taskmanager.memory.{key}": value for key, value in names.items()})


@pytest.mark.row("S-MEM-06", "S-CFG-12")
def test_the_default_of_flink_s_configuration_file_is_divided_as_flink_does() -> None:
    # What Flink logs at its start with taskmanager.memory.process.size: 1728m.
    budget = budget_of(of(process_size="1728m"))
    assert budget is not None
    assert [(name, size) for _, name, size in budget.lines()] == [
        ("Total Process Memory", 1811939328),
        ("Total Flink Memory", 1342177280),
        ("Total JVM Heap Memory", 536870902),
        ("Framework", 134217728),
        ("Task", 402653174),
        ("Total Off-heap Memory", 805306378),
        ("Managed", 536870920),
        ("Total JVM Direct Memory", 268435458),
        ("Framework", 134217728),
        ("Task", 0),
        ("Network", 134217730),
        ("JVM Metaspace", 268435456),
        ("JVM Overhead", 201326592),
    ]


@given(st.integers(1536, 1 << 16), st.floats(0.0, 0.5), st.integers(1, 16))
@pytest.mark.row("S-SLOT-04")
def test_the_parts_add_up(process_mib: int, managed: float, slots: int) -> None:
    configuration = of(process_size=f"{process_mib}m", managed_fraction=str(managed))
    configuration.set_string("taskmanager.numberOfTaskSlots", str(slots))
    budget = budget_of(configuration)
    assert budget is not None
    assert budget.process == process_mib * MIB
    sizes = [
        size for depth, name, size in budget.lines() if name in ("Framework", "Task", "Network", "Managed")
    ]
    assert sum(sizes) == budget.flink
    assert budget.managed_per_slot == budget.managed // slots


@pytest.mark.row(
    "S-MEM-01", "S-MEM-04", "S-CFG-13", "S-CFG-15", "S-CFG-16", "S-SLOT-02", "S-NET-10", "S-CFG-02"
)
def test_executors_get_what_is_asked_for() -> None:
    configuration = of(task_heap_size="1g", managed_size="1g", task_off__heap_size="128m")
    configuration.add_all(Configuration.from_dict(CLUSTER | {"taskmanager.numberOfTaskSlots": "4"}))
    budget = budget_of(configuration)
    assert budget is not None
    settings = executor_settings(configuration)
    assert settings["spark.executor.pyspark.memory"] == "2048m"
    assert settings["spark.executor.cores"] == "4"
    overhead = budget.overhead + budget.metaspace + (128 + 128) * MIB
    assert settings["spark.executor.memoryOverhead"] == f"{-(-overhead // MIB)}m"
    heap = max(budget.framework_heap + budget.network, 450 * MIB)
    assert settings["spark.executor.memory"] == f"{-(-heap // MIB)}m"


@pytest.mark.row(
    "S-MEM-01", "S-MEM-03", "S-MEM-04", "S-CFG-13", "S-CFG-14", "S-CFG-15", "S-CFG-16", "S-MEM-02", "S-CFG-12"
)
@pytest.mark.parametrize(
    ("part", "sizes", "spark_s", "before", "after"),
    [
        ("task.heap.size", ("1g", "2g"), "pyspark.memory", "2048m", "3072m"),
        ("managed.size", ("1g", "1536m"), "pyspark.memory", "2048m", "2560m"),
        ("network.fraction", ("0.1", "0.2"), "memory", "538m", "948m"),
        ("task.off-heap.size", ("0m", "128m"), "memoryOverhead", "697m", "841m"),
        ("jvm-overhead.fraction", ("0.1", "0.2"), "memoryOverhead", "868m", "1408m"),
    ],
)
def test_each_part_is_in_the_settings_that_a_session_is_started_with(
    part: str, sizes: tuple[str, str], spark_s: str, before: str, after: str
) -> None:
    total = {"flink.size": "4g"} if "fraction" in part else {"task.heap.size": "1g", "managed.size": "1g"}
    found = []
    for size in sizes:
        memory = {f"taskmanager.memory.{key}": value for key, value in (total | {part: size}).items()}
        settings = session_settings(settings_of(Configuration.from_dict(CLUSTER | memory)))
        found.append(settings[f"spark.executor.{spark_s}"])
    assert found == [before, after]


@pytest.mark.row("S-CFG-12")
def test_the_managed_memory_of_a_slot_is_a_share_of_a_slot() -> None:
    configuration = of(flink_size="1g", managed_fraction="0.4")
    configuration.set_string("taskmanager.numberOfTaskSlots", "2")
    budget = budget_of(configuration)
    assert budget is not None
    assert budget.managed_per_slot >> 20 == 204
    assert "managed memory of each: 204.800mb" in "\n".join(report(configuration))


@pytest.mark.row("S-MEM-01", "S-MEM-02", "S-MEM-04")
def test_an_application_that_was_started_with_other_sizes_is_told_of() -> None:
    asked = of(process_size="4g").add_all(Configuration.from_dict({"taskmanager.numberOfTaskSlots": "4"}))
    started = executor_settings(Configuration(asked).add_all(Configuration.from_dict(CLUSTER)))
    assert unmet(asked, CLUSTER | started) == []
    heap = f"{int(started['spark.executor.memory'][:-1]) << 10}k"
    assert unmet(asked, CLUSTER | started | {"spark.executor.memory": heap}) == []
    assert unmet(asked, CLUSTER | started | {"spark.executor.cores": "2"}) == [
        "spark.executor.cores is 2, and not 4 as taskmanager.* asks for: "
        "it counts from when the session is created"
    ]
    assert len(unmet(asked, CLUSTER)) == len(started) == 4
    assert unmet(asked, {"spark.master": "local[2]"}) == [], "there are no executors"


@pytest.mark.row("S-MEM-05")
@pytest.mark.parametrize(("share", "mib"), [("0.1", 410), ("0.2", 820), ("0.01", 192), ("0.4", 1024)])
def test_the_overhead_is_a_share_within_its_limits(share: str, mib: int) -> None:
    configuration = of(process_size="4096m", jvm__overhead_fraction=share)
    budget = budget_of(configuration)
    assert budget is not None
    assert -(-budget.overhead // MIB) == mib
    configuration.add_all(Configuration.from_dict(CLUSTER))
    (overhead,) = re.findall(r"^(\d+)m$", executor_settings(configuration)["spark.executor.memoryOverhead"])
    others = budget.metaspace + budget.framework_off_heap + budget.task_off_heap
    assert int(overhead) == -(-(budget.overhead + others) // MIB)


def test_spark_s_own_settings_win_and_are_told_of() -> None:
    configuration = of(process_size="4g").add_all(
        Configuration.from_dict(CLUSTER | {"spark.executor.memory": "3g"})
    )
    assert "spark.executor.memory" not in executor_settings(configuration)
    assert notices(configuration) == [
        "taskmanager.memory.* has no effect on spark.executor.memory, which is set"
    ]


@pytest.mark.row("S-MEM-03", "S-CFG-14")
def test_parts_without_a_total_are_told_of() -> None:
    configuration = of(network_fraction="0.2")
    assert budget_of(configuration) is None
    (said,) = notices(configuration)
    assert said.startswith("taskmanager.memory.network.fraction: no effect without a total")


def test_with_a_local_master_there_are_no_executors() -> None:
    configuration = of(process_size="4g")
    assert executor_settings(configuration) == {}
    assert "no executors" in notices(configuration)[0]


@pytest.mark.row("S-CFG-11", "S-BACK-20", "S-MEM-02", "S-SLOT-04")
def test_managed_memory_bounds_the_state_of_all_processes_of_an_executor() -> None:
    configuration = of(flink_size="4g", managed_size="1g")
    configuration.set_string("taskmanager.numberOfTaskSlots", "4")
    managed = managed_state(configuration)
    assert managed is not None
    assert managed.share(managed.processes, 4) << 4 == 1 << 30  # four processes, each may have four subtasks
    assert managed.share(6, 2) == (1 << 30) // 12  # six have two for themselves
    configuration.set_string("state.backend.rocksdb.memory.managed", "false")
    assert managed_state(configuration) is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"flink_size": "100m"}, "larger than it"),
        ({"process_size": "300m"}, "larger than it"),
        ({"process_size": "2g", "managed_fraction": "1.5"}, "a share from 0 to below 1"),
        (
            {"task_heap_size": "1g", "managed_size": "1g", "flink_size": "8g", "network_max": "1g"},
            "out of its range",
        ),
        ({"process_size": "2g", "network_min": "2g", "network_max": "1g"}, "is more than"),
    ],
)
def test_sizes_that_contradict_each_other(settings: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        budget_of(of(**settings))


def test_the_command() -> None:
    arguments = ["memory", "--master", "spark://host:7077", "-D", "taskmanager.memory.process.size=1728m"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "Total Process Memory:             1.688gb (1811939328 bytes)" in done.output
    assert "  spark.executor.pyspark.memory=896m" in done.output
    wrong = CliRunner().invoke(main, ["memory", "-D", "taskmanager.memory.process.size=64m"])
    assert wrong.exit_code == 1
    assert "larger than it" in wrong.output


@pytest.mark.row("S-SLOT-30")
def test_the_command_tells_of_what_has_no_effect() -> None:
    arguments = [
        "memory",
        "-D",
        "jobmanager.memory.process.size=1g",
        "-D",
        "taskmanager.memory.segment-size=64kb",
    ]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "jobmanager.memory.process.size has no effect: the job master is in the driver" in done.output
    assert "taskmanager.memory.segment-size has no effect: records cross by Spark's exchange" in done.output
