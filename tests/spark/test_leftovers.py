"""What a program leaves in the directory for temporary files, however it ends: nothing once the next one has
started, but for the log of Spark where that died."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.spark.support import PROGRAMS, Program, firesteel, started

pytestmark = pytest.mark.spark

NEXT = "from firesteel.storage.process_directory import process_directory; process_directory()"
OPTIONS = ("-D", "firesteel.epoch.max-records=20", "-D", "restart-strategy.type=none", "-p", "2")


@pytest.fixture
def temporary() -> Iterator[Path]:
    """As short as the usual one, for the sockets of Spark's workers have their place in it too."""
    directory = tempfile.mkdtemp(prefix="l", dir="/tmp")
    yield Path(directory)
    shutil.rmtree(directory, ignore_errors=True)


def left_by(
    temporary: Path, work: Path, seconds: float, strike: Callable[[Program], None] | None
) -> tuple[list[str], list[str]]:
    """The files that a program has left that *strike* ends, and those that are there when another one has
    started."""
    command = firesteel("run", *OPTIONS, PROGRAMS / "leaves.py", str(seconds))
    with started(command, work, {"TMPDIR": str(temporary)}) as program:
        program.wait_for(lambda lines: bool(lines))
        assert any(temporary.glob("firesteel-*/jvm/*")), "Spark's own files"
        if strike is not None:
            strike(program)
        ended = program.end()
    assert ended.code == 0 or strike is not None, ended.err
    there = files(temporary)
    environment = os.environ | {"TMPDIR": str(temporary)}
    subprocess.run([sys.executable, "-c", NEXT], env=environment, check=True)
    return there, files(temporary)


def files(temporary: Path) -> list[str]:
    return sorted(path.name for path in temporary.rglob("*") if not path.name.startswith("hsperfdata"))


def kill_jvm(program: Program) -> None:
    (java,) = (process for process in program.processes() if "java" in process.name())
    java.send_signal(signal.SIGKILL)


def kill_all(program: Program) -> None:
    """As when memory runs out and the system takes everything: no process can tidy up."""
    for process in program.processes():
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def by(number: signal.Signals) -> Callable[[Program], None]:
    return lambda program: program.signal(number)


@pytest.mark.parametrize(
    "how", [None, by(signal.SIGINT), by(signal.SIGTERM)], ids=["end", "SIGINT", "SIGTERM"]
)
def test_a_program_that_ends_in_order_leaves_nothing(
    temporary: Path, tmp_path: Path, how: Callable[[Program], None] | None
) -> None:
    there, later = left_by(temporary, tmp_path, 2 if how is None else 60, how)
    assert (there, later) == ([], [])


@pytest.mark.parametrize("how", [by(signal.SIGKILL), kill_all], ids=["driver", "all"])
def test_what_a_killed_program_has_left_goes_with_the_next_start(
    temporary: Path, tmp_path: Path, how: Callable[[Program], None]
) -> None:
    there, later = left_by(temporary, tmp_path, 60, how)
    assert any(name.startswith("firesteel-") for name in there)
    assert later == []


def test_of_a_program_whose_jvm_was_killed_only_sparks_log_stays(temporary: Path, tmp_path: Path) -> None:
    there, later = left_by(temporary, tmp_path, 60, kill_jvm)
    assert later == there
    directory, marker, log = there[1], there[0], there[2]
    assert directory.startswith("firesteel-")
    assert (marker, log) == (".firesteel-kept", "spark.log")
