"""Some of the programs on Spark itself, in one session: that they run there as they do in one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from .comparison import PROGRAMS, comparable
from .in_one_process import run_several
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
    printed = run_several([PROGRAMS[name] for name in SAMPLE], tmp_path, *settings)
    found = {name: comparable(PROGRAMS[name], printed[PROGRAMS[name]]) for name in SAMPLE}
    assert found == {name: expected(name) for name in SAMPLE}
