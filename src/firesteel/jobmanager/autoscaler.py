"""Watches how busy a job is, and advises another parallelism now and then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.logs import logger
from firesteel.common.options import autoscaler as options
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.parallelism import forward_groups
from firesteel.jobmanager.advice import Advice, Slots
from firesteel.jobmanager.autoscaling import AutoscalerOptions, Load, decide, together
from firesteel.jobmanager.job_view import JobView, VertexView
from firesteel.jobmanager.published import Published
from firesteel.jobmanager.rescale_view import Bounds, RescaleCause

log = logger(__name__)

#: Of a second of epochs without a pause: what Spark takes to begin and end them, and no subtask is busy with.
ENGINE_SHARE: Final = 0.3
_SAMPLES: Final = 16  # in a window


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """:param acts: what is found is done, and not only logged.
    :param settle_ms: how long nothing is measured after a change.
    """

    rules: AutoscalerOptions
    acts: bool = True
    settle_ms: int = 300_000
    window_ms: int = 900_000
    scale_down_ms: int = 3_600_000
    excluded: frozenset[str] = frozenset()


def autoscaler_options(configuration: Configuration) -> WatchOptions | None:
    """None: there is no autoscaler."""
    if not configuration.get(options.ENABLED):
        return None
    get = configuration.get
    target, boundary = get(options.TARGET), get(options.BOUNDARY)
    excluded = get(options.EXCLUDED)
    return WatchOptions(
        AutoscalerOptions(
            target,
            get(options.MIN_UTILIZATION) or max(0.0, round(target - boundary, 6)),
            get(options.MAX_UTILIZATION) or min(1.0, round(target + boundary, 6)),
            get(options.MIN_PARALLELISM),
            get(options.MAX_PARALLELISM),
            get(options.SCALE_UP_FACTOR),
            get(options.SCALE_DOWN_FACTOR),
            get(options.CATCH_UP) / 1000,
            get(options.RESTART_TIME) / 1000,
        ),
        get(options.SCALING_ENABLED),
        get(options.STABILIZATION),
        get(options.WINDOW),
        get(options.SCALE_DOWN_INTERVAL),
        frozenset(excluded),
    )


class Autoscaler:
    """Implements ``Adviser``.

    :param one_after_another: levels run in turn, as in epochs, and not all at once.
    """

    def __init__(self, watch: WatchOptions, slots: Slots, *, one_after_another: bool) -> None:
        self._watch = watch
        self._slots = slots
        self._one_after_another = one_after_another
        self._first: JobView | None = None  # of the window
        self._begin_ms = 0  # not before
        self._next_ms = 0
        self._grew_ms: dict[str, int] = {}

    def advice(
        self, graph: JobGraph, job: Published, wanted: Mapping[str, Bounds], now_ms: int
    ) -> Advice | None:
        if now_ms < self._next_ms:
            return None
        view = job.view
        if not view.epoch:
            return None
        watch = self._watch
        self._next_ms = now_ms + max(1, watch.window_ms // _SAMPLES)
        if self._begin_ms == 0:
            self._begin_ms = now_ms + watch.settle_ms  # the job has just begun
        if now_ms < self._begin_ms:
            return None
        if self._first is None:
            self._first = view
            return None
        if view.published_ms - self._first.published_ms < watch.window_ms:
            return None
        first, self._first = self._first, view
        found = self._decide(graph, first, view, now_ms)
        if not found:
            return None
        changes = {
            graph.vertex(v).name: f"{graph.vertex(v).parallelism} -> {number}" for v, number in found.items()
        }
        if not watch.acts:
            log.info("the autoscaler would change the parallelism job=%s %s", view.job_id, changes)
            return None
        log.info("the autoscaler changes the parallelism job=%s %s", view.job_id, changes)
        for vertex, number in found.items():
            if number > graph.vertex(vertex).parallelism:
                self._grew_ms[vertex] = now_ms
        bounds = {
            v: Bounds(min(b.lower, found.get(v, b.lower)), found.get(v, b.upper)) for v, b in wanted.items()
        }
        return Advice(RescaleCause.UPDATE_REQUIREMENT, bounds)

    def _decide(self, graph: JobGraph, first: JobView, view: JobView, now_ms: int) -> dict[str, int]:
        found = loads(first, view, one_after_another=self._one_after_another, slots=self._slots.count())
        numbers = {vertex.id: vertex.parallelism for vertex in graph.vertices}
        for vertex, number in decide(found, self._watch.rules).items():
            waits = now_ms - self._grew_ms.get(vertex, -self._watch.scale_down_ms) < self._watch.scale_down_ms
            if vertex not in self._watch.excluded and not (number < numbers[vertex] and waits):
                numbers[vertex] = number
        wanted = together(numbers, forward_groups(graph))
        return {v.id: wanted[v.id] for v in graph.vertices if wanted[v.id] != v.parallelism}

    def changed(self, now_ms: int) -> None:
        self._first = None
        self._begin_ms = now_ms + self._watch.settle_ms


def loads(first: JobView, last: JobView, *, one_after_another: bool, slots: int) -> dict[str, Load]:
    """What was measured between two views of a job with the same subtasks.

    In epochs the levels run one after the other. Then a vertex is as busy as all of them together, since each
    takes from the time of the others.
    """
    passed_s = max(1e-3, (last.published_ms - first.published_ms) / 1000)
    shares = {
        vertex.id: min(1.0, _busiest_ms(first.vertex(vertex.id), vertex) / 1000 / passed_s)
        for vertex in last.vertices
    }
    if one_after_another:
        levels: dict[int, float] = {}
        for vertex in last.vertices:
            level = vertex.info.level
            levels[level] = max(levels.get(level, 0.0), shares[vertex.id])
        shares = dict.fromkeys(shares, min(1.0, sum(levels.values()) / (1 - ENGINE_SHARE)))
    lags = [dict(_lag_of(view)) for view in (first, last)]
    found: dict[str, Load] = {}
    for vertex in last.vertices:
        read = _records(vertex) - _records(first.vertex(vertex.id))
        before, after = (sum(lag.get(o.id, 0) for o in vertex.info.operators) for lag in lags)
        found[vertex.id] = Load(
            inputs=tuple(dict.fromkeys(edge.source_vertex for edge in vertex.info.inputs)),
            parallelism=len(vertex.subtasks),
            rate=read / passed_s,
            utilisation=shares[vertex.id],
            arriving=max(0.0, read + after - before) / passed_s,
            lag=after,
            may_have=_may_have(last, vertex, slots),
        )
    return found


def _busiest_ms(first: VertexView, last: VertexView) -> float:
    """A vertex is as fast as its busiest subtask."""
    return max(now.busy_ms - then.busy_ms for then, now in zip(first.subtasks, last.subtasks, strict=True))


def _records(vertex: VertexView) -> int:
    return sum(subtask.records_in for subtask in vertex.subtasks)


def _lag_of(view: JobView) -> list[tuple[str, int]]:
    return [(uid, sum(records for _, records in splits)) for uid, splits in view.lag]


def _may_have(view: JobView, vertex: VertexView, slots: int) -> int:
    """More subtasks than slots, or than a source has splits, would wait."""
    most = min(vertex.info.max_parallelism, max(1, slots))
    splits = dict(view.lag)
    known = [len(splits[o.id]) for o in vertex.info.operators if splits.get(o.id)]
    return min([most, *known])
