"""The units of the schedule are what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.schedule import UNITS, next_of, unit_of

ROOT = Path(__file__).parents[1]
TESTS = [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("tests/**/test_*.py"))]


@pytest.mark.parametrize("unit", UNITS)
def test_each_unit_has_tests(unit: str) -> None:
    for beginning in UNITS[unit]:
        assert any(path.startswith(beginning) and unit_of(path) == unit for path in TESTS), beginning


def test_what_starts_a_cluster_is_in_the_unit_that_does() -> None:
    marked = [path for path in TESTS if "pytest.mark.cluster" in (ROOT / path).read_text()]
    marked.remove("tests/test_schedule.py")
    assert marked
    assert {unit_of(path) for path in marked} == {"clusters"}


def test_a_file_is_a_unit_where_nothing_else_is_said() -> None:
    assert unit_of("tests/runtime/test_valve.py") == "tests/runtime/test_valve.py"
    assert unit_of("tests/spark/test_time.py") == unit_of("tests/spark/test_recovery.py") == "spark"


def test_two_workers_are_at_what_waits_and_a_third_at_what_works() -> None:
    units = ["tests/sql/test_faults.py", "odd inputs", "aws", "kafka"]
    assert next_of(units, 0) == next_of(units, 1) == "kafka"
    assert next_of(units, 2) == "odd inputs"
    assert next_of(units[:1], 2) == units[0]
    assert next_of(units[2:], 2) == "kafka", "there is nothing else to do"
