"""Drivers that go on with one job, each killed at another point: ``python -m ..._drivers JOB REPORT``.

The process that is started loads everything once and forks the drivers, so that one costs a tenth of a
second. It is a process of its own because one that has threads, as that of the tests may, cannot be forked.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cloudpickle

from firesteel.common.typeinfo import TypeInformation
from firesteel.testing.connectors._jobs import running_on, small_epochs, write
from firesteel.testing.connectors.kill_points import KillPoint, die_at
from firesteel.testing.local_platform import LocalEngine

_TIMEOUT_S: Final = 240
_PARALLELISM: Final = (2, 1, 3)  # of the drivers, in turn


@dataclass(frozen=True, slots=True)
class KilledJob:
    """A job that writes ``records`` with ``sink``, and where its drivers die, in turn."""

    sink: Any
    records: Sequence[Any]
    type_info: TypeInformation | None
    checkpoints: Path
    points: Mapping[str, KillPoint]


def run_drivers(job: KilledJob, directory: Path) -> dict[str, int]:
    """Run them until one ends; how each driver ended: its exit status, by the name of its point, that of the
    last one by ``""``."""
    file, report = directory / "job", directory / "report"
    file.write_bytes(cloudpickle.dumps(job, protocol=5))
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(file), str(report)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
    )
    if done.returncode != 0:
        raise AssertionError(f"a driver failed:\n{done.stderr}")
    ends: dict[str, int] = json.loads(report.read_text())
    return ends


def _main(file: str, report: str) -> None:
    job: KilledJob = pickle.loads(Path(file).read_bytes())
    ends: dict[str, int] = {}
    for number, (name, point) in enumerate([*job.points.items(), ("", None)]):
        ends[name] = _driver(job, _PARALLELISM[number % len(_PARALLELISM)], point)
        if ends[name] != -signal.SIGKILL:
            break
    Path(report).write_text(json.dumps(ends))
    sys.exit(max(0, ends[name]))


def _driver(job: KilledJob, parallelism: int, point: KillPoint | None) -> int:
    """The exit status of a driver in a process of its own."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        if point is not None:
            die_at(point)
        with running_on(LocalEngine):
            env = small_epochs(job.checkpoints, parallelism, 2)
            write(env, job.records, job.type_info, job.sink)
            env.execute("killed")
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
