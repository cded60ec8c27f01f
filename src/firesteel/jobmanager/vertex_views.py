"""What the views of a job's vertices are made of: attempts and counts of all subtasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from firesteel.graph.execution_graph import ExecutionState
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.executions import Executions
from firesteel.jobmanager.job_view import AttemptView, VertexInfo
from firesteel.jobmanager.lines import Subtask
from firesteel.jobmanager.spent import NOTHING, EpochWork
from firesteel.jobmanager.vertex_counts import VertexCounts
from firesteel.runtime.program import Ack
from firesteel.runtime.task_report import TaskReport


class VertexViews:
    """Belongs to the job's own thread. ``executions`` are moved by whoever knows what happens."""

    def __init__(self, infos: tuple[VertexInfo, ...], graph: JobGraph, job_id: str, now_ms: int) -> None:
        self._job_id = job_id
        self.executions = Executions(graph, job_id, now_ms)
        self._counts = {info.id: VertexCounts.nothing(info, self._attempts(info)) for info in infos}
        self.executions.changed.clear()

    def _attempts(self, info: VertexInfo) -> list[AttemptView]:
        return [self.executions.attempts((info.id, index))[0] for index in range(info.parallelism)]

    def rescaled(self, infos: tuple[VertexInfo, ...], graph: JobGraph, attempt: int, now_ms: int) -> None:
        """The vertices have other subtasks from here on."""
        before = self._counts
        self.executions = Executions(graph, self._job_id, now_ms, attempt)
        self._counts = {info.id: before[info.id].rescaled(info, self._attempts(info)) for info in infos}
        self.executions.changed.clear()

    def knows(self, subtask: Subtask) -> bool:
        vertex, index = subtask
        return vertex in self._counts and index < self._counts[vertex].info.parallelism

    def count(self, acks: Iterable[Ack], work: EpochWork, now_ms: int) -> None:
        """The answers of a committed epoch count; a subtask that is done with its input has finished.

        :param acks: of all subtasks, in their order.
        """
        ended: list[Subtask] = []
        reports: defaultdict[int, list[TaskReport]] = defaultdict(list)  # by level
        for report in work.reports:
            reports[report.level].append(report)
        for vertex, found in groupby(acks, attrgetter("vertex")):
            of_vertex, before = list(found), self._counts[vertex]
            ended += [(vertex, ack.subtask) for ack in of_vertex if ack.ended]
            spent = [work.spent.get((vertex, index), NOTHING) for index in range(len(of_vertex))]
            self._counts[vertex] = before.with_epoch(of_vertex, spent, reports[before.info.level], now_ms)
        if ended:
            self.executions.advance(ExecutionState.FINISHED, now_ms, ended)

    def take(self) -> tuple[VertexCounts, ...]:
        """The counts as of now; what did not change is the same object as before."""
        moved: defaultdict[str, list[int]] = defaultdict(list)
        for vertex, index in self.executions.changed:
            moved[vertex].append(index)
        self.executions.changed.clear()
        for vertex, indexes in moved.items():
            attempts = {index: self.executions.attempts((vertex, index)) for index in indexes}
            self._counts[vertex] = self._counts[vertex].with_attempts(attempts)
        return tuple(self._counts.values())
