"""Running a program and reading what it measured."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.environments import EARLIER, OURS, Environments

PROGRAMS = Path(__file__).parent / "programs"


class ProgramFailed(Exception):
    """The program ended with an error, or measured nothing; the text is its last lines."""


@dataclass(frozen=True, slots=True)
class System:
    """One way to run one program. ``records``: the smaller of two sizes, chosen to take some 5-15 s.
    ``timeout_s``: after that it has failed."""

    name: str
    environment: str
    program: str
    records: int = 0
    arguments: tuple[str, ...] = ()
    pyflink_text: bool = False  # the program is written for PyFlink: firesteel runs it with --pyflink
    timeout_s: int = 900

    def command(self, environments: Environments, sizes: list[int]) -> list[str]:
        python = environments.python(self.environment)
        sized = ["--records", *map(str, sizes)] if sizes else []
        if self.pyflink_text and self.environment in (OURS, EARLIER):
            head = [str(python.parent / "firesteel"), "run", "--quiet", "--pyflink", self.program]
        else:
            head = [str(python), self.program]
        return [*head, *self.arguments, *sized]


@dataclass(slots=True)
class Output:
    """``lines``: the JSON objects that the program printed; ``peak_worker_mb``: the resident memory of its
    largest Python worker of Spark."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    peak_worker_mb: float = 0.0


def execute(system: System, environments: Environments, sizes: list[int]) -> Output:
    command = system.command(environments, sizes)
    process = subprocess.Popen(
        command,
        cwd=PROGRAMS,
        env=environments.variables(system.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    output = Output()
    watcher = threading.Thread(target=_watch_workers, args=(process, output), daemon=True)
    watcher.start()
    try:
        stdout, stderr = process.communicate(timeout=system.timeout_s)
    except subprocess.TimeoutExpired:
        end(process)
        raise ProgramFailed(f"not done after {system.timeout_s} s: {' '.join(command)}") from None
    except BaseException:
        end(process)
        raise
    watcher.join()
    # Progress bars and prefixes of print sinks may stand before an object, on its line.
    found = re.findall(r'\{"(?:records|epochs)".*\}', stdout)
    output.lines = [json.loads(line) for line in found]
    if process.returncode or not output.lines:
        tail = "\n".join((stdout + stderr).strip().splitlines()[-12:])
        raise ProgramFailed(f"{' '.join(command)} ended with {process.returncode}:\n{tail}")
    return output


def end(process: subprocess.Popen[Any]) -> None:
    """End a program and what it started (a JVM, workers), and nothing else."""
    family = [*psutil.Process(process.pid).children(recursive=True), process]
    for member in family:
        try:
            member.kill()
        except (psutil.Error, ProcessLookupError):
            continue
    process.wait()


def _watch_workers(process: subprocess.Popen[str], output: Output) -> None:
    while process.poll() is None:
        for child in worker_processes(process.pid):
            try:
                output.peak_worker_mb = max(output.peak_worker_mb, child.memory_info().rss / 2**20)
            except psutil.Error:
                continue
        time.sleep(0.1)


def worker_processes(root: int) -> list[psutil.Process]:
    """The Python workers below ``root``: children of the daemon that forks them."""
    daemons: set[int] = set()
    parents: list[tuple[psutil.Process, int]] = []
    try:
        children = psutil.Process(root).children(recursive=True)
    except psutil.Error:
        return []
    for child in children:
        try:
            if "pyspark.worker" in child.cmdline():
                daemons.add(child.pid)
            parents.append((child, child.ppid()))
        except psutil.Error:  # it ended meanwhile
            continue
    return [child for child, parent in parents if parent in daemons]


@dataclass(frozen=True, slots=True)
class Rate:
    """``steady``: records a second between the two sizes, so start-up, warm-up and the first touch of most
    keys cancel out. ``whole``: of the larger size alone, with the start of its job but not of the process."""

    steady: float
    whole: float


def rate(system: System, environments: Environments, clock: str = "seconds") -> Rate:
    """Run a small job to warm up, then n and 2n records in one process.

    :param clock: what a program prints of a job: ``seconds``, or ``cpu_seconds`` where it measures them.
    """
    n = system.records
    output = execute(system, environments, [max(1, n // 10), n, 2 * n])
    seconds = {line["records"]: line[clock] for line in output.lines}
    return Rate(steady_rate(n, seconds[n], seconds[2 * n]), 2 * n / seconds[2 * n])


def steady_rate(n: int, seconds: float, of_double: float) -> float:
    """Records a second between a job of n records and one of 2n."""
    difference = of_double - seconds
    if difference < 0.1 * of_double:  # the fixed part drowned the rest: the larger job alone is surer
        return 2 * n / of_double
    return n / difference


@dataclass(slots=True)
class Comparison:
    """``ours`` against ``peer``, measured alternately. ``ratio`` is the median of the rounds' ratios, larger
    or smaller than ``target`` as ``at_least`` says."""

    case: str
    ours: str
    peer: str
    unit: str
    ours_values: list[float]
    peer_values: list[float]
    target: float
    at_least: bool
    error: str | None = None

    @property
    def ratio(self) -> float | None:
        pairs = zip(self.ours_values, self.peer_values, strict=True)
        ratios = [1.0 if ours == peer else ours / peer for ours, peer in pairs if peer or ours == peer]
        return median(ratios) if ratios else None

    @property
    def met(self) -> bool:
        ratio = self.ratio
        if ratio is None or self.error is not None:
            return False
        return ratio >= self.target if self.at_least else ratio <= self.target
