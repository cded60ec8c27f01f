from __future__ import annotations

import cloudpickle
import pytest

from firesteel.datastream.execution_mode import RuntimeExecutionMode
from firesteel.graph.job_graph import DistributionPattern, ResultType
from firesteel.graph.uids import operator_ids
from firesteel.program.transformations import ChainingStrategy, PartitionKind

from .graph_programs import Program, identity, names, window_program

PRINT = "Sink: Print to Std. Out"


def test_the_window_program_is_three_vertices_because_the_sink_has_another_parallelism() -> None:
    graph = window_program().job()
    assert names(graph) == ["Source: numbers -> map", "window", "Sink: out"]
    assert [v.parallelism for v in graph.vertices] == [2, 2, 1]
    first, second = graph.edges
    assert (first.ship_strategy, second.ship_strategy) == ("HASH", "REBALANCE")
    source, window, sink = graph.vertices
    assert (first.source_vertex, first.target_vertex) == (source.id, window.id)
    assert first.source_operator == source.operator_ids[1] != source.id
    assert (second.source_vertex, second.target_vertex) == (window.id, sink.id)
    assert (source.inputs, source.outputs) == ((), (first,))
    assert (window.inputs, window.outputs) == ((first,), (second,))
    assert graph.required_slots == 2  # of 2, 2 and 1


@pytest.mark.row("S-OPS-16", "S-GRAPH-09", "S-GRAPH-10")
def test_the_window_program_at_equal_parallelism_is_two_vertices() -> None:
    graph = window_program(sink_parallelism=None).job()
    assert names(graph) == ["Source: numbers -> map", "window -> Sink: out"]
    assert [edge.ship_strategy for edge in graph.edges] == ["HASH"]


def test_vertex_id_is_the_operator_id_of_its_head() -> None:
    p = window_program()
    ids = operator_ids(p.graph())
    assert [v.id for v in p.job().vertices] == [ids[1], ids[3], ids[4]]
    assert [v.head.node.id for v in p.job().vertices] == [1, 3, 4]


def chained(**options: object) -> list[str]:
    p = Program()
    p.sink(p.op("b", p.op("a", p.source(), parallelism=2), **options))
    return names(p.job(parallelism=2))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [f"Source: seq -> a -> b -> {PRINT}"]),
        ({"chaining": ChainingStrategy.NEVER}, ["Source: seq -> a", "b", PRINT]),
        ({"chaining": ChainingStrategy.HEAD}, ["Source: seq -> a", f"b -> {PRINT}"]),
        ({"slot_sharing_group": "g"}, ["Source: seq -> a", f"b -> {PRINT}"]),
        ({"parallelism": 3}, ["Source: seq -> a", "b", PRINT]),
        ({"max_parallelism": 64}, [f"Source: seq -> a -> b -> {PRINT}"]),
    ],
)
@pytest.mark.row("S-GRAPH-09", "S-GRAPH-12")
def test_what_breaks_a_chain(options: dict[str, object], expected: list[str]) -> None:
    assert chained(**options) == expected


@pytest.mark.row("S-GRAPH-12")
def test_chaining_can_be_switched_off_for_the_job() -> None:
    graph = window_program(None).job(chaining=False)
    assert names(graph) == ["Source: numbers", "map", "window", "Sink: out"]
    assert [edge.ship_strategy for edge in graph.edges] == ["FORWARD", "HASH", "FORWARD"]


def test_different_max_parallelism_breaks_chains_when_configured_or_where_state_is_keyed() -> None:
    p = Program()
    p.sink(p.op("a", p.source(), max_parallelism=64))
    assert len(p.job().vertices) == 1
    assert names(p.job(chain_different_max_parallelism=False)) == ["Source: seq", "a", PRINT]
    keyed = Program()
    again = keyed.op("again", keyed.keyed("k", keyed.source()), key_selector=identity)
    assert names(keyed.job()) == ["Source: seq", "k -> again"]
    again.max_parallelism = 64
    assert names(keyed.job()) == ["Source: seq", "k", "again"]


