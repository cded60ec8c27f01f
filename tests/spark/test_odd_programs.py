"""What comes of odd programs on Spark: the same as without it, which ``tests/odd`` has many more of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.datastream import StreamExecutionEnvironment
from tests.odd.core import Case, Here, outcome_of, read_expected
from tests.odd.tables import CASES
from tests.spark.conftest import MakeEnvironment

pytestmark = pytest.mark.spark

# What Spark, its JVM or its worker processes might take differently.
NAMES = (
    "a job whose name is 10,000 letters",
    "a job whose name is with a NUL",
    "an operator whose uid is with a NUL",
    "a chain of 2,000 maps",
    "a generator as a record through an exchange",
    "an object whose special methods raise through an exchange",
    "an object that cannot be unpickled through an exchange",
    "a list 100,000 levels deep through an exchange",
    "an int of 5,001 digits, declared as BIG_INT, through an exchange",
    "a map that recurses for ever",
    "a map that raises an exception whose text raises",
    "a flat_map that gives a number",
    "a function of a module",
)
CHOSEN = [case for case in CASES if case.name in NAMES]


class OnSpark(Here):
    """Cases run on the session of the tests."""

    def __init__(self, path: Path, make: MakeEnvironment) -> None:
        super().__init__(path)
        self._make = make

    def env(self, parallelism: Any = 1, **options: Any) -> StreamExecutionEnvironment:
        return self._make(parallelism, **{"restart-strategy.type": "none", **options})


def test_the_cases_are_there() -> None:
    assert sorted(case.name for case in CHOSEN) == sorted(NAMES)


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.id)
def test_the_outcome_is_the_same(case: Case, environment: MakeEnvironment, tmp_path: Path) -> None:
    assert outcome_of(case, OnSpark(tmp_path, environment)) == read_expected()[case.area, case.name]


def test_a_job_inside_of_a_function_is_refused(environment: MakeEnvironment, tmp_path: Path) -> None:
    """It would start another Spark in the worker. Without Spark there is one process, and it runs."""
    nested = next(case for case in CASES if case.name == "execute inside of a function")
    outcome = outcome_of(nested, OnSpark(tmp_path, environment))
    assert outcome == (
        "UnsupportedFeatureError: A job cannot be started inside of a function of another job. "
        "(the job fails in Map)"
    )
