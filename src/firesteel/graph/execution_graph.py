"""The execution graph: a job vertex has subtasks, a subtask has attempts (Flink: ``ExecutionGraph``).

It is a model of what runs; it starts nothing and reads no clock. The job master moves it along with the
epochs of its job (``jobmanager/executions.py``), and ``firesteel info`` shows how it begins.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from firesteel.common.errors import EngineError
from firesteel.common.key_groups import key_group_range
from firesteel.graph.distribution import pointwise_consumers, pointwise_producers
from firesteel.graph.job_graph import DistributionPattern, JobEdge, JobGraph, JobVertex

_ENDED_ATTEMPTS_KEPT: Final = 16  # of each subtask, so that a job may be restarted for ever


class ExecutionState(enum.Enum):
    """The state of one attempt of one subtask."""

    CREATED = "CREATED"
    SCHEDULED = "SCHEDULED"
    DEPLOYING = "DEPLOYING"
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELING = "CANCELING"
    CANCELED = "CANCELED"
    FAILED = "FAILED"

    @property
    def terminal(self) -> bool:
        return not _LEGAL[self]


_S = ExecutionState
_LEGAL: Mapping[ExecutionState, frozenset[ExecutionState]] = {
    _S.CREATED: frozenset({_S.SCHEDULED, _S.CANCELED, _S.FAILED}),
    _S.SCHEDULED: frozenset({_S.DEPLOYING, _S.CANCELED, _S.FAILED}),
    _S.DEPLOYING: frozenset({_S.INITIALIZING, _S.CANCELING, _S.FAILED}),
    _S.INITIALIZING: frozenset({_S.RUNNING, _S.CANCELING, _S.FAILED}),
    _S.RUNNING: frozenset({_S.FINISHED, _S.CANCELING, _S.FAILED}),
    _S.CANCELING: frozenset({_S.CANCELED, _S.FAILED}),
    _S.FINISHED: frozenset(),
    _S.CANCELED: frozenset(),
    _S.FAILED: frozenset(),
}


@dataclass(frozen=True, slots=True)
class ExecutionAttemptID:
    """Names one attempt and no other: ``graph_id`` differs for each execution graph that was ever made."""

    graph_id: str
    vertex_id: str
    subtask_index: int
    attempt_number: int

    def __str__(self) -> str:
        return f"{self.graph_id}_{self.vertex_id}_{self.subtask_index}_{self.attempt_number}"


@dataclass(slots=True)
class Execution:
    """One attempt to run a subtask. ``timestamps_ms`` says when it entered each of its states."""

    attempt_id: ExecutionAttemptID
    state: ExecutionState = ExecutionState.CREATED
    timestamps_ms: dict[ExecutionState, int] = field(default_factory=dict)
    failure: str | None = None

    @property
    def attempt_number(self) -> int:
        return self.attempt_id.attempt_number

    def transition(self, state: ExecutionState, now_ms: int, failure: str | None = None) -> None:
        """Enter ``state``; raises EngineError when no attempt may go there from its present state."""
        if state not in _LEGAL[self.state]:
            raise EngineError(
                f"An attempt cannot go from {self.state.value} to {state.value}.",
                detail=f"attempt {self.attempt_id}",
                subtask=self.attempt_id.subtask_index,
            )
        self.state = state
        self.timestamps_ms[state] = now_ms
        if failure is not None:
            self.failure = failure


@dataclass(frozen=True, slots=True)
class InputGate:
    """What a subtask reads of one edge: one channel for each producer subtask in ``producers``."""

    edge: JobEdge
    producers: range

    @property
    def channels(self) -> int:
        return len(self.producers)


@dataclass(frozen=True, slots=True)
class ResultPartition:
    """What a subtask writes to one edge: one subpartition for each consumer subtask in ``consumers``."""

    edge: JobEdge
    consumers: range

    @property
    def subpartitions(self) -> int:
        return len(self.consumers)


@dataclass(slots=True)
class ExecutionVertex:
    """One subtask. ``key_groups`` are those it owns; ``executions`` its newest attempts, the current one
    last."""

    vertex_id: str
    name: str
    subtask_index: int
    key_groups: range
    gates: tuple[InputGate, ...]
    partitions: tuple[ResultPartition, ...]
    executions: list[Execution]

    @property
    def current(self) -> Execution:
        return self.executions[-1]

    @property
    def state(self) -> ExecutionState:
        return self.current.state

    def new_attempt(self, now_ms: int) -> Execution:
        """Begin the next attempt. Raises EngineError while the current one has not ended: two attempts of a
        subtask that both count would break exactly-once."""
        last = self.current
        if not last.state.terminal:
            raise EngineError(
                f"A new attempt may not begin while the last one is {last.state.value}.",
                detail=f"attempt {last.attempt_id}",
                operator=self.name,
                subtask=self.subtask_index,
            )
        old = last.attempt_id
        attempt_id = ExecutionAttemptID(
            old.graph_id, old.vertex_id, old.subtask_index, old.attempt_number + 1
        )
        self.executions.append(Execution(attempt_id, timestamps_ms={ExecutionState.CREATED: now_ms}))
        del self.executions[: -_ENDED_ATTEMPTS_KEPT - 1]
        return self.current


@dataclass(slots=True)
class ExecutionJobVertex:
    """A job vertex and its subtasks."""

    job_vertex: JobVertex
    subtasks: tuple[ExecutionVertex, ...]

    @property
    def id(self) -> str:
        return self.job_vertex.id

    @property
    def name(self) -> str:
        return self.job_vertex.name

    def state_counts(self) -> dict[ExecutionState, int]:
        """How many subtasks are in each state (all states, so the sum is the parallelism)."""
        counts = Counter(subtask.state for subtask in self.subtasks)
        return {state: counts[state] for state in ExecutionState}

    def state(self) -> ExecutionState:
        return aggregate_state([subtask.state for subtask in self.subtasks])


_WORST_FIRST = (_S.FAILED, _S.CANCELING, _S.CANCELED, _S.INITIALIZING, _S.RUNNING)


def aggregate_state(states: Collection[ExecutionState]) -> ExecutionState:
    """One state for subtasks with these: the worst of them, and FINISHED only when all are."""
    found = set(states)
    for state in _WORST_FIRST:
        if state in found:
            return state
    if _S.FINISHED in found:
        return _S.FINISHED if len(found) == 1 else _S.RUNNING
    return _S.CREATED


@dataclass(slots=True)
class ExecutionGraph:
    """``vertices`` in the order of the job graph."""

    id: str
    job_graph: JobGraph
    vertices: tuple[ExecutionJobVertex, ...]

    def vertex(self, vertex_id: str) -> ExecutionJobVertex:
        return next(vertex for vertex in self.vertices if vertex.id == vertex_id)

    @property
    def subtasks(self) -> tuple[ExecutionVertex, ...]:
        return tuple(subtask for vertex in self.vertices for subtask in vertex.subtasks)

    def state_counts(self) -> dict[ExecutionState, int]:
        """How many subtasks of the job are in each state."""
        counts = Counter(subtask.state for subtask in self.subtasks)
        return {state: counts[state] for state in ExecutionState}


def create_execution_graph(
    job_graph: JobGraph, graph_id: str, now_ms: int, attempt: int = 0
) -> ExecutionGraph:
    """Every subtask of the job with its first attempt, CREATED. ``graph_id`` must never be used twice with
    the same number.

    :param attempt: the number of that attempt.
    """
    parallelism = {vertex.id: vertex.parallelism for vertex in job_graph.vertices}
    vertices = []
    for vertex in job_graph.vertices:
        subtasks = tuple(
            _subtask(vertex, index, parallelism, graph_id, now_ms, attempt)
            for index in range(vertex.parallelism)
        )
        vertices.append(ExecutionJobVertex(vertex, subtasks))
    return ExecutionGraph(graph_id, job_graph, tuple(vertices))


def _subtask(
    vertex: JobVertex, index: int, parallelism: Mapping[str, int], graph_id: str, now_ms: int, attempt: int
) -> ExecutionVertex:
    attempt_id = ExecutionAttemptID(graph_id, vertex.id, index, attempt)
    return ExecutionVertex(
        vertex_id=vertex.id,
        name=vertex.name,
        subtask_index=index,
        key_groups=key_group_range(vertex.max_parallelism, vertex.parallelism, index),
        gates=tuple(
            InputGate(edge, _producers(edge, index, parallelism[edge.source_vertex], vertex.parallelism))
            for edge in vertex.inputs
        ),
        partitions=tuple(
            ResultPartition(
                edge, _consumers(edge, index, vertex.parallelism, parallelism[edge.target_vertex])
            )
            for edge in vertex.outputs
        ),
        executions=[Execution(attempt_id, timestamps_ms={ExecutionState.CREATED: now_ms})],
    )


def _producers(edge: JobEdge, index: int, producers: int, consumers: int) -> range:
    if edge.pattern is DistributionPattern.POINTWISE:
        return pointwise_producers(index, producers, consumers)
    return range(producers)


def _consumers(edge: JobEdge, index: int, producers: int, consumers: int) -> range:
    if edge.pattern is DistributionPattern.POINTWISE:
        return pointwise_consumers(index, producers, consumers)
    return range(consumers)
