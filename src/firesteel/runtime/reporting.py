"""Makes the report of a task (``task_report.py``)."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from firesteel.runtime.metrics import MetricKey
from firesteel.runtime.operators.source import SourceOperator
from firesteel.runtime.stopwatch import Spent
from firesteel.runtime.task_report import ProcessReport, TaskReport
from firesteel.runtime.worker import OpenLevel

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")

#: Takes a report to the driver.
Beside: TypeAlias = Callable[[TaskReport], None]


def wall_ms() -> float:
    return time.time_ns() / 1e6


def report_of_task(
    place: tuple[int, int, int], begun_ms: float, spent: Spent, level: OpenLevel, *, is_held_back: bool
) -> TaskReport:
    """The report of a task, which has come to the end of an epoch.

    :param place: epoch, level, subtask.
    :param is_held_back: whether the task runs beside those that it sends to.
    """
    lags: dict[str, int] = {}
    gauges: dict[MetricKey, Any] = {}
    failed: list[MetricKey] = []
    for chain in level.chains:
        gauges |= chain.context.metrics.gauges()
        failed += chain.context.metrics.take_failed()
        for uid, operator in chain.operators.items():
            if isinstance(operator, SourceOperator) and operator.lag_ms is not None:
                lags[uid] = operator.lag_ms
    return TaskReport(
        *place,
        begun_ms,
        wall_ms(),
        spent.busy,
        spent.held_back if is_held_back else None,
        process_report(),
        lags,
        gauges,
        tuple(failed),
        {} if level.latency is None else level.latency.take(),
    )


@cache
def _host() -> str:
    return socket.gethostname()


def process_report() -> ProcessReport:
    """Of this process; its memory as it was at most a second ago."""
    return ProcessReport(
        _host(), os.getpid(), _rss_bytes(os.getpid(), int(time.monotonic())), time.process_time()
    )


@lru_cache(maxsize=1)
def _rss_bytes(pid: int, second: int) -> int:
    """Reading it is the largest part of a report, and a worker runs many short tasks in a second."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:  # a system without /proc says only the most that it was
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
