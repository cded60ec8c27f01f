"""How fast the counters of jobs rise: differences over about the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from firesteel.jobmanager.job_view import JobView, SubtaskView, VertexView
from firesteel.rest.facts import totals

WINDOW_MS: Final = 60_000
SAMPLE_EVERY_S: Final = 5.0


class Rate(NamedTuple):
    """Per second, of one subtask. ``operators``: records in and out of each."""

    records_in: float
    records_out: float
    bytes_in: float
    bytes_out: float
    operators: tuple[tuple[float, float], ...]


class Flow(NamedTuple):
    """Per second, of all subtasks of a vertex."""

    records_in: float
    records_out: float
    bytes_in: float
    bytes_out: float


class _Sample(NamedTuple):
    at_ms: int
    view: JobView


class Rates:
    """Belongs to the event loop, which samples the running jobs every few seconds. Views share what did not
    change, so a sample costs no more than what the job did."""

    def __init__(self) -> None:
        self._samples: dict[str, deque[_Sample]] = {}

    def sample(self, views: Iterable[JobView], now_ms: int) -> None:
        """Take the counters of these jobs; forget all others."""
        found = {view.job_id: view for view in views}
        for job_id in self._samples.keys() - found.keys():
            del self._samples[job_id]
        for job_id, view in found.items():
            samples = self._samples.setdefault(job_id, deque())
            samples.append(_Sample(now_ms, view))
            while len(samples) > 1 and samples[1].at_ms <= now_ms - WINDOW_MS:
                samples.popleft()

    def of(self, view: JobView, vertex_id: str, subtask: SubtaskView, now_ms: int) -> Rate | None:
        """The rates of a subtask; None: the job was not watched for long enough."""
        oldest = self._oldest(view, now_ms)
        if oldest is None:
            return None
        before = oldest.view.vertex(vertex_id).subtasks[subtask.index]
        seconds = (now_ms - oldest.at_ms) / 1000
        return Rate(
            (subtask.records_in - before.records_in) / seconds,
            (subtask.records_out - before.records_out) / seconds,
            (subtask.bytes_in - before.bytes_in) / seconds,
            (subtask.bytes_out - before.bytes_out) / seconds,
            tuple(
                ((a - c) / seconds, (b - d) / seconds)
                for (a, b), (c, d) in zip(subtask.operators, before.operators, strict=True)
            ),
        )

    def of_vertex(self, view: JobView, vertex: VertexView, now_ms: int) -> Flow | None:
        """The rates of a vertex; None: the job was not watched for long enough."""
        oldest = self._oldest(view, now_ms)
        if oldest is None:
            return None
        seconds = (now_ms - oldest.at_ms) / 1000
        before = totals(oldest.view.vertex(vertex.id))
        return Flow(*((a - b) / seconds for a, b in zip(totals(vertex), before, strict=True)))

    def records_read(self, view: JobView, now_ms: int) -> float | None:
        """What the sources of a job read per second; None: likewise."""
        oldest = self._oldest(view, now_ms)
        if oldest is None:
            return None
        return (view.records_read - oldest.view.records_read) * 1000 / (now_ms - oldest.at_ms)

    def _oldest(self, view: JobView, now_ms: int) -> _Sample | None:
        samples = self._samples.get(view.job_id)
        if not samples or view.ended_ms is not None or now_ms - samples[0].at_ms < 1_000:
            return None
        return samples[0]
