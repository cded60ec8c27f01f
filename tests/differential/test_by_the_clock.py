"""Programs that depend on the clock, on Spark in real time: they print what they print under PyFlink."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.support import firesteel, run
from tests.waiting import Standstills

from .comparison import BY_THE_CLOCK, REFERENCE, comparable

pytestmark = pytest.mark.spark

STANDSTILL_S = 0.4  # groups of records come as long after the beginning of a window
MOST_RUNS = 4


@pytest.mark.parametrize("name", BY_THE_CLOCK)
def test_a_program_by_the_clock(name: str, tmp_path: Path) -> None:
    """The settings are those of the program, apart from one that is about PyFlink's bundles.

    The program leaves seconds between what it tells apart. Where the machine stood still for a part of them,
    what is printed says nothing about us, and it is run again.
    """
    program = BY_THE_CLOCK[name]
    real_time = ("-D", "execution.mode=real-time")
    expected = (REFERENCE / "by_the_clock" / f"{name}.txt").read_text("utf-8").splitlines()
    for _ in range(MOST_RUNS):
        with Standstills() as standstills:
            done = run(firesteel("run", "--pyflink", "--quiet", *real_time, program), tmp_path, timeout_s=280)
        assert done.code == 0, done.complaints
        if comparable(program, done.out) == expected or standstills.longest_s < STANDSTILL_S:
            break
    assert comparable(program, done.out) == expected
