"""The views of a job's vertices: attempts and counters of all subtasks, rebuilt only where they changed."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from firesteel.graph.execution_graph import ExecutionState
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.executions import Executions
from firesteel.jobmanager.job_view import SubtaskView, VertexInfo, VertexView
from firesteel.jobmanager.lines import Subtask
from firesteel.runtime.program import Ack


class VertexViews:
    """Belongs to the job's own thread. ``executions`` are moved by whoever knows what happens."""

    def __init__(self, infos: tuple[VertexInfo, ...], graph: JobGraph, job_id: str, now_ms: int) -> None:
        self.executions = Executions(graph, job_id, now_ms)
        self._operators = {info.id: tuple(o.id for o in info.operators) for info in infos}
        self._subtasks: dict[Subtask, SubtaskView] = {}
        for key in self.executions.changed:
            attempt, _ = self.executions.attempts(key)
            zeros = ((0, 0),) * len(self._operators[key[0]])
            self._subtasks[key] = SubtaskView(key[1], attempt, operators=zeros)
        self.executions.changed.clear()
        self._touched: set[str] = set()  # vertices whose view is out of date
        self._views = tuple(self._view(info) for info in infos)

    def knows(self, subtask: Subtask) -> bool:
        return subtask in self._subtasks

    def count(self, acks: Iterable[Ack], now_ms: int) -> None:
        """The answers of a committed epoch count; a subtask that is done with its input has finished."""
        ended: list[Subtask] = []
        for ack in acks:
            key = (ack.vertex, ack.subtask)
            if ack.ended:
                ended.append(key)
            before = self._subtasks[key]
            worked = ack.records_in or ack.records_out or any(map(any, ack.operators.values()))
            if worked or ack.watermark not in (None, before.watermark):
                self._subtasks[key] = _counted(before, ack, self._operators[ack.vertex])
                self._touched.add(ack.vertex)
        if ended:
            self.executions.advance(ExecutionState.FINISHED, now_ms, ended)

    def take(self) -> tuple[VertexView, ...]:
        """The views as of now; what did not change is the same object as before."""
        for key in self.executions.changed:
            attempt, earlier = self.executions.attempts(key)
            before = self._subtasks[key]
            self._subtasks[key] = msgspec.structs.replace(before, attempt=attempt, earlier=earlier)
            self._touched.add(key[0])
        self.executions.changed.clear()
        if self._touched:
            self._views = tuple(self._view(v.info) if v.id in self._touched else v for v in self._views)
            self._touched.clear()
        return self._views

    def _view(self, info: VertexInfo) -> VertexView:
        return VertexView(info, tuple(self._subtasks[info.id, i] for i in range(info.parallelism)))


def _counted(before: SubtaskView, ack: Ack, operators: tuple[str, ...]) -> SubtaskView:
    counts = tuple(
        (records_in + more[0], records_out + more[1])
        for (records_in, records_out), more in zip(
            before.operators, (ack.operators.get(uid, (0, 0)) for uid in operators), strict=True
        )
    )
    return SubtaskView(
        before.index,
        before.attempt,
        before.earlier,
        before.records_in + ack.records_in,
        before.records_out + ack.records_out,
        before.bytes_in + ack.bytes_in,
        before.bytes_out + ack.bytes_out,
        counts,
        before.watermark if ack.watermark is None else ack.watermark,
    )
