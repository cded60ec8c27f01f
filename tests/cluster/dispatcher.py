"""A session cluster whose jobs run without Spark: each in a process of its own, with the engine of the tests.

python -m tests.cluster.dispatcher KEY=VALUE...
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

from firesteel.cluster.messages import Message, TakeSavepoint
from firesteel.cluster.process import JobProcess
from firesteel.cluster.server import serve_cluster
from firesteel.cluster.store import JobStore
from firesteel.common.configuration import Configuration
from firesteel.common.errors import EngineLostError
from firesteel.common.exit_codes import ENGINE_LOST
from firesteel.metrics.machines import Machines, WorkerInfo
from firesteel.testing.local_platform import LocalEngine, LocalPlatform

SLOTS = 4
#: When the dispatcher kills itself.
DIES = "FIRESTEEL_TEST_DIES"


#: Begins the names of jobs whose engine dies when it is asked for first.
PERISHES = "perishes"


def platform(job_id: str, modules: tuple[str, ...]) -> LocalPlatform:
    """The platform of a job."""
    return PerishablePlatform()


class PerishablePlatform(LocalPlatform):
    has_died = False

    def engine(self, job_id: str, job_name: str, script_dir: str) -> LocalEngine:
        mark = Path("engine-died")  # in the directory of the job
        if job_name.startswith(PERISHES) and not mark.exists():
            mark.touch()
            self.has_died = True
            raise AttributeError("'NoneType' object has no attribute 'sc'")  # as calls of a dying JVM end
        return super().engine(job_id, job_name, script_dir)

    def loss(self) -> EngineLostError | None:
        if self.has_died:
            os._exit(ENGINE_LOST)
        return None


class InProcess:
    """Implements ``Engine``."""

    platform = "tests.cluster.dispatcher:platform"
    log: Path | None = None

    def start(self) -> None: ...

    def variables(self) -> dict[str, str]:
        return {}

    def manner_of_death(self) -> str | None:
        return None

    def machines(self) -> Machines:
        return Machines((WorkerInfo("in-process", "localhost:0", SLOTS, SLOTS, 0, 0),))

    def end_job(self, job_id: str) -> None: ...

    def stop(self) -> None: ...


def prepare_to_die(how: str) -> None:
    """Let this process end as by SIGKILL, at a point that is named: ``POINT`` or ``POINT:MILLISECONDS``, the
    time after it."""
    point, _, delay_ms = how.partition(":")
    when, _, what = point.partition(" ")
    if what in ("add", "archive"):
        _die_around(what, before=when == "before")
    elif point in ("savepoint", "stop"):
        _die_after_order(stops=point == "stop", seconds=float(delay_ms) / 1000)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_around(name: str, *, before: bool) -> None:
    inner = getattr(JobStore, name)

    def outer(store: JobStore, *args: Any) -> None:
        if before:
            _die()
        inner(store, *args)
        _die()

    setattr(JobStore, name, outer)


def _die_after_order(*, stops: bool, seconds: float) -> None:
    inner = JobProcess._send

    def outer(process: JobProcess, message: Message) -> None:
        inner(process, message)
        if isinstance(message, TakeSavepoint) and message.order.stop is stops:
            asyncio.get_running_loop().call_later(seconds, _die)

    JobProcess._send = outer  # type: ignore[assignment, method-assign]


def main() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    prepare_to_die(os.environ.get(DIES, ""))
    settings = dict(word.split("=", 1) for word in sys.argv[1:])
    serve_cluster(
        Configuration.from_dict(settings),
        lambda configuration: InProcess(),
        lambda url: print(url, flush=True),
    )


if __name__ == "__main__":
    main()
