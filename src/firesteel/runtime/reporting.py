"""Makes the report of a task (``task_report.py``)."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from firesteel.runtime.metrics import MetricKey
from firesteel.runtime.stopwatch import Spent
from firesteel.runtime.task_report import NOTHING, ProcessReport, TaskReport
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
    gauges: Mapping[MetricKey, Any] = NOTHING
    failed: tuple[MetricKey, ...] = ()
    for chain in level.chains:
        metrics = chain.context.metrics
        if metrics.has_gauges:
            gauges = {**gauges, **metrics.gauges()}
            failed += tuple(metrics.take_failed())
    lags = {uid: s.lag_ms for uid, s in level.sources if s.lag_ms is not None} if level.sources else NOTHING
    return TaskReport(
        *place,
        begun_ms,
        wall_ms(),
        spent.busy,
        spent.held_back if is_held_back else None,
        process_report(),
        lags,
        gauges,
        failed,
        NOTHING if level.latency is None else level.latency.take(),
        compacting_ms=sum(chain.state.compacting_ms for chain in level.chains if chain.state is not None),
    )


@cache
def _host() -> str:
    return socket.gethostname()


def process_report() -> ProcessReport:
    """Of this process, as it was at most a second ago."""
    return _process_report(int(time.monotonic()))


@lru_cache(maxsize=1)
def _process_report(second: int) -> ProcessReport:
    """Asking the system is the largest part of a report, and a worker runs many short tasks in a second."""
    return ProcessReport(_host(), os.getpid(), _rss_bytes(), time.process_time())


# A worker is forked at any moment of a second, and would be taken for the process that it came from.
os.register_at_fork(after_in_child=_process_report.cache_clear)


def _rss_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:  # a system without /proc says only the most that it was
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
