"""Executors of their own: one is killed, one hangs; nothing is lost and nothing is doubled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spark.programs import killed_executor, straggler
from tests.spark.support import python, run

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("killed")
    done = run(python("killed_executor.py", folder), folder, timeout_s=200)
    assert done.code == 0, done.err
    return json.loads(done.lines[-1])  # type: ignore[no-any-return]


@pytest.mark.parametrize("routing", killed_executor.ROUTINGS)
@pytest.mark.row("S-FAIL-08", "S-FAIL-14", "S-SLOT-26")
def test_an_executor_is_killed_after_the_first_result_task(killed: dict[str, Any], routing: str) -> None:
    outcome = killed[routing]
    assert outcome["killed"], "no executor was killed"
    assert outcome["status"] == "FINISHED"
    assert outcome["values"] == list(range(killed_executor.RECORDS)), "lost or doubled"
    assert outcome["first"] == killed_executor.KEYS, "each key was counted from one"
    assert sum(count for _, (count, _) in outcome["last"]) == killed_executor.RECORDS or routing == "random"


@pytest.mark.row("S-NET-04", "S-LIB-02", "S-DEPLOY-04", "S-ARCH-07", "S-FAIL-09", "S-HA-11")
def test_the_result_of_a_deterministic_program_is_unchanged(killed: dict[str, Any]) -> None:
    found, silent = (
        {key: tuple(totals) for key, totals in killed[routing]["last"]}
        for routing in ("deterministic", "silent")
    )
    expected = {
        key: (len(values), sum(values))
        for key in range(killed_executor.KEYS)
        for values in [range(key, killed_executor.RECORDS, killed_executor.KEYS)]
    }
    assert found == silent == expected
    assert killed["deterministic"]["attempts"] == [1, 1], "Spark ran the lost tasks again, not the epoch"


@pytest.mark.row("S-CTRL-14", "S-CTRL-15", "S-SLOT-01", "S-FAIL-14", "S-SLOT-26", "S-METR-11")
def test_executors_are_listed_while_they_live(killed: dict[str, Any]) -> None:
    """Of two one was killed, or was silent, and Spark has started another one in its place."""
    for routing in killed_executor.ROUTINGS:
        before, after = killed[routing]["executors"]
        assert (len(before), len(after)) == (2, 2)
        assert len({*before} & {*after}) == 1


def test_an_epoch_that_is_not_deterministic_is_run_again_as_a_whole(killed: dict[str, Any]) -> None:
    assert killed["random"]["attempts"] == [2, 1]


def test_a_task_that_hangs_is_overtaken_by_its_copy(tmp_path: Path) -> None:
    done = run(python("straggler.py", tmp_path), tmp_path)
    assert done.code == 0, done.err
    outcome = json.loads(done.lines[-1])
    assert outcome["is_copied"], "the task was not run a second time"
    assert outcome["elapsed_s"] < straggler.HANGS_S
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not [path.name for path in written if path.name.startswith(".")]
    lines = [line for path in written for line in path.read_text().splitlines()]
    expected = [
        str((value, sum(range(value % straggler.KEYS, value + 1, straggler.KEYS))))
        for value in range(straggler.RECORDS)
    ]
    assert sorted(lines) == sorted(expected)
    assert outcome["has_ended"]
    rows = [map(int, line.split()) for line in (tmp_path / "latest").read_text().splitlines()]
    assert dict(rows) == {
        key: sum(range(key, straggler.RECORDS, straggler.KEYS)) for key in range(straggler.KEYS)
    }
