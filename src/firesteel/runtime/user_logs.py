"""What users' code logs in a worker, on its way to the log of the driver.

A handler on the root logger of the worker process keeps what is logged until the task ends; it then goes to
the driver as a row beside the answers, also when the task fails. What is kept is bounded: what is over the
bound is counted, and the count is told. Nothing happens for a record that nobody logs.
"""

from __future__ import annotations

import logging
import sys
import threading
from types import FrameType
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.masking import masked
from firesteel.common.options.python import LOG_LEVEL
from firesteel.runtime.operators.base import BaseOperator
from firesteel.runtime.program import LogEntry, UserLogs

_MAX_ENTRIES: Final = 1_000  # of one process between two ends of tasks
_MAX_CHARACTERS: Final = 8_000  # of one entry


def log_level(configuration: Configuration) -> int:
    """The level below which nothing is sent. Raises ConfigurationError when there is no such level."""
    name = configuration.get(LOG_LEVEL).upper()
    levels = logging.getLevelNamesMapping()
    if name not in levels or name == "NOTSET":
        names = ", ".join(n for n, number in levels.items() if number)
        raise ConfigurationError(
            f"{LOG_LEVEL.key} must be a level of logging", detail=f"got {name}", hint=names
        )
    return levels[name]


class LogCollector(logging.Handler):
    """Keeps what is logged until it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[LogEntry] = []
        self._dropped = 0
        self._taking = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        with self._taking:
            if len(self._entries) >= _MAX_ENTRIES:
                self._dropped += 1
                return
        try:
            text = masked(self.format(record))
        except Exception as e:  # arguments that do not fit the text, or cannot be shown
            text = f"{record.msg!r:.200} (showing it raises {type(e).__name__}: {e})"
        operator, subtask = _place(sys._getframe())
        entry = LogEntry(
            record.name,
            record.levelno,
            text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]} ... (cut)",
            record.created,
            record.pathname,
            record.lineno,
            record.funcName,
            operator,
            subtask,
        )
        with self._taking:
            self._entries.append(entry)

    def take(self) -> UserLogs | None:
        """What was logged since the last call; None: nothing."""
        with self._taking:
            entries, self._entries = self._entries, []
            dropped, self._dropped = self._dropped, 0
        return UserLogs(tuple(entries), dropped) if entries else None


def _place(frame: FrameType | None) -> tuple[str, int | None]:
    """The operator in whose call this is, found on the stack: nothing has to be noted for each record."""
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, BaseOperator):
            context = getattr(owner, "context", None)
            return owner.program.name, None if context is None else context.subtask
        frame = frame.f_back
    return "", None


_collector: LogCollector | None = None


def listen(level: int) -> None:
    """Collect what is logged in this process from ``level`` on, and its warnings."""
    global _collector
    root = logging.getLogger()
    if _collector is None:
        _collector = LogCollector()
        root.addHandler(_collector)
        logging.captureWarnings(True)
    _collector.setLevel(level)
    root.setLevel(level)


def stop_listening() -> None:
    """For tests, whose process goes on."""
    global _collector
    if _collector is not None:
        logging.getLogger().removeHandler(_collector)
        logging.captureWarnings(False)
        _collector = None


def taken_logs() -> UserLogs | None:
    """Return what was logged in this process since the last call; None if there is nothing."""
    return None if _collector is None else _collector.take()
