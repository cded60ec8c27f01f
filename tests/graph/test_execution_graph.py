from __future__ import annotations

import itertools

import pytest

from firesteel.common.errors import EngineError
from firesteel.graph.execution_graph import (
    Execution,
    ExecutionGraph,
    ExecutionState,
    ExecutionVertex,
    create_execution_graph,
)
from firesteel.program.transformations import ChainingStrategy, PartitionKind

from .graph_programs import Program, window_program

S = ExecutionState
LIFE = (S.SCHEDULED, S.DEPLOYING, S.INITIALIZING, S.RUNNING, S.FINISHED)


def expand(program: Program, parallelism: int = 2) -> ExecutionGraph:
    return create_execution_graph(program.job(parallelism), "graph-1", now_ms=5)


def drive(subtask: ExecutionVertex, *states: ExecutionState) -> None:
    for state in states:
        subtask.current.transition(state, now_ms=10)


@pytest.mark.row("S-SLOT-13", "S-NET-01", "S-NET-02")
def test_the_window_program_gates_and_partitions() -> None:
    source, window, sink = expand(window_program()).vertices
    # 2 x 2: two partitions with two subpartitions each, and 2 x 1
    assert [[p.subpartitions for p in s.partitions] for s in source.subtasks] == [[2], [2]]
    assert [[p.subpartitions for p in s.partitions] for s in window.subtasks] == [[1], [1]]
    assert [s.partitions for s in sink.subtasks] == [()]
    assert [s.gates for s in source.subtasks] == [(), ()]
    assert [[g.channels for g in s.gates] for s in window.subtasks] == [[2], [2]]
    assert [[g.channels for g in s.gates] for s in sink.subtasks] == [[2]]


def test_forward_edges_have_one_channel_and_a_union_a_gate_for_each_input() -> None:
    p = Program()
    p.op("m", p.union(p.source("a"), p.source("b", parallelism=3)))
    merged = expand(p).vertices[2]
    assert [[g.producers for g in s.gates] for s in merged.subtasks] == [
        [range(1), range(3)],
        [range(1, 2), range(3)],
    ]


@pytest.mark.parametrize(
    ("producers", "consumers", "channels"), [(2, 4, [[0], [0], [1], [1]]), (5, 2, [[0, 1], [2, 3, 4]])]
)
def test_rescale_connects_few_with_few(producers: int, consumers: int, channels: list[list[int]]) -> None:
    p = Program()
    s = p.source(parallelism=producers)
    p.op("m", p.partition(s, PartitionKind.RESCALE), parallelism=consumers)
    source, target = expand(p).vertices
    assert [list(s.gates[0].producers) for s in target.subtasks] == channels
    for s in source.subtasks:
        reached = [t.subtask_index for t in target.subtasks if s.subtask_index in t.gates[0].producers]
        assert list(s.partitions[0].consumers) == reached


@pytest.mark.row("S-GRAPH-16")
def test_one_vertex_of_parallelism_100_has_100_subtasks() -> None:
    p = Program()
    p.sink(p.op("m", p.source()))
    graph = expand(p, parallelism=100)
    assert (len(graph.vertices), len(graph.subtasks)) == (1, 100)
    ids = {str(s.current.attempt_id) for s in graph.subtasks}
    assert len(ids) == 100


def test_key_group_ranges_cover_all_groups() -> None:
    p = Program()
    p.op("m", p.source(), parallelism=3, chaining=ChainingStrategy.NEVER)
    subtasks = expand(p).vertices[1].subtasks
    assert [s.key_groups for s in subtasks] == [range(43), range(43, 86), range(86, 128)]


@pytest.mark.row("S-GRAPH-18")
def test_states_of_a_life_are_counted_and_timed() -> None:
    graph = expand(window_program())
    source = graph.vertices[0]
    assert source.state() is S.CREATED
    drive(source.subtasks[0], *LIFE[:4])
    assert (source.state(), source.state_counts()[S.RUNNING], source.state_counts()[S.CREATED]) == (
        S.RUNNING,
        1,
        1,
    )
    drive(source.subtasks[0], S.FINISHED)
    assert source.state() is S.RUNNING  # one of two
    drive(source.subtasks[1], *LIFE)
    assert source.state() is S.FINISHED
    assert sum(graph.state_counts().values()) == 5
    assert source.subtasks[0].current.timestamps_ms == {S.CREATED: 5, **dict.fromkeys(LIFE, 10)}


@pytest.mark.parametrize(
    ("first", "second", "aggregate"),
    [
        (S.FAILED, S.CANCELED, S.FAILED),
        (S.CANCELING, S.RUNNING, S.CANCELING),
        (S.CANCELED, S.RUNNING, S.CANCELED),
        (S.INITIALIZING, S.RUNNING, S.INITIALIZING),
        (S.RUNNING, S.CREATED, S.RUNNING),
        (S.SCHEDULED, S.DEPLOYING, S.CREATED),
    ],
)
@pytest.mark.row("S-GRAPH-18")
def test_aggregated_state(first: S, second: S, aggregate: S) -> None:
    vertex = expand(window_program()).vertices[0]
    for subtask, state in zip(vertex.subtasks, (first, second), strict=True):
        subtask.current.state = state
    assert vertex.state() is aggregate


LEGAL = {
    *itertools.pairwise((S.CREATED, *LIFE)),
    *((state, S.FAILED) for state in (S.CREATED, *LIFE[:4], S.CANCELING)),
    *((state, S.CANCELING) for state in (S.DEPLOYING, S.INITIALIZING, S.RUNNING)),
    *((state, S.CANCELED) for state in (S.CREATED, S.SCHEDULED, S.CANCELING)),
}


@pytest.mark.parametrize(("old", "new"), list(itertools.product(S, S)))
@pytest.mark.row("S-LIFE-10")
def test_only_legal_transitions(old: S, new: S) -> None:
    execution = Execution(expand(window_program()).subtasks[0].current.attempt_id, state=old)
    if (old, new) in LEGAL:
        execution.transition(new, 1, failure="why")
        assert (execution.state, execution.failure) == (new, "why")
    else:
        with pytest.raises(EngineError, match=f"from {old.value} to {new.value}"):
            execution.transition(new, 1)
        assert execution.state is old


@pytest.mark.row("S-GRAPH-17")
def test_a_new_attempt_has_the_next_number_and_another_id() -> None:
    subtask = expand(window_program()).subtasks[1]
    first = subtask.current
    with pytest.raises(EngineError, match="CREATED"):
        subtask.new_attempt(20)
    drive(subtask, *LIFE[:4], S.FAILED)
    second = subtask.new_attempt(20)
    assert subtask.executions == [first, second]
    assert (second.attempt_number, second.state, subtask.state) == (1, S.CREATED, S.CREATED)
    assert str(second.attempt_id) != str(first.attempt_id)
    assert second.timestamps_ms == {S.CREATED: 20}


def test_attempts_of_two_graphs_of_one_job_differ() -> None:
    job = window_program().job()
    one, two = (create_execution_graph(job, name, 0) for name in ("one", "two"))
    assert {s.current.attempt_id for s in one.subtasks}.isdisjoint(s.current.attempt_id for s in two.subtasks)


def test_vertices_are_found_by_id() -> None:
    graph = expand(window_program())
    assert graph.vertex(graph.vertices[1].id) is graph.vertices[1]
    assert graph.vertices[1].name == "window"
