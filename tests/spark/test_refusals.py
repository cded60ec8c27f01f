"""What can be seen before Spark starts is refused before Spark starts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.spark.support import PROGRAMS
from tests.waiting import patience

# case -> class of the error, operator, a part of what is said
EXPECTED: dict[str, tuple[str, str | None, str]] = {
    "unpicklable": ("UnpicklableFunctionError", "Map", "variable 'lock' (a lock)"),
    "unpicklable_later": ("UnpicklableFunctionError", "late", "variable 'late', the entry 'lock'"),
    "missing_path": ("PathNotFoundError", "Source: the file", "no/such/file.txt"),
    "wrong_type": ("TypeMismatchError", "Collection Source", "'two' does not fit the declared type"),
    "unstable_key": ("UnstableKeyError", "key_by", "no stable hash"),
    "output_is_a_file": ("ConfigurationError", "Sink: the sink", "is a file"),
    "taken_uid": ("ProgramError", "two", "'same' is taken"),
    "jars": ("UnsupportedFeatureError", "add_jars", "no JVM of Flink runs"),
    "unknown_option": ("ConfigurationError", None, "firesteel.epoch.lenght"),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, PROGRAMS / "refusals.py"],
        cwd=tmp_path_factory.mktemp("refusals"),
        capture_output=True,
        text=True,
        timeout=patience(60),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_every_case_is_tried(outcomes: dict[str, Any]) -> None:
    assert set(outcomes) == set(EXPECTED)


@pytest.mark.parametrize("case", EXPECTED)
def test_refused_before_spark_starts(outcomes: dict[str, Any], case: str) -> None:
    error, operator, words = EXPECTED[case]
    outcome = outcomes[case]
    assert outcome["error"] == error
    assert outcome["operator"] == operator
    assert words in outcome["text"]
    assert not outcome["spark"], "Spark was started for a program that cannot run"
    if case != "output_is_a_file":
        assert outcome["hint"], "says what to do"
