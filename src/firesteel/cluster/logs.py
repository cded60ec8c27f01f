"""The logs of a session cluster: of the dispatcher, of Spark, and two of each job."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from firesteel.cluster.engines import Engine
from firesteel.rest.cluster import Log
from firesteel.rest.logs import DriverLogs

_OF_A_JOB: Final = re.compile(r"job-[0-9a-f]{32}\.(?:log|out)")


class ClusterLogs:
    """:param directory: has ``job-ID.log``, what the process of a job logs, and ``job-ID.out``, what it
    prints.
    """

    def __init__(self, directory: Path, engine: Engine) -> None:
        self._directory = directory
        self._own = DriverLogs(lambda: engine.log)

    def close(self) -> None:
        self._own.close()

    def all(self) -> tuple[Log, ...]:
        found = []
        for path in sorted(self._directory.iterdir()):
            if _OF_A_JOB.fullmatch(path.name):
                facts = path.stat()
                found.append(Log(path.name, facts.st_size, facts.st_mtime_ns // 1_000_000))
        return (*self._own.all(), *found)

    def read(self, name: str) -> Path | str | None:
        """A log by its name in the list: never a path."""
        if _OF_A_JOB.fullmatch(name):
            path = self._directory / name
            return path if path.is_file() else None
        return self._own.read(name)
