"""The attempts of all subtasks of a job, moved along with its epochs (Flink: ``Execution`` of each task).

An attempt begins with the job, or with each restart. It is SCHEDULED while it waits for its first epoch,
DEPLOYING while that is described, RUNNING from when the engine has it, and FINISHED when the subtask has seen
the end of its input. Between epochs nothing of it runs in a worker; it stays RUNNING.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from firesteel.graph.execution_graph import (
    Execution,
    ExecutionState as S,
    ExecutionVertex,
    create_execution_graph,
)
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.job_view import AttemptView
from firesteel.jobmanager.lines import Subtask

_LIFE: Final = (S.CREATED, S.SCHEDULED, S.DEPLOYING, S.INITIALIZING, S.RUNNING, S.FINISHED)
_AT_WORK: Final = frozenset((S.DEPLOYING, S.INITIALIZING, S.RUNNING))


class Executions:
    """Belongs to one thread. ``changed``: the subtasks whose attempts have moved since it was emptied."""

    def __init__(self, graph: JobGraph, job_id: str, now_ms: int, attempt: int = 0) -> None:
        found = create_execution_graph(graph, job_id, now_ms, attempt).subtasks
        self._subtasks: dict[Subtask, ExecutionVertex] = {(s.vertex_id, s.subtask_index): s for s in found}
        self.changed: set[Subtask] = set(self._subtasks)

    def advance(self, state: S, now_ms: int, subtasks: Iterable[Subtask] | None = None) -> None:
        """Bring the attempts of ``subtasks`` (None: of all) to a state of their life, through those before
        it; an attempt that is there already, or has ended, stays as it is."""
        for key in self._subtasks if subtasks is None else subtasks:
            execution = self._subtasks[key].current
            if execution.state in _LIFE and not execution.state.terminal:
                for step in _LIFE[_LIFE.index(execution.state) + 1 : _LIFE.index(state) + 1]:
                    self._move(key, execution, step, now_ms)

    def cancelling(self, now_ms: int) -> None:
        """Attempts that have not ended are being cancelled; those without an epoch are cancelled."""
        for key, subtask in self._subtasks.items():
            execution = subtask.current
            if execution.state in _AT_WORK:
                self._move(key, execution, S.CANCELING, now_ms)
            elif not execution.state.terminal and execution.state is not S.CANCELING:
                self._move(key, execution, S.CANCELED, now_ms)

    def cancelled(self, now_ms: int) -> None:
        """None of the attempts goes on."""
        self.cancelling(now_ms)
        for key, subtask in self._subtasks.items():
            if subtask.state is S.CANCELING:
                self._move(key, subtask.current, S.CANCELED, now_ms)

    def failed(self, failure: str, at: Subtask | None, now_ms: int) -> None:
        """The attempt ``at`` has failed, and all others end with it; None: nobody knows which it was."""
        if at is not None and not self._subtasks[at].state.terminal:
            self._subtasks[at].current.transition(S.FAILED, now_ms, failure)
            self.changed.add(at)
        self.cancelled(now_ms)

    def restarted(self, now_ms: int) -> None:
        """Each subtask begins its next attempt."""
        for key, subtask in self._subtasks.items():
            self.changed.add(key)
            subtask.new_attempt(now_ms)
        self.advance(S.SCHEDULED, now_ms)

    def attempts(self, subtask: Subtask) -> tuple[AttemptView, tuple[AttemptView, ...]]:
        """The current attempt, and those before, oldest first."""
        *earlier, current = map(_view, self._subtasks[subtask].executions)
        return current, tuple(earlier)

    def _move(self, key: Subtask, execution: Execution, state: S, now_ms: int) -> None:
        execution.transition(state, now_ms)
        self.changed.add(key)


def _view(execution: Execution) -> AttemptView:
    return AttemptView(
        execution.attempt_number,
        str(execution.attempt_id),
        execution.state,
        tuple(execution.timestamps_ms.items()),
        execution.failure,
    )
