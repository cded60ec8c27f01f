"""Drivers that are killed at every point of a checkpoint: the output is that of an undisturbed run."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from firesteel.jobmanager.checkpoints.results import RESULT
from firesteel.jobmanager.checkpoints.storage import METADATA
from tests.budget import examples, seed_of
from tests.jobmanager.programs.fault_points import LAST_POINTS, LOCAL_POINTS, POINTS
from tests.jobmanager.programs.sqlite_sink import lines_in, staged_in
from tests.waiting import patience

ROOT = Path(__file__).parents[2]


def run(directory: Path, *options: str) -> int:
    """The exit code of a driver that goes on with the job in ``directory``."""
    arguments = [str(directory / "checkpoints"), str(directory / "output"), *options]
    done = subprocess.run(
        [sys.executable, "-m", "tests.jobmanager.programs.killed", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=patience(120),
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])},
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def stopped(directory: Path, *options: str) -> int:
    """The same of one whose job is stopped with a savepoint."""
    return run(directory, "--savepoints", str(directory / "savepoints"), *options)


def output(directory: Path) -> list[str]:
    """What a reader sees, sorted: hidden files are left out."""
    files = [p for p in (directory / "output").rglob("*") if p.is_file()]
    shown = [p for p in files if not any(part.startswith(".") for part in p.relative_to(directory).parts)]
    found = []
    for path in shown:
        name, bucket = path.relative_to(directory).parts[1:3]
        place = f"{name} {bucket}" if bucket.startswith("key=") else name
        found += [f"{place} {line}" for line in path.read_text().splitlines()]
    return sorted(found)


def records(lines: list[str]) -> list[str]:
    """Without their directories, as the database has them."""
    return sorted(re.sub(r" key=\w+", "", line) for line in lines)


def in_database(directory: Path) -> list[str]:
    """The same of the two-phase sinks; nothing may be left that is staged."""
    found = []
    for table in ("numbered", "windowed"):
        path = str(directory / "output" / f".{table}.db")
        assert staged_in(path, table) == 0
        found += [f"{table} {line}" for line in lines_in(path, table)]
    return sorted(found)


@cache
def undisturbed(directory: Path) -> list[str]:
    assert run(directory) == 0
    assert in_database(directory) == records(output(directory))
    return output(directory)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    lines = undisturbed(tmp_path_factory.mktemp("undisturbed"))
    assert sum(line.startswith("numbered") for line in lines) == 240 + 5
    assert sum(line.startswith("windowed") for line in lines) == 30
    assert all(line.split()[1][4:] in line.split()[2] for line in lines if line.startswith("windowed"))
    return lines


@pytest.mark.parametrize("point", POINTS | LOCAL_POINTS)
@pytest.mark.row("S-CKPT-17", "S-SINK-01", "S-SINK-05", "T24")
def test_a_driver_killed_at_a_point_loses_and_doubles_nothing(
    tmp_path: Path, point: str, expected: list[str]
) -> None:
    """Twice in a row at the point, at other times each; then the job runs to its end."""
    killed = [run(tmp_path, "--dies", point, str(count)) for count in (1, 3)]
    assert killed[0] == -signal.SIGKILL, "the point was passed"
    if killed[-1] != 0:
        assert run(tmp_path) == 0
    assert output(tmp_path) == expected
    assert in_database(tmp_path) == records(expected)
    assert not list((tmp_path / "checkpoints").rglob(METADATA)), "a job that has finished leaves nothing"


@pytest.mark.parametrize(
    "point", ["after the manifest", "before the end", "after the end, before it is recorded"]
)
@pytest.mark.row("S-SINK-01", "S-SAVE-05")
def test_a_driver_killed_while_its_job_is_stopped_loses_and_doubles_nothing(
    tmp_path: Path, point: str, expected: list[str]
) -> None:
    """Nobody knows that it was stopped: who goes on with it goes on from the last checkpoint, with sinks that
    have made visible all that they had, perhaps."""
    assert stopped(tmp_path, "--dies", point, "1") == -signal.SIGKILL, "the point was passed"
    assert run(tmp_path) == 0
    assert output(tmp_path) == expected
    assert in_database(tmp_path) == records(expected)


@pytest.mark.parametrize("point", LAST_POINTS)
@pytest.mark.parametrize("start", [run, stopped], ids=["to its end", "stopped"])
@pytest.mark.row("S-CKPT-17", "S-SINK-01", "S-HA-03")
def test_a_driver_killed_behind_the_end_of_its_job_is_followed_by_one_that_only_cleans_up(
    tmp_path: Path, point: str, start: Callable[..., int], expected: list[str]
) -> None:
    job_id = "0123456789abcdef" * 2
    directory = tmp_path / "checkpoints" / job_id
    assert start(tmp_path, "--job-id", job_id, "--dies", point, "1") == -signal.SIGKILL, "point was passed"
    assert (directory / "shared").exists()
    ended = output(tmp_path)
    assert (ended == expected) is (start is run)
    assert run(tmp_path, "--job-id", job_id) == 0
    assert output(tmp_path) == ended
    assert in_database(tmp_path) == records(ended)
    assert [path.name for path in directory.iterdir()] == [RESULT]
    assert not list((tmp_path / "output").rglob(".firesteel-*")), "sinks have removed their journals"


def test_a_driver_killed_again_and_again(tmp_path: Path, expected: list[str]) -> None:
    """At random points, the seed of which is in the name of the failure."""
    seed = seed_of("again and again")
    chance = random.Random(seed)
    deaths = []
    for _ in range(examples(6)):
        point, count = chance.choice(list(POINTS | LOCAL_POINTS)), chance.randrange(1, 6)
        deaths.append((point, count))
        if run(tmp_path, "--dies", point, str(count)) == 0:
            break
    else:
        assert run(tmp_path) == 0
    assert output(tmp_path) == expected, f"seed {seed}: {deaths}"
    assert in_database(tmp_path) == records(expected), f"seed {seed}: {deaths}"
