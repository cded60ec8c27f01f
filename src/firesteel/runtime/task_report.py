"""What a task says of itself beside its rows: times, the values of gauges, the process that it ran in.

All of that differs from run to run. Rows must not: Spark compares the bytes of an exchange that it has to
write again. So a report goes to the driver on a way of its own - an accumulator of Spark, or the file with
the answers of a task in real time - and a job is as right without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from firesteel.runtime.metrics import Histogram, MetricKey

#: Shared by all reports, as most tasks have nothing to say of most things: whoever gets it only reads it.
NOTHING: Final[Mapping[Any, Any]] = {}


class ProcessReport(NamedTuple):
    """The Python worker that a task ran in."""

    host: str
    pid: int
    rss_bytes: int
    cpu_s: float


class TaskReport(NamedTuple):
    """Of one task for one epoch.

    :param begun_ms: the wall clock of its machine; ``ended_ms``: the same.
    :param busy_ms: by vertex.
    :param held_back_ms: how long it has waited for those that it sends to; None: it was not measured,
        since the task hands all on before they begin.
    :param lags_ms: source operator -> how old the last record was when it was read, by its event time.
    :param latencies: of the markers that have come.
    :param failed_gauges: those that have raised, and so have no value.
    :param stage: of Spark, that the task belongs to.
    :param ran_before: whether Spark had begun the task before, in the same attempt of its stage.
    :param compacting_ms: the part of ``busy_ms`` that compaction has taken, whatever the records were.
    """

    epoch: int
    level: int
    subtask: int
    begun_ms: float
    ended_ms: float
    busy_ms: Mapping[str, float]
    held_back_ms: float | None
    process: ProcessReport
    lags_ms: Mapping[str, int] = NOTHING
    gauges: Mapping[MetricKey, Any] = NOTHING
    failed_gauges: tuple[MetricKey, ...] = ()
    latencies: Mapping[MetricKey, Histogram] = NOTHING
    stage: int | None = None
    ran_before: bool = False
    compacting_ms: float = 0.0
