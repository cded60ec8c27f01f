"""Two commits of ours by the instructions that a record takes: the one figure that other work on the machine,
and what a process happened to get from it, do not change.

A program runs in one process, on the mini cluster that needs no Spark, under Valgrind, which counts. So it
says what our code and the libraries below it do for a record, and nothing of Spark or of two cores.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from typing import Final

from benchmarks.environments import OURS, Environments
from benchmarks.measure import PROGRAMS, Comparison, ProgramFailed, System

#: Epochs of both commits are to be alike, whatever their clocks say.
_EPOCHS: Final = ("--config", "firesteel.epoch.max-records=10000")
_NO_TIME_LIMIT: Final = ("--config", "firesteel.epoch.time-limit=false")  # of ours: 316d02d knows no limit
_VALGRIND: Final = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")


def compare_by_instructions(
    case: str, ours: System, earlier: System, target: float, environments: Environments
) -> Comparison:
    """:param target: the share that is to be left of the records that a number of instructions does."""
    unit = "instructions/rec"
    result = Comparison(case, ours.name, earlier.name, unit, [], [], 1 / target, at_least=False)
    try:
        result.ours_values.append(_for_a_record(_with(ours, *_EPOCHS, *_NO_TIME_LIMIT), environments))
        result.peer_values.append(_for_a_record(_with(earlier, *_EPOCHS), environments))
    except ProgramFailed as failure:
        result.error = str(failure)
    return result


def _with(system: System, *more: str) -> System:
    return replace(system, arguments=(*system.arguments, *more))


def _for_a_record(system: System, environments: Environments) -> float:
    """The difference of two runs: of a job of n records, and of that and one of 2n."""
    n = system.records
    short, long = (_counted(system, environments, [n // 10, n, *more]) for more in ([], [2 * n]))
    # The longer run has the fixed part of one job more: some percent of it, in both commits.
    return (long - short) / (2 * n)


def _counted(system: System, environments: Environments, sizes: list[int]) -> int:
    if shutil.which(_VALGRIND[0]) is None:
        raise SystemExit("instructions are counted by Valgrind: install it (apt install valgrind)")
    python = environments.python(OURS)
    script = [str(python), "in_one_process.py", system.program, *system.arguments]
    command = [*_VALGRIND, *script, "--records", *map(str, sizes)]
    variables = environments.variables(system.environment) | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=PROGRAMS, env=variables, capture_output=True, text=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or found is None:
        raise ProgramFailed("\n".join((done.stdout + done.stderr).strip().splitlines()[-12:]))
    return int(found[1].replace(",", ""))
