"""The views of a job's vertices: attempts and counters of all subtasks, rebuilt only where they changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat

from msgspec.structs import replace

from firesteel.graph.execution_graph import ExecutionState
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.executions import Executions
from firesteel.jobmanager.job_view import AttemptView, MetricView, SubtaskView, VertexInfo, VertexView
from firesteel.jobmanager.lines import Subtask
from firesteel.jobmanager.spent import NOTHING, EpochWork, Spent
from firesteel.jobmanager.subtask_metrics import SubtaskMetrics
from firesteel.runtime.program import Ack


class VertexViews:
    """Belongs to the job's own thread. ``executions`` are moved by whoever knows what happens."""

    def __init__(self, infos: tuple[VertexInfo, ...], graph: JobGraph, job_id: str, now_ms: int) -> None:
        self._job_id = job_id
        self.executions = Executions(graph, job_id, now_ms)
        self._operators = {info.id: tuple(o.id for o in info.operators) for info in infos}
        self._subtasks: dict[str, list[SubtaskView]] = {}  # by vertex, in their order
        for info in infos:
            zeros = ((0, 0),) * len(info.operators)
            attempts = (self.executions.attempts((info.id, i))[0] for i in range(info.parallelism))
            subtasks = [SubtaskView(i, attempt, operators=zeros) for i, attempt in enumerate(attempts)]
            self._subtasks[info.id] = subtasks
        self.executions.changed.clear()
        self._measured = SubtaskMetrics()
        self._touched: set[str] = set()  # vertices whose view is out of date
        self._views = tuple(self._view(info) for info in infos)

    def rescaled(self, infos: tuple[VertexInfo, ...], graph: JobGraph, attempt: int, now_ms: int) -> None:
        """The vertices have other subtasks from here on. What those have counted that are no more is added to
        the ones that are, so that the sums stay."""
        before = self._subtasks
        self.executions = Executions(graph, self._job_id, now_ms, attempt)
        self._subtasks = {}
        for info in infos:
            zeros = ((0, 0),) * len(info.operators)
            new = []
            for index in range(info.parallelism):
                current, _ = self.executions.attempts((info.id, index))
                new.append(_sum(index, current, zeros, before[info.id][index :: info.parallelism]))
            self._subtasks[info.id] = new
            self._measured.rescaled(info.id, info.parallelism)
        self.executions.changed.clear()
        self._touched.clear()
        self._views = tuple(self._view(info) for info in infos)

    def knows(self, subtask: Subtask) -> bool:
        vertex, index = subtask
        return vertex in self._subtasks and index < len(self._subtasks[vertex])

    def count(self, acks: Iterable[Ack], work: EpochWork, now_ms: int) -> None:
        """The answers of a committed epoch count; a subtask that is done with its input has finished."""
        ended: list[Subtask] = []
        measured = self._measured
        measured.take(work.reports)
        lags = {(uid, r.subtask): ms for r in work.reports for uid, ms in r.lags_ms.items()}
        for ack in acks:
            subtask = vertex, index = ack.vertex, ack.subtask
            if ack.ended:
                ended.append(subtask)
            before = self._subtasks[vertex][index]
            worked = ack.records_in or ack.records_out or any(map(any, ack.operators.values()))
            spent = work.spent.get(subtask, NOTHING)
            metrics = measured.of(subtask, ack)
            news = metrics is not None or spent.busy or spent.back_pressured
            if worked or news or ack.watermark not in (None, before.watermark):
                operators = self._operators[vertex]
                lag_ms = before.lag_ms
                if lags:
                    lag_ms = next((lags[uid, index] for uid in operators if (uid, index) in lags), lag_ms)
                active_ms = now_ms if worked else before.active_ms
                metrics = before.metrics if metrics is None else metrics
                counted = _counted(before, ack, operators, spent, active_ms, lag_ms, metrics)
                self._subtasks[vertex][index] = counted
                self._touched.add(vertex)
        if ended:
            self.executions.advance(ExecutionState.FINISHED, now_ms, ended)

    def take(self) -> tuple[VertexView, ...]:
        """The views as of now; what did not change is the same object as before."""
        for vertex, index in self.executions.changed:
            attempt, earlier = self.executions.attempts((vertex, index))
            before = self._subtasks[vertex][index]
            self._subtasks[vertex][index] = replace(before, attempt=attempt, earlier=earlier)
            self._touched.add(vertex)
        self.executions.changed.clear()
        if self._touched:
            self._views = tuple(self._view(v.info) if v.id in self._touched else v for v in self._views)
            self._touched.clear()
        return self._views

    def _view(self, info: VertexInfo) -> VertexView:
        return VertexView(info, tuple(self._subtasks[info.id]))


def _sum(
    index: int, attempt: AttemptView, zeros: tuple[tuple[int, int], ...], parts: Sequence[SubtaskView]
) -> SubtaskView:
    """A subtask with what several have counted."""
    operators = zeros
    for part in parts:
        operators = tuple((a + c, b + d) for (a, b), (c, d) in zip(operators, part.operators, strict=True))
    watermarks = [part.watermark for part in parts]
    return SubtaskView(
        index,
        attempt,
        records_in=sum(part.records_in for part in parts),
        records_out=sum(part.records_out for part in parts),
        bytes_in=sum(part.bytes_in for part in parts),
        bytes_out=sum(part.bytes_out for part in parts),
        operators=operators,
        watermark=None if None in watermarks else min(watermarks, default=None),  # type: ignore[type-var]
        busy_ms=sum(part.busy_ms for part in parts),
        back_pressured_ms=sum(part.back_pressured_ms for part in parts),
        active_ms=max((part.active_ms for part in parts), default=0),
    )


def _counted(
    before: SubtaskView,
    ack: Ack,
    operators: tuple[str, ...],
    spent: Spent,
    active_ms: int,
    lag_ms: int | None,
    metrics: tuple[MetricView, ...],
) -> SubtaskView:
    """A subtask with what an epoch of it adds."""
    more = map(ack.operators.get, operators, repeat((0, 0)))
    return SubtaskView(  # hot: in one step, and by position
        before.index,
        before.attempt,
        before.earlier,
        before.records_in + ack.records_in,
        before.records_out + ack.records_out,
        before.bytes_in + ack.bytes_in,
        before.bytes_out + ack.bytes_out,
        tuple([(a + b, c + d) for (a, c), (b, d) in zip(before.operators, more, strict=True)]),
        before.watermark if ack.watermark is None else ack.watermark,
        before.busy_ms + spent.busy,
        before.back_pressured_ms + spent.back_pressured,
        active_ms,
        lag_ms,
        metrics,
    )
