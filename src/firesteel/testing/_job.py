"""A job whose epochs a test runs one by one, in this process.

What the job manager does for an epoch and nothing of its loop: descriptors go out, answers come in, and the
epoch counts whole or not at all. The tasks, the rows between them and the state are the real ones.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from firesteel.common.errors import JobExecutionError
from firesteel.common.job_id import JobID
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.levels import Level, plan_levels
from firesteel.jobmanager.accumulated import Accumulated
from firesteel.jobmanager.committed import CommittedState
from firesteel.jobmanager.epochs import EpochRunner
from firesteel.jobmanager.lines import Subtask
from firesteel.jobmanager.shipping import ship
from firesteel.jobmanager.translate import to_program
from firesteel.runtime.checkpoint_news import NO_NEWS, CheckpointEnd, CheckpointNews
from firesteel.runtime.program import Answer, LevelDescriptor, SourceAssignment
from firesteel.runtime.user_code import UserCodeError
from firesteel.runtime.wire import RowKind, WireRow, edge_of
from firesteel.state.files import StateFiles
from firesteel.state.line import StateLine
from firesteel.state.manifest import SubtaskEntry
from firesteel.storage.process_directory import new_directory
from firesteel.testing.local_platform import AlternatingEngine

Assignments = Mapping[Subtask, Mapping[str, SourceAssignment]]  # by source operator


class _TappedEngine(AlternatingEngine):
    """Keeps the rows that arrive on some edges, as their consumer gets them."""

    def __init__(self, processes: int, taps: Mapping[int, Collection[int]]) -> None:
        super().__init__(processes)
        self._taps = taps  # level of the consumer -> edges
        self.tapped: list[WireRow] = []

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        self.tapped = []
        return super().run(levels, parallelism)

    def _run_level(self, descriptor: LevelDescriptor, width: int, rows: list[WireRow]) -> list[WireRow]:
        edges = self._taps.get(descriptor.level, ())
        self.tapped += [row for row in rows if row.kind == RowKind.DATA and edge_of(row.channel) in edges]
        return super()._run_level(descriptor, width, rows)


class HandDrivenJob:
    """One job, from its graph on.

    :param processes: how many worker processes take the epochs in turn.
    :param taps: the vertices whose input ``run_epoch`` gives back.
    """

    def __init__(
        self, graph: JobGraph, settings: dict[str, Any], processes: int, taps: Collection[str]
    ) -> None:
        self.graph = graph
        self._plan = plan_levels(graph)
        self._job_id = JobID()
        directory = str(new_directory())
        weakref.finalize(self, shutil.rmtree, directory, True)
        self.files = StateFiles(directory)
        self._program = ship(to_program(str(self._job_id), graph, self._plan, settings), self.files)
        edges: dict[int, list[int]] = {}
        for vertex in map(graph.vertex, taps):
            edges.setdefault(self._plan.level_of(vertex.id), []).extend(e.id for e in vertex.inputs)
        self._engine = _TappedEngine(processes, edges)
        self._state = CommittedState(
            self.files, [(v.id, i) for v in graph.vertices for i in range(v.parallelism)]
        )
        self._runner = EpochRunner(
            self._engine, self._job_id, graph, self._state.subtasks, 1, is_cancelled=lambda: False
        )
        self.accumulated = Accumulated()
        self.warnings: list[str] = []
        self._epoch = 0
        self._news = NO_NEWS

    def run_epoch(
        self, now_ms: int, sources: Assignments, ended: tuple[CheckpointEnd, ...] = ()
    ) -> list[WireRow]:
        """Run an epoch and commit it; the rows that came to the tapped vertices.

        :param ended: the checkpoints that functions are told of.

        Raises what the user's code has raised. The job then is where it was before.
        """
        next_id = max([self._news.next_id, *(end.id + 1 for end in ended)])
        self._news = CheckpointNews(next_id, ended)
        levels = [self._descriptor(level, now_ms, sources) for level in self._plan.levels]
        try:
            done = self._runner.run(levels, [level.parallelism for level in self._plan.levels])
        except JobExecutionError as e:
            if e.__cause__ is None:
                raise
            raise _located(e.__cause__, e.operator, e.subtask) from None
        assert done is not None, "nobody cancels it"
        acks = done.acks
        self._epoch += 1
        self._state.commit(f"{self._job_id}-{self._epoch}", acks)
        self.accumulated.add(acks, done.reports)
        self.warnings += [warning for ack in acks for warning in ack.warnings]
        return self._engine.tapped

    @property
    def next_timer_ms(self) -> int | None:
        """The processing time at which something is due without input."""
        return self._state.next_timer_ms

    @property
    def lines(self) -> dict[Subtask, StateLine]:
        """The committed state of each subtask that has some."""
        lines = {subtask: self._state.line(subtask) for subtask in self._state.subtasks}
        return {subtask: line for subtask, line in lines.items() if line.manifest_id}

    def begin_with(self, lines: Mapping[Subtask, StateLine]) -> None:
        """Begin with this state; before the first epoch."""
        assert self._epoch == 0, "an epoch has run"
        begin = {subtask: SubtaskEntry(line) for subtask, line in lines.items()}
        self._state = CommittedState(self.files, self._state.subtasks, begin)

    def close(self) -> None:
        """Close all functions; raises what the first of them raises that fails."""
        failed: BaseException | None = None
        for chain in self._engine.chains():
            try:
                chain.close()
            except UserCodeError as e:
                failed = failed or _located(e.__cause__ or e, e.operator, chain.context.subtask)
        if failed is not None:
            raise failed

    def _descriptor(self, level: Level, now_ms: int, sources: Assignments) -> LevelDescriptor:
        return LevelDescriptor(
            job_id=str(self._job_id),
            attempt=0,
            epoch=self._epoch + 1,
            now_ms=now_ms,
            level=level.index,
            program=self._program,
            state_dir=self.files.root,
            local_dir=None,
            live_jobs=(),
            news=self._news,
            subtasks={
                (vertex.id, i): self._state.descriptor((vertex.id, i), dict(sources.get((vertex.id, i), {})))
                for vertex in level.vertices
                for i in range(vertex.parallelism)
            },
        )


def _located(error: BaseException, operator: str | None, subtask: int | None) -> BaseException:
    """The exception of the user's code itself: that is what a test wants to see."""
    error.add_note(f"raised in operator {operator!r}, subtask {subtask}")
    return error
