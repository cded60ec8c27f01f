"""Two commits of ours, job by job in turn: what a machine does for some seconds, it does to both.

Each program stays in its process for a round, with its Spark session warm, and runs a job for each number of
records that comes on its standard input. Each round has processes of its own: two of the same code differ by
some percent for as long as they live.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.environments import Environments
from benchmarks.measure import PROGRAMS, Comparison, ProgramFailed, System, end

_WARM_UP_JOBS = 3  # of full size: the JVM compiles what it runs often
_PAIRS_OF_A_ROUND = 4


def compare_in_turn(
    case: str, ours: System, earlier: System, target: float, environments: Environments, rounds: int
) -> Comparison:
    """By records a second, the starts of jobs included. ``rounds``: of four pairs of jobs each."""
    result = Comparison(case, ours.name, earlier.name, "rec/s", [], [], target, at_least=True)
    records = ours.records
    try:
        for _ in range(rounds):
            with ExitStack() as stack:
                both = [stack.enter_context(_running(system, environments)) for system in (ours, earlier)]
                for size in (records // 10, *[records] * _WARM_UP_JOBS):
                    for program in both:
                        program.seconds(size)
                for number in range(_PAIRS_OF_A_ROUND):
                    turns = both if number % 2 else both[::-1]
                    seconds = {id(program): program.seconds(records) for program in turns}
                    result.ours_values.append(records / seconds[id(both[0])])
                    result.peer_values.append(records / seconds[id(both[1])])
    except ProgramFailed as failure:
        result.error = str(failure)
    return result


class _Program:
    def __init__(self, process: subprocess.Popen[str], log: str, timeout_s: float) -> None:
        self._process = process
        self._log = log
        self._timeout_s = timeout_s

    def seconds(self, records: int) -> float:
        """Run a job; how long it took."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        timer = threading.Timer(self._timeout_s, end, (self._process,))
        timer.start()
        try:
            stdin.write(f"{records}\n")
            stdin.flush()
            for line in stdout:
                # Prefixes of print sinks may stand before the object.
                if found := re.search(r'\{"records".*\}', line):
                    return float(json.loads(found[0])["seconds"])
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        with open(self._log) as log:
            raise ProgramFailed("\n".join(log.read().splitlines()[-12:]))


@contextmanager
def _running(system: System, environments: Environments) -> Iterator[_Program]:
    with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
        process = subprocess.Popen(
            [*system.command(environments, []), "--records"],
            cwd=PROGRAMS,
            env=environments.variables(system.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            yield _Program(process, log.name, system.timeout_s)
        finally:
            end(process)
