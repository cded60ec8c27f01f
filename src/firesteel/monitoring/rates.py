"""How fast the counters of jobs rise: differences over about a minute, shares of time over ten seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from firesteel.jobmanager.job_view import JobView, SubtaskView, VertexView

WINDOW_MS: Final = 60_000
#: Of the shares of time: long enough for some epochs.
SHARE_WINDOW_MS: Final = 10_000
SAMPLE_EVERY_S: Final = 5.0
_LEAST_MS: Final = 1_000  # that a job was watched


class Rate(NamedTuple):
    """Per second, of one subtask. ``operators``: records in and out of each.

    :param busy_ms: milliseconds of each second; with ``back_pressured_ms`` at most 1,000.
    :param meters: events of the user's meters, by operator id and path.
    """

    records_in: float
    records_out: float
    bytes_in: float
    bytes_out: float
    operators: tuple[tuple[float, float], ...]
    busy_ms: float
    back_pressured_ms: float
    meters: dict[tuple[str, str], float]

    @property
    def idle_ms(self) -> float:
        return max(0.0, 1000.0 - self.busy_ms - self.back_pressured_ms)


class Flow(NamedTuple):
    """Per second, of all subtasks of a vertex. The shares of time are those of the busiest subtask."""

    records_in: float
    records_out: float
    bytes_in: float
    bytes_out: float
    busy_ms: float
    back_pressured_ms: float


class VertexRates(NamedTuple):
    """What a vertex does now, by what its subtasks were.

    :param oldest: its subtasks *oldest_ms* ago: rates are differences to these.
    :param recent: its subtasks *recent_ms* ago: shares of time are differences to these.
    """

    vertex: VertexView
    oldest: Sequence[SubtaskView]
    recent: Sequence[SubtaskView]
    oldest_ms: int
    recent_ms: int

    def of(self, subtask: SubtaskView) -> Rate:
        """Return the rates of a subtask of the vertex."""
        before = _earlier(self.oldest, subtask)
        seconds = self.oldest_ms / 1000
        busy_ms, held_ms = _shares(_earlier(self.recent, subtask), subtask, self.recent_ms)
        return Rate(
            (subtask.records_in - before.records_in) / seconds,
            (subtask.records_out - before.records_out) / seconds,
            (subtask.bytes_in - before.bytes_in) / seconds,
            (subtask.bytes_out - before.bytes_out) / seconds,
            tuple(
                ((a - c) / seconds, (b - d) / seconds)
                for (a, b), (c, d) in zip(subtask.operators, before.operators, strict=True)
            ),
            busy_ms,
            held_ms,
            _meters(before, subtask, seconds),
        )

    @property
    def flow(self) -> Flow:
        """The rates of all subtasks together."""
        came = left = bytes_in = bytes_out = 0
        busiest = (0.0, 0.0)
        for subtask in self.vertex.subtasks:
            before = _earlier(self.oldest, subtask)
            came += subtask.records_in - before.records_in
            left += subtask.records_out - before.records_out
            bytes_in += subtask.bytes_in - before.bytes_in
            bytes_out += subtask.bytes_out - before.bytes_out
            busiest = max(busiest, _shares(_earlier(self.recent, subtask), subtask, self.recent_ms))
        seconds = self.oldest_ms / 1000
        return Flow(came / seconds, left / seconds, bytes_in / seconds, bytes_out / seconds, *busiest)


class _Sample(NamedTuple):
    at_ms: int
    view: JobView


class Rates:
    """Belongs to one thread, or one event loop, which samples the running jobs every few seconds. Views share
    what did not change, so a sample costs no more than what the job did."""

    def __init__(self) -> None:
        self._samples: dict[str, deque[_Sample]] = {}

    def sample(self, views: Iterable[JobView], now_ms: int) -> None:
        """Take the counters of these jobs; forget all others."""
        found = {view.job_id: view for view in views}
        for job_id in self._samples.keys() - found.keys():
            del self._samples[job_id]
        for job_id, view in found.items():
            samples = self._samples.setdefault(job_id, deque())
            if samples and samples[-1].view.rescales.changes != view.rescales.changes:
                samples.clear()  # of other subtasks
            samples.append(_Sample(now_ms, view))
            while len(samples) > 1 and samples[1].at_ms <= now_ms - WINDOW_MS:
                samples.popleft()

    def of(self, view: JobView, vertex: VertexView, now_ms: int) -> VertexRates | None:
        """Return the rates of a vertex and its subtasks; None if the job was not watched for long enough."""
        samples = self._watched(view, now_ms)
        if samples is None:
            return None
        oldest, recent = samples[0], self._recent(samples, now_ms)
        return VertexRates(
            vertex,
            oldest.view.vertex(vertex.id).subtasks,
            recent.view.vertex(vertex.id).subtasks,
            now_ms - oldest.at_ms,
            now_ms - recent.at_ms,
        )

    def records_read(self, view: JobView, now_ms: int) -> float | None:
        """What the sources of a job read per second; None: likewise."""
        samples = self._watched(view, now_ms)
        if samples is None:
            return None
        return (view.records_read - samples[0].view.records_read) * 1000 / (now_ms - samples[0].at_ms)

    def _watched(self, view: JobView, now_ms: int) -> deque[_Sample] | None:
        """None: the job was not watched for long enough, or has ended."""
        samples = self._samples.get(view.job_id)
        if not samples or view.ended_ms is not None or now_ms - samples[0].at_ms < _LEAST_MS:
            return None
        return samples

    def _recent(self, samples: deque[_Sample], now_ms: int) -> _Sample:
        """The newest sample that is as old as the window of shares; the oldest where none is."""
        until = now_ms - SHARE_WINDOW_MS
        return next((sample for sample in reversed(samples) if sample.at_ms <= until), samples[0])


def _earlier(subtasks: Sequence[SubtaskView], subtask: SubtaskView) -> SubtaskView:
    """The subtask among earlier ones; with nothing counted, if it was not there: the job was rescaled."""
    if subtask.index < len(subtasks):
        found = subtasks[subtask.index]
        if found.records_in <= subtask.records_in and found.busy_ms <= subtask.busy_ms:
            return found
    return SubtaskView(subtask.index, subtask.attempt, operators=((0, 0),) * len(subtask.operators))


def _shares(before: SubtaskView, now: SubtaskView, passed_ms: int) -> tuple[float, float]:
    """What an epoch has spent counts when it is committed, so it may be more than has passed since the
    sample: then both shares are smaller."""
    busy_ms, held_ms = now.busy_ms - before.busy_ms, now.back_pressured_ms - before.back_pressured_ms
    whole_ms = max(float(passed_ms), busy_ms + held_ms, 1.0)
    return busy_ms / whole_ms * 1000, held_ms / whole_ms * 1000


def _meters(before: SubtaskView, now: SubtaskView, seconds: float) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for metric in now.metrics:
        if metric.kind == "meter":
            found[metric.operator, metric.path] = _count(metric.value) / seconds
    if found:
        for metric in before.metrics:
            if metric.kind == "meter":
                key = metric.operator, metric.path
                found[key] = found.get(key, 0.0) - _count(metric.value) / seconds
    return found


def _count(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