def test_a_source_is_never_chained_to_an_input_nor_a_union_to_its_inputs() -> None:
    p = Program()
    p.sink(p.op("m", p.union(p.source("a"), p.source("b"))))
    assert names(p.job()) == ["Source: a", "Source: b", f"m -> {PRINT}"]


def test_a_two_input_operator_heads_its_chain() -> None:
    p = Program()
    a = p.source("a")
    p.sink(p.two("co", a, p.op("b", a)))
    graph = p.job()
    assert names(graph) == ["Source: a -> b", f"co -> {PRINT}"]
    assert [(e.input_index, e.ship_strategy) for e in graph.vertices[1].inputs] == [
        (0, "FORWARD"),
        (1, "FORWARD"),
    ]
    assert graph.edges[0].source_operator != graph.edges[1].source_operator  # from inside the chain


def test_branches_and_side_outputs_inside_a_chain() -> None:
    p = Program()
    s = p.op("s", p.source())
    p.sink(p.op("late_map", p.side(s, "late")), "late")
    p.sink(p.side(s, "other"), "other")
    p.sink(s, "main")
    (vertex,) = p.job().vertices
    assert vertex.name == "Source: seq -> s -> (late_map -> Sink: late, Sink: other, Sink: main)"
    operators = vertex.operators
    assert [
        (o.node.name, o.input and (o.input.source_index, o.input.tag and o.input.tag.tag_id))
        for o in operators
    ] == [
        ("Source: seq", None),
        ("s", (0, None)),
        ("late_map", (1, "late")),
        ("Sink: late", (2, None)),
        ("Sink: other", (1, "other")),
        ("Sink: main", (1, None)),
    ]
    for operator in operators[1:]:
        assert operator.input is not None
        assert operators[operator.input.source_index].operator_id == operator.input.source_operator


def test_side_output_across_an_exchange_keeps_its_tag() -> None:
    p = Program()
    p.sink(p.partition(p.side(p.op("s", p.source()), "late"), PartitionKind.GLOBAL))
    (edge,) = p.job().edges
    assert (edge.tag_id, edge.ship_strategy) == ("late", "GLOBAL")


def test_edge_ids_are_small_and_index_the_edges() -> None:
    p = Program()
    a = p.source("a")
    p.sink(p.union(a, a, p.partition(a, PartitionKind.SHUFFLE)))
    graph = p.job()
    assert [edge.id for edge in graph.edges] == [0, 1, 2]
    assert graph.vertices[1].inputs == graph.edges


@pytest.mark.row("S-NET-12", "S-BATCH-05")
def test_distribution_and_exchange_type() -> None:
    p = Program()
    x = p.source()
    for kind in PartitionKind:
        p.op(kind.value, p.partition(x, kind), chaining=ChainingStrategy.NEVER)
    graph = p.job()
    pointwise = {e.ship_strategy for e in graph.edges if e.pattern is DistributionPattern.POINTWISE}
    assert pointwise == {"FORWARD", "RESCALE"}
    assert {e.result_type for e in graph.edges} == {ResultType.PIPELINED_BOUNDED}
    batch = p.job(runtime_mode=RuntimeExecutionMode.BATCH)
    assert {e.result_type for e in batch.edges} == {ResultType.BLOCKING}


@pytest.mark.row("S-SLOT-08", "S-SLOT-09")
def test_slots_are_summed_over_groups() -> None:
    p = Program()
    a = p.op("a", p.source(), slot_sharing_group="g")
    p.sink(p.op("b", a), parallelism=3)
    graph = p.job(parallelism=2)
    assert graph.slots_by_group() == {"default": 2, "g": 3}
    assert graph.required_slots == 5
    one_group = Program()
    one_group.op("b", one_group.op("a", one_group.source()), slot_sharing_group="g")
    assert one_group.job().required_slots == 4  # two groups of two


def test_a_job_graph_can_be_shipped() -> None:
    graph = window_program().job()
    copy = cloudpickle.loads(cloudpickle.dumps(graph))
    assert names(copy) == names(graph)
    assert [e.id for e in copy.edges] == [e.id for e in graph.edges]
    assert copy.vertex(graph.vertices[0].id).name == "Source: numbers -> map"
