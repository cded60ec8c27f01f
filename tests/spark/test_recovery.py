"""A driver that dies on Spark: the next one goes on with the job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobmanager.programs.sqlite_sink import lines_in, staged_in
from tests.waiting import patience, until

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "programs" / "recovering.py"
RECORDS = 2000


def start(directory: Path) -> subprocess.Popen[str]:
    options = {
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.dir": str(directory / "checkpoints"),
        "firesteel.epoch.max-records": "100",
    }
    definitions = [word for key, value in options.items() for word in ("-D", f"{key}={value}")]
    command = [
        "run",
        "--quiet",
        "--master",
        "local[2,4]",
        "-p",
        "2",
        "--from-checkpoint",
        "latest",
        *definitions,
    ]
    arguments = [*command, str(PROGRAM), str(directory / "out"), str(RECORDS)]
    return subprocess.Popen(
        [sys.executable, "-c", "from firesteel.cli import main; main()", *arguments],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )


def checkpoint_of(directory: Path, claim: int, process: subprocess.Popen[str]) -> None:
    """Wait for a checkpoint of the driver with this number."""
    pattern = "*/chk-*/_metadata" if claim == 1 else f"*/chk-*-{claim}/_metadata"

    def is_there() -> bool:
        assert process.poll() is None, process.stdout.read() if process.stdout else ""
        return bool(list((directory / "checkpoints").glob(pattern)))

    until(is_there, "no checkpoint has come", 120, look_s=0.05)


def kill(process: subprocess.Popen[str]) -> None:
    """The driver with its JVM and its workers, as when the machine is gone."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=patience(30))  # and close what it wrote to


def test_the_next_driver_goes_on_after_a_kill(tmp_path: Path) -> None:
    for claim in (1, 2):
        process = start(tmp_path)
        try:
            checkpoint_of(tmp_path, claim, process)
        finally:
            kill(process)
    process = start(tmp_path)
    try:
        output, _ = process.communicate(timeout=patience(240))
    finally:
        if process.poll() is None:
            kill(process)
    assert process.returncode == 0, output
    lines = sorted(line for p in (tmp_path / "out").rglob("part-*") for line in p.read_text().splitlines())
    counts = dict.fromkeys(range(7), 0)
    expected = []
    for number in range(RECORDS):
        counts[number % 7] += 1
        expected.append(f"{number % 7} {counts[number % 7]}")
    assert lines == sorted(expected)
    database = str(tmp_path / "out.db")
    assert lines_in(database, "lines") == sorted(expected)
    assert staged_in(database, "lines") == 0
    assert not list((tmp_path / "checkpoints").rglob("_metadata"))
