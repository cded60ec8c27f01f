"""Two commits compared by instructions: what Valgrind says is read, and its program runs without Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.environments import EARLIER, OURS, Environments
from benchmarks.instructions import compare_by_instructions
from benchmarks.measure import PROGRAMS, System

# Stands in for Valgrind, which is not on each machine that runs tests: 7 instructions for a record, 8 for one
# of the commit that has no time limit of epochs, and a million for what every run costs.
VALGRIND = """#!/usr/bin/env python3
import sys
words = sys.argv
sizes = [int(word) for word in words[words.index("--records") + 1 :]]
each = 7 if "firesteel.epoch.time-limit=false" in words else 8
print(f"==1== I   refs:      {1_000_000 + each * sum(sizes):,}", file=sys.stderr)
"""


def systems() -> tuple[System, System]:
    ours, earlier = (System(where, where, "keyed_count.py", 1_000) for where in (OURS, EARLIER))
    return ours, earlier


def test_the_difference_of_two_jobs_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = tmp_path / "valgrind"
    stand_in.write_text(VALGRIND)
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    found = compare_by_instructions("a", *systems(), 0.95, Environments({}, counting=True))
    assert (found.ours_values, found.peer_values) == ([7], [8])
    assert found.met


def test_without_valgrind_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="apt install valgrind"):
        compare_by_instructions("a", *systems(), 0.95, Environments({}, counting=True))


def test_a_program_for_pyflink_runs_in_one_process() -> None:
    command = [sys.executable, "in_one_process.py", "keyed_count.py", "--keys", "7", "--records", "50", "100"]
    done = subprocess.run(command, cwd=PROGRAMS, capture_output=True, text=True)
    assert [json.loads(line)["records"] for line in done.stdout.splitlines()] == [50, 100], done.stderr
