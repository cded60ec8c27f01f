"""The mini cluster on Spark, in a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.support import run

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("programs") / "clusters.py"
ONCE, TWICE = [[n % 5, n // 5 + 1] for n in range(10)], [[n % 5, n // 5 + 1] for n in range(20)]

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("clusters")
    command = [sys.executable, str(PROGRAM), "local[2,4]", "local-cluster[2,1,1024]"]
    done = run(command, folder, {"PYTHONPATH": str(ROOT)}, timeout_s=350)
    assert done.code == 0, done.err
    assert done.complaints == ""
    return json.loads(done.lines[-1])  # type: ignore[no-any-return]


@pytest.mark.parametrize("number", [0, 1], ids=["local", "local-cluster"])
@pytest.mark.row("S-TEST-03")
class TestCluster:
    def test_a_job_survives_the_loss_of_a_worker(self, outcomes: list[dict[str, Any]], number: int) -> None:
        outcome = outcomes[number]
        assert outcome["before"] == sorted(ONCE)
        assert outcome["after"] == sorted(TWICE)
        assert outcome["was a worker"]

    def test_it_has_a_session_of_its_own(self, outcomes: list[dict[str, Any]], number: int) -> None:
        """The second one takes its own settings: the JVM of the first one has ended."""
        master = ["local[2,4]", "local-cluster[2,1,1024]"][number]
        assert outcomes[number]["master"] == master
        assert outcomes[number]["app"] == f"test of {master}"
        assert "runs in this process already" in outcomes[number]["second"]

    def test_no_process_is_left(self, outcomes: list[dict[str, Any]], number: int) -> None:
        assert outcomes[number]["left"] == []
