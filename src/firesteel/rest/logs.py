"""The logs of the driver: the file of Spark's own log, and the newest lines of Firesteel's in memory."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from firesteel.common.logs import logger
from firesteel.rest.cluster import Log

OWN: Final = "firesteel.log"
_KEPT: Final = 10_000  # lines


class DriverLogs:
    """:param spark_log: gives the file of Spark's log; None: there is none, or it goes elsewhere."""

    def __init__(self, spark_log: Callable[[], Path | None]) -> None:
        self._spark_log = spark_log
        self._kept = _Kept()
        logger("firesteel").addHandler(self._kept)

    def close(self) -> None:
        logger("firesteel").removeHandler(self._kept)

    def all(self) -> tuple[Log, ...]:
        own = Log(OWN, len(self._kept.text().encode()), self._kept.modified_ms)
        file = self._spark_log()
        if file is None or not file.is_file():
            return (own,)
        facts = file.stat()
        return own, Log(file.name, facts.st_size, facts.st_mtime_ns // 1_000_000)

    def read(self, name: str) -> Path | str | None:
        """A log by its name in the list: never a path."""
        if name == OWN:
            return self._kept.text()
        file = self._spark_log()
        return file if file is not None and file.name == name and file.is_file() else None


class _Kept(logging.Handler):
    """Keeps the newest lines; takes what the levels of the loggers let through."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s - %(message)s"))
        self._lines: deque[str] = deque(maxlen=_KEPT)
        self.modified_ms = time.time_ns() // 1_000_000

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record) + "\n")
        self.modified_ms = int(record.created * 1000)

    def text(self) -> str:
        return "".join(self._lines.copy())
