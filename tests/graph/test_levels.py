from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from firesteel.graph.job_graph import JobGraph
from firesteel.graph.levels import LevelPlan, RouteKind, plan_levels
from firesteel.program.transformations import ChainingStrategy, PartitionKind

from .graph_programs import Program, window_program

LOCAL, EXCHANGE, CARRIED = RouteKind.LOCAL, RouteKind.EXCHANGE, RouteKind.CARRIED


def levels(plan: LevelPlan) -> list[list[str]]:
    return [[vertex.name for vertex in level.vertices] for level in plan.levels]


def routes(graph: JobGraph) -> dict[tuple[str, str], tuple[RouteKind, int, int]]:
    return {
        (graph.vertex(r.edge.source_vertex).name, graph.vertex(r.edge.target_vertex).name): (
            r.kind,
            r.source_level,
            r.target_level,
        )
        for r in plan_levels(graph).routes
    }


def test_the_window_program_has_three_levels() -> None:
    plan = plan_levels(window_program().job())
    assert levels(plan) == [["Source: numbers -> map"], ["window"], ["Sink: out"]]
    assert [level.parallelism for level in plan.levels] == [2, 2, 1]
    assert plan.exchanges == 2
    assert [r.kind for r in plan.routes] == [EXCHANGE, EXCHANGE]


@pytest.mark.row("S-BATCH-07", "S-PERF-09")
def test_a_map_only_job_has_one_level_and_no_exchange() -> None:
    p = Program()
    p.sink(p.op("m", p.source()))
    plan = plan_levels(p.job())
    assert (len(plan.levels), plan.exchanges, plan.routes) == (1, 0, ())


@pytest.mark.row("S-SLOT-10")
def test_forward_edges_between_vertices_stay_inside_the_level_in_order() -> None:
    graph = window_program(None).job(chaining=False)
    plan = plan_levels(graph)
    assert levels(plan) == [["Source: numbers", "map"], ["window", "Sink: out"]]
    assert [r.kind for r in plan.routes] == [LOCAL, EXCHANGE, LOCAL]
    first, second = plan.levels
    assert [r.edge.id for r in first.local] == [0]
    assert [r.edge.id for r in first.outgoing] == [r.edge.id for r in second.incoming] == [1]


def test_diamond_with_unequal_depth_passes_through_a_level() -> None:
    p = Program()
    s = p.op("s", p.source())
    deep = p.keyed("deep", s)
    p.two("join", p.partition(s, PartitionKind.BROADCAST), p.partition(deep, PartitionKind.REBALANCE))
    graph = p.job()
    plan = plan_levels(graph)
    assert levels(plan) == [["Source: seq -> s"], ["deep"], ["join"]]
    assert routes(graph) == {
        ("Source: seq -> s", "deep"): (EXCHANGE, 0, 1),
        ("Source: seq -> s", "join"): (EXCHANGE, 0, 2),
        ("deep", "join"): (EXCHANGE, 1, 2),
    }
    (passing,) = plan.levels[1].passing
    assert passing.edge.ship_strategy == "BROADCAST"
    assert (plan.levels[0].passing, plan.levels[2].passing) == ((), ())


def test_forward_edge_to_a_later_level_is_carried_to_its_own_subtask() -> None:
    p = Program()
    s = p.source("s")
    deep = p.keyed("deep", s)
    p.op("u", p.union(s, p.partition(deep, PartitionKind.REBALANCE)))
    graph = p.job()
    assert routes(graph)["Source: s", "u"] == (CARRIED, 0, 2)
    plan = plan_levels(graph)
    assert [r.kind for r in plan.levels[2].incoming] == [CARRIED, EXCHANGE]
    assert [r.kind for r in plan.levels[1].passing] == [CARRIED]


def test_forward_behind_an_exchange_keeps_the_deeper_level() -> None:
    p = Program()
    shallow = p.op("shallow", p.source("a"))
    deep = p.keyed("deep", p.source("b"))
    p.sink(p.two("co", shallow, deep))
    graph = p.job()
    assert routes(graph) == {
        ("Source: b", "deep"): (EXCHANGE, 0, 1),
        ("Source: a -> shallow", "co -> Sink: Print to Std. Out"): (CARRIED, 0, 1),
        ("deep", "co -> Sink: Print to Std. Out"): (LOCAL, 1, 1),
    }


def test_level_parallelism_is_the_highest_of_its_vertices() -> None:
    p = Program()
    p.sink(p.union(p.source("a", parallelism=3), p.source("b", limit=1)))
    plan = plan_levels(p.job(parallelism=2))
    assert [level.parallelism for level in plan.levels] == [3, 2]


def test_rows_for_many_subtasks_pass_a_single_one_in_as_many_tasks() -> None:
    p = Program()
    s = p.op("s", p.source())
    single = p.op("single", p.partition(s, PartitionKind.GLOBAL), parallelism=1)
    p.two("join", p.partition(s, PartitionKind.REBALANCE), p.partition(single, PartitionKind.BROADCAST))
    plan = plan_levels(p.job(parallelism=4))
    assert [level.parallelism for level in plan.levels] == [4, 1, 4]
    assert [level.tasks for level in plan.levels] == [4, 4, 4]
    assert plan.subtasks == 9


kinds = st.sampled_from([None, PartitionKind.HASH, PartitionKind.REBALANCE, PartitionKind.BROADCAST])
steps = st.lists(
    st.tuples(st.integers(0, 99), st.integers(0, 99), kinds, kinds, st.integers(1, 2)),
    min_size=1,
    max_size=12,
)


@given(steps)
@pytest.mark.row("S-ARCH-06")
def test_any_program_becomes_a_linear_plan(
    program: list[tuple[int, int, PartitionKind | None, PartitionKind | None, int]],
) -> None:
    p = Program()
    streams = [p.source("a"), p.source("b", limit=1)]
    for number, (one, two, kind1, kind2, parallelism) in enumerate(program):
        inputs = [
            p.partition(streams[i % len(streams)], kind) if kind else streams[i % len(streams)]
            for i, kind in ((one, kind1), (two, kind2))
        ]
        options = {"parallelism": parallelism, "chaining": ChainingStrategy.ALWAYS}
        if number % 2:
            streams.append(p.two(f"co{number}", *inputs, **options))
        else:
            streams.append(p.op(f"m{number}", inputs[0], **options))
    graph = p.job(parallelism=2)
    plan = plan_levels(graph)
    assert sorted(v.id for v in plan.vertices) == sorted(v.id for v in graph.vertices)
    place = {vertex.id: i for i, vertex in enumerate(plan.vertices)}
    operators = [o.operator_id for v in graph.vertices for o in v.operators]
    assert len(operators) == len(set(operators)) == len(p.graph(parallelism=2).nodes)
    for vertex in plan.vertices:
        needed = [plan.level_of(e.source_vertex) + (not e.forward) for e in vertex.inputs]
        assert plan.level_of(vertex.id) == max(needed, default=0)
    for route in plan.routes:
        edge = route.edge
        assert place[edge.source_vertex] < place[edge.target_vertex]
        if route.kind is LOCAL:
            assert (edge.forward, route.source_level) == (True, route.target_level)
        else:
            assert route.source_level < route.target_level
            assert edge.forward is (route.kind is CARRIED)
            between = plan.levels[route.source_level + 1 : route.target_level]
            assert all(route in level.passing for level in between)
    for level in plan.levels:
        receivers = {vertex.id: vertex.parallelism for vertex in plan.vertices}
        passed = [receivers[route.edge.target_vertex] for route in level.passing]
        assert level.tasks == max([level.parallelism, *passed])
