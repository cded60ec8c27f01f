"""A session cluster whose jobs run without Spark: each in a process of its own, with the engine of the tests.

python -m tests.cluster.dispatcher KEY=VALUE...
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path

from firesteel.cluster.server import serve_cluster
from firesteel.common.configuration import Configuration
from firesteel.metrics.machines import Machines, WorkerInfo
from firesteel.testing.local_platform import LocalPlatform

SLOTS = 4
#: ``point:count``: the dispatcher kills itself when it comes to that point for the count-th time.
DIES = "FIRESTEEL_TEST_DIES"


def platform(job_id: str, modules: tuple[str, ...]) -> LocalPlatform:
    """The platform of a job."""
    return LocalPlatform()


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


def die_at(point: str) -> None:
    """End at once, as by SIGKILL, if that is the point where it should."""
    wanted, _, count = os.environ.get(DIES, "").partition(":")
    if wanted == point:
        if count and int(count) > 1:
            os.environ[DIES] = f"{point}:{int(count) - 1}"
            return
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    settings = dict(word.split("=", 1) for word in sys.argv[1:])
    serve_cluster(
        Configuration.from_dict(settings),
        lambda configuration: InProcess(),
        lambda url: print(url, flush=True),
    )


if __name__ == "__main__":
    main()
