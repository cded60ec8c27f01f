"""Case ``start``: from the command line to the end of a program that counts three words."""

from __future__ import annotations

import subprocess
import time

from benchmarks.cases import Measured, compare
from benchmarks.environments import OURS, Environments
from benchmarks.measure import PROGRAMS, Comparison, ProgramFailed

_TIMEOUT_S = 300


def start(environments: Environments, rounds: int) -> list[Comparison]:
    """Before it is measured each of them runs once: files are in memory, and the archive of classes is made
    (in the background: give it a minute)."""
    python = environments.python(OURS)
    command = [str(python.parent / "firesteel"), "run", "--quiet", "three_words.py"]
    run = _timed("firesteel run", command, environments)
    script = _timed("python, with firesteel", [str(python), "three_words.py"], environments)
    bare = _timed("bare PySpark, one Arrow job", [str(python), "bare_arrow.py"], environments)
    for measured in (run, script, bare):
        measured.measure()
    results = []
    for ours in (run, script):
        results += compare(f"start: {ours.name}", "s", False, ours, [(bare, 0.8)], rounds)
    return results


def _timed(name: str, command: list[str], environments: Environments) -> Measured:
    def measure() -> float:
        begun = time.monotonic()
        done = subprocess.run(
            command,
            cwd=PROGRAMS,
            env=environments.variables(OURS),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
        )
        if done.returncode or not done.stdout:
            raise ProgramFailed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-1000:]}")
        return time.monotonic() - begun

    return Measured(name, measure)
