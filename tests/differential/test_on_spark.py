"""Some of the programs on Spark itself, in one session: that they run there as they do in one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.support import firesteel, run

from .comparison import HERE, PROGRAMS, comparable
from .test_differential import OF_WORKERS, expected

pytestmark = pytest.mark.spark

# Here no watermark comes between the last record and the end of the input, so these are programs whose output
# does not tell whether one did.
SAMPLE = (
    *("window_tumbling", "window_state", "window_batch_one_key", "window_types"),
    *("state_map", "rolling", "side_output", "connect_keyed", "broadcast_keyed"),
    *("keys", "partition_custom", "async_ordered"),
    *OF_WORKERS,
)


@pytest.mark.row("S-SPARK-06", "S-SPARK-13")
def test_programs_on_spark(tmp_path: Path) -> None:
    settings = ("-D", "firesteel.epoch.max-records=1")  # so that a watermark comes after each record
    done = run(
        firesteel("run", "--pyflink", *settings, HERE / "several.py", *SAMPLE), tmp_path, timeout_s=280
    )
    assert (done.code, done.complaints) == (0, "")
    printed = dict(part.split("\n", 1) for part in done.out.removeprefix("== ").split("\n== "))
    assert {n: comparable(PROGRAMS[n], printed[n]) for n in SAMPLE} == {n: expected(n) for n in SAMPLE}
