"""What the documentation shows passes mypy in a program of a user."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from firesteel.common import Duration, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner

def at(value: tuple[str, int], record_timestamp: int) -> int:
    return value[1]

class Second(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]

strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
strategy.with_timestamp_assigner(lambda row, _: row[1])
strategy.with_timestamp_assigner(at)
strategy.with_timestamp_assigner(Second())
"""


def test_timestamp_assigners_are_functions_and_objects(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--follow-imports=silent", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
