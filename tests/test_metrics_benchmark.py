"""The program of the benchmark of metrics, in small."""

from __future__ import annotations

from benchmarks.cases import by_value
from benchmarks.environments import OURS, Environments
from benchmarks.measure import System

SMALL = ("--parallelism", "4", "--pairs", "6", "--short", "400", "--records", "4000", "--long-epochs", "5")


def test_what_the_program_measures_is_read() -> None:
    system = System("with metrics", OURS, "many_subtasks.py", arguments=SMALL)
    assert by_value(system, Environments({}), "throughput").measure() > 0
    assert by_value(system, Environments({}), "subtasks").measure() == 8
