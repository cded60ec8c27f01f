"""What jobs did over time, for charts: the last half hour in steps of some seconds, a day in minutes.

The server keeps it, not the page: who opens a page sees what was before. It is bounded: a job of five
vertices takes about 200 kB, whatever it does.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from firesteel.jobmanager.job_view import JobView
from firesteel.rest.facts import JobFacts, VertexFacts, job_facts, vertex_facts

FINE: Final = 360  # samples: half an hour at one in five seconds
MINUTES: Final = 1_440
_MINUTE_MS: Final = 60_000
_MOST_BYTES: Final = 256 << 20  # of all jobs; beyond it new jobs have no history
_NONE: Final = float("nan")

#: The columns of a job. Times in milliseconds, rates per second; NaN: not known.
JOB: Final = (
    "time_ms",
    "records_per_second",
    "lag",
    "freshness_ms",
    "epoch_ms",
    "restarts",
    "checkpoint_ms",
    "state_bytes",
)
VERTEX: Final = ("time_ms", "in_per_second", "out_per_second", "freshness_ms", "state_bytes")
Row = tuple[float, ...]


class Ring:
    """The newest rows of numbers, in the order in which they came."""

    def __init__(self, columns: int, capacity: int) -> None:
        self._columns = columns
        self._most = columns * capacity
        self._values = array("d")
        self._oldest = 0

    def add(self, row: Row) -> None:
        if len(self._values) < self._most:
            self._values.extend(row)
        else:
            self._values[self._oldest : self._oldest + self._columns] = array("d", row)
            self._oldest = (self._oldest + self._columns) % self._most

    def columns(self) -> list[list[float]]:
        """By column, the oldest first."""
        values = self._values[self._oldest :] + self._values[: self._oldest]
        return [values[n :: self._columns].tolist() for n in range(self._columns)]

    def newest(self, column: int, most: int) -> list[float]:
        """At most so many values of a column, the oldest first."""
        size, values = len(self._values), self._values
        begin = max(0, size - most * self._columns)
        return [values[(self._oldest + at) % size] for at in range(begin + column, size, self._columns)]

    @property
    def bytes(self) -> int:
        return len(self._values) * self._values.itemsize


class _Sample(NamedTuple):
    at_ms: int
    job: JobFacts
    vertices: tuple[VertexFacts, ...]


class JobHistory:
    """Of one job. ``fine``, ``minutes``: its own columns; ``vertices``: of each vertex, fine alone."""

    def __init__(self, view: JobView) -> None:
        self.fine = Ring(len(JOB), FINE)
        self.minutes = Ring(len(JOB), MINUTES)
        self.vertices: Mapping[str, Ring] = {v.id: Ring(len(VERTEX), FINE) for v in view.vertices}
        self.complete = False  # the job has ended, and its last sample is there
        self._last: _Sample | None = None
        self._last_minute: _Sample | None = None

    def sample(self, view: JobView, now_ms: int) -> None:
        now_ms = view.ended_ms or now_ms
        self.complete = view.ended_ms is not None
        last = self._last
        if last is not None and now_ms - last.at_ms < 1_000:
            return  # nothing that a rate could be made of
        found = _Sample(now_ms, job_facts(view), vertex_facts(view))
        begin_ms = view.started_ms if last is None else last.at_ms
        self.fine.add(_job_row(found, last, begin_ms))
        for number, vertex in enumerate(found.vertices):
            before = None if last is None else last.vertices[number]
            self.vertices[vertex.id].add(_vertex_row(found, vertex, before, begin_ms))
        self._last = found
        minute = self._last_minute
        if minute is None or self.complete or now_ms - minute.at_ms >= _MINUTE_MS:
            begin_ms = view.started_ms if minute is None else minute.at_ms
            self.minutes.add(_job_row(found, minute, begin_ms))
            self._last_minute = found

    @property
    def bytes(self) -> int:
        return sum(ring.bytes for ring in (self.fine, self.minutes, *self.vertices.values()))


def _job_row(now: _Sample, before: _Sample | None, begin_ms: int) -> Row:
    job = now.job
    records = job.records_read - (0 if before is None else before.job.records_read)
    return (
        now.at_ms,
        _rate(records, now.at_ms - begin_ms),
        _number(job.lag),
        _freshness(job.watermark_ms, now.at_ms),
        _number(job.epoch_elapsed_ms),
        job.restarts,
        _number(job.checkpoint_elapsed_ms),
        _number(job.state_bytes),
    )


def _vertex_row(now: _Sample, vertex: VertexFacts, before: VertexFacts | None, begin_ms: int) -> Row:
    elapsed_ms = now.at_ms - begin_ms
    came = vertex.records_in - (0 if before is None else before.records_in)
    left = vertex.records_out - (0 if before is None else before.records_out)
    return (
        now.at_ms,
        _rate(came, elapsed_ms),
        _rate(left, elapsed_ms),
        _freshness(vertex.watermark_min, now.at_ms),
        _number(vertex.state_bytes),
    )


def _rate(count: int, elapsed_ms: int) -> float:
    return _NONE if elapsed_ms <= 0 else max(0.0, count * 1000 / elapsed_ms)


def _freshness(watermark_ms: int | None, now_ms: int) -> float:
    return _NONE if watermark_ms is None else float(now_ms - watermark_ms)


def _number(value: float | None) -> float:
    return _NONE if value is None else float(value)


class History:
    """Of all jobs that the server knows. Belongs to the event loop, which samples every few seconds."""

    def __init__(self) -> None:
        self._jobs: dict[str, JobHistory] = {}
        self._bytes = 0

    def sample(self, views: Iterable[JobView], now_ms: int) -> None:
        """Take one row of each of these jobs; forget all others."""
        known = {view.job_id: view for view in views}
        for job_id in self._jobs.keys() - known.keys():
            del self._jobs[job_id]
        for job_id, view in known.items():
            found = self._jobs.get(job_id)
            if found is None:
                if self._bytes > _MOST_BYTES:
                    continue
                found = self._jobs[job_id] = JobHistory(view)
            if not found.complete:
                found.sample(view, now_ms)
        self._bytes = sum(job.bytes for job in self._jobs.values())

    def of(self, job_id: str) -> JobHistory | None:
        """None: the job was not sampled yet."""
        return self._jobs.get(job_id)

    def recent_rates(self, job_id: str, most: int) -> list[float]:
        """Records per second of the newest samples of a job, the oldest first."""
        found = self._jobs.get(job_id)
        return [] if found is None else list(_known(found.fine.newest(1, most)))


def _known(values: Iterable[float]) -> Iterator[float]:
    return (round(value, 1) for value in values if not math.isnan(value))
