"""What users' code logged in workers goes through ``logging`` here, under the name of its logger."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable

from firesteel.common.logs import logger
from firesteel.runtime.program import Answer, LogEntry, UserLogs

log = logger(__name__)


class _StderrHandler(logging.Handler):
    """Where a program that has not set up logging sees what its functions log."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr)


_stderr = _StderrHandler()


def pass_on(answers: Iterable[Answer]) -> None:
    """Log here what the answers of an epoch bring; where nothing is set up for it, to standard error."""
    for answer in answers:
        if isinstance(answer, UserLogs):
            for entry in answer.entries:
                _pass_on(entry)
            if answer.dropped:
                log.warning("%d entries of users' logs were too many and are left out", answer.dropped)


def _pass_on(entry: LogEntry) -> None:
    logger = logging.getLogger(entry.logger)
    record = logging.makeLogRecord(
        {
            "name": entry.logger,
            "msg": _text(entry),
            "levelno": entry.level,
            "levelname": logging.getLevelName(entry.level),
            "created": entry.created,
            "msecs": entry.created % 1 * 1000,
            "pathname": entry.path,
            "filename": entry.path.rpartition("/")[2],
            "lineno": entry.line,
            "funcName": entry.function,
            "operator": entry.operator,
            "subtask": entry.subtask,
        }
    )
    if not logger.hasHandlers():
        _stderr.handle(record)
    elif logger.isEnabledFor(entry.level):
        logger.handle(record)


def _text(entry: LogEntry) -> str:
    if not entry.operator:
        return entry.text
    subtask = "" if entry.subtask is None else f" (subtask {entry.subtask})"
    return f"{entry.operator}{subtask}: {entry.text}"
