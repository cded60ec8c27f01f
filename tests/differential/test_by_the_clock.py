"""Programs that depend on the clock, on Spark in real time: they print what they print under PyFlink."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.support import firesteel, run

from .comparison import BY_THE_CLOCK, REFERENCE, comparable

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", BY_THE_CLOCK)
def test_a_program_by_the_clock(name: str, tmp_path: Path) -> None:
    """The settings are those of the program, apart from one that is about PyFlink's bundles."""
    program = BY_THE_CLOCK[name]
    real_time = ("-D", "execution.mode=real-time")
    done = run(firesteel("run", "--pyflink", "--quiet", *real_time, program), tmp_path, timeout_s=280)
    assert done.code == 0, done.complaints
    expected = (REFERENCE / "by_the_clock" / f"{name}.txt").read_text("utf-8").splitlines()
    assert comparable(program, done.out) == expected
