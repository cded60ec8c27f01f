from __future__ import annotations

import pytest

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import Types
from firesteel.datastream.execution_mode import RuntimeExecutionMode as Mode
from firesteel.datastream.output_tag import OutputTag
from firesteel.graph.generator import generate
from firesteel.graph.stream_graph import GraphConfig, NodeKind, StreamGraph
from firesteel.program.transformations import PartitionKind, Transformation

from .graph_programs import Program, edge_set, identity, window_program


def only_edge(graph: StreamGraph, target: str) -> str:
    (strategy,) = {strategy for _, strategy, name in edge_set(graph) if name == target}
    return strategy


@pytest.mark.row("S-GRAPH-04", "S-GRAPH-07", "S-GRAPH-08")
def test_the_window_program_is_four_nodes_and_three_edges() -> None:
    graph = window_program().graph()
    assert [node.name for node in graph.nodes] == ["Source: numbers", "map", "window", "Sink: out"]
    assert [node.parallelism for node in graph.nodes] == [2, 2, 2, 1]
    assert edge_set(graph) == {
        ("Source: numbers", "FORWARD", "map"),
        ("map", "HASH", "window"),
        ("window", "REBALANCE", "Sink: out"),
    }


@pytest.mark.row("S-GRAPH-05")
def test_nodes_carry_what_the_program_says() -> None:
    p = Program()
    options = {"uid": "u", "description": "d", "created_at": "prog.py:9", "max_parallelism": 64}
    p.sink(p.keyed("k", p.source(), **options, buffer_timeout_ms=0))
    source, node, sink = p.graph().nodes
    assert (node.uid, node.description, node.created_at, node.max_parallelism) == ("u", "d", "prog.py:9", 64)
    assert (node.kind, node.arity, node.keyed) == (NodeKind.OPERATOR, 1, True)
    assert node.key_selectors == (identity,)
    assert (node.key_type, node.output_type) == (Types.LONG(), Types.LONG())
    assert (node.buffer_timeout_ms, source.buffer_timeout_ms) == (0, None)
    assert (source.kind, source.arity, sink.kind, sink.arity) == (NodeKind.SOURCE, 0, NodeKind.SINK, 1)
    assert not sink.keyed


def test_ids_count_from_one_in_program_order_whatever_the_list_is_ordered_like() -> None:
    p = window_program()
    p.transformations.reverse()
    assert [(n.id, n.name) for n in p.graph().nodes] == [
        (1, "Source: numbers"),
        (2, "map"),
        (3, "window"),
        (4, "Sink: out"),
    ]


@pytest.mark.row("S-GRAPH-03")
def test_walks_back_from_the_sinks_alone() -> None:
    p = window_program()
    assert len(generate(p.transformations[-1:], GraphConfig()).nodes) == 4


def test_a_long_program_needs_no_deep_stack() -> None:
    p = Program()
    stream = p.source()
    for i in range(3000):
        stream = p.op(f"m{i}", stream)
    p.sink(stream)
    assert len(p.job().vertices) == 1


def test_an_unread_source_is_left_out() -> None:
    p = window_program()
    p.source("unread")
    assert "Source: unread" not in {node.name for node in p.graph().nodes}


def test_an_operator_without_a_sink_runs_as_in_flink() -> None:
    p = Program()
    p.op("map", p.source())
    assert [node.name for node in p.graph().nodes] == ["Source: seq", "map"]


@pytest.mark.parametrize("with_source", [False, True])
def test_nothing_to_run_is_refused(with_source: bool) -> None:
    p = Program()
    if with_source:
        p.partition(p.source(), PartitionKind.REBALANCE)
    with pytest.raises(ProgramError, match="No operators defined in streaming topology"):
        p.graph()


# ---- partitioners ----


@pytest.mark.parametrize(
    ("parallelism", "strategy"), [(2, "FORWARD"), (None, "FORWARD"), (3, "REBALANCE"), (1, "REBALANCE")]
)
def test_default_edge(parallelism: int | None, strategy: str) -> None:
    p = Program()
    p.sink(p.op("map", p.source()), parallelism=parallelism)
    assert only_edge(p.graph(parallelism=2), "Sink: Print to Std. Out") == strategy


@pytest.mark.parametrize("kind", list(PartitionKind))
def test_asked_partitioner(kind: PartitionKind) -> None:
    p = Program()
    p.sink(p.partition(p.source(), kind))
    graph = p.graph()
    assert len(graph.nodes) == 2  # the partition is no node
    assert graph.edges[0].partitioning.kind is kind


def test_the_partitioner_nearest_to_the_consumer_wins() -> None:
    p = Program()
    both = p.partition(p.partition(p.source(), PartitionKind.REBALANCE), PartitionKind.RESCALE)
    p.sink(p.op("map", both))
    assert only_edge(p.graph(), "map") == "RESCALE"


def test_explicit_forward_to_another_parallelism_is_refused() -> None:
    p = Program()
    p.op("two", p.source(), parallelism=2)
    p.op("three", p.partition(p.transformations[-1], PartitionKind.FORWARD), parallelism=3)
    with pytest.raises(ProgramError, match="Forward partitioning does not allow") as error:
        p.graph()
    assert error.value.operator == "three"
    assert "'two' has parallelism 2, 'three' has parallelism 3" in str(error.value)


def test_a_keyed_operator_that_is_not_fed_by_key_is_refused() -> None:
    p = Program()
    keyed = p.op("k", p.source(), key_selector=identity, parallelism=3)
    with pytest.raises(ProgramError, match="by key") as error:
        p.graph()
    assert error.value.operator == "k"
    keyed.parallelism = 2  # the same subtask: the user said that the stream is keyed already
    assert only_edge(p.graph(), "k") == "FORWARD"


# ---- virtual nodes ----


def test_union_of_different_parallelism() -> None:
    p = Program()
    a, b = p.source("a"), p.op("b", p.source("c"), parallelism=3)
    p.op("m", p.union(a, b))
    assert {e for e in edge_set(p.graph()) if e[2] == "m"} == {
        ("Source: a", "FORWARD", "m"),
        ("b", "REBALANCE", "m"),
    }


def test_union_with_itself_is_two_edges() -> None:
    p = Program()
    a = p.source("a")
    p.op("m", p.union(a, a))
    graph = p.graph()
    assert [(e.source, e.target, e.input_index) for e in graph.edges] == [(1, 2, 0), (1, 2, 0)]


def test_partition_of_a_union_holds_for_every_input_and_union_of_partitions_for_each_its_own() -> None:
    p = Program()
    a, b = p.source("a"), p.source("b")
    p.op("all", p.partition(p.union(a, b), PartitionKind.BROADCAST))
    p.op("each", p.union(p.partition(a, PartitionKind.SHUFFLE), b))
    assert edge_set(p.graph()) == {
        ("Source: a", "BROADCAST", "all"),
        ("Source: b", "BROADCAST", "all"),
        ("Source: a", "SHUFFLE", "each"),
        ("Source: b", "FORWARD", "each"),
    }


def test_side_outputs_are_tags_of_edges() -> None:
    p = Program()
    s = p.op("s", p.source())
    p.sink(p.partition(p.side(s, "late"), PartitionKind.REBALANCE), "late")
    p.sink(s, "main")
    graph = p.graph()
    assert [(e.tag_id, e.ship_strategy) for e in graph.out_edges(2)] == [
        ("late", "REBALANCE"),
        (None, "FORWARD"),
    ]
    assert graph.node(2).side_output_tags == ("late",)
    assert graph.node(1).side_output_tags == ()


def test_one_tag_with_two_types_is_refused() -> None:
    p = Program()
    s = p.op("s", p.source())
    p.sink(p.side(s, OutputTag("t", Types.INT())))
    p.sink(p.side(s, OutputTag("t", Types.STRING())))
    with pytest.raises(ProgramError, match="two types") as error:
        p.graph()
    assert error.value.operator == "s"


def test_two_inputs_keep_their_index() -> None:
    p = Program()
    a, b = p.source("a"), p.source("b")
    p.two("co", p.union(a, b), p.partition(b, PartitionKind.HASH), key_selector2=identity)
    graph = p.graph()
    assert [(e.source, e.input_index, e.ship_strategy) for e in graph.in_edges(3)] == [
        (1, 0, "FORWARD"),
        (2, 0, "FORWARD"),
        (2, 1, "HASH"),
    ]
    assert (graph.node(3).arity, graph.node(3).key_selectors) == (2, (None, identity))


# ---- parallelism ----


@pytest.mark.parametrize(("parallelism", "expected"), [(1, 128), (4, 128), (100, 256), (200, 512)])
@pytest.mark.row("S-CFG-20")
def test_auto_max_parallelism(parallelism: int, expected: int) -> None:
    p = Program()
    p.sink(p.op("m", p.source(), parallelism=parallelism))
    assert p.graph().node(2).max_parallelism == expected


def test_default_max_parallelism_of_the_environment() -> None:
    p = Program()
    p.sink(p.op("m", p.source(), max_parallelism=99))
    assert [node.max_parallelism for node in p.graph(max_parallelism=7).nodes] == [7, 99, 7]


def test_a_source_that_cannot_be_parallel_has_parallelism_one() -> None:
    p = Program()
    p.sink(p.source(limit=1))
    graph = p.graph(parallelism=4, max_parallelism=64)
    assert (graph.node(1).parallelism, graph.node(1).max_parallelism) == (1, 1)
    assert graph.edges[0].ship_strategy == "REBALANCE"


@pytest.mark.parametrize("option", ["parallelism", "max_parallelism"])
def test_more_of_such_a_source_is_refused(option: str) -> None:
    p = Program()
    p.sink(p.source("coll", limit=1, **{option: 2}))
    with pytest.raises(ProgramError, match="more than 1 subtask") as error:
        p.graph(parallelism=1)
    assert error.value.operator == "coll"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"parallelism": 3, "max_parallelism": 2}, "may not exceed its max parallelism"),
        ({"parallelism": 0}, "parallelism of an operator must be between 1 and 32768"),
        ({"parallelism": -1}, "parallelism of an operator must be between 1 and 32768"),
        ({"max_parallelism": 40000}, "max parallelism of an operator must be between 1 and 32768"),
    ],
)
def test_parallelism_out_of_bounds_is_refused(options: dict[str, int], text: str) -> None:
    p = Program()
    p.sink(p.op("m", p.source(), **options))
    with pytest.raises(ProgramError, match=text) as error:
        p.graph()
    assert error.value.operator == "m"


def test_default_parallelism_over_the_environments_maximum_is_refused() -> None:
    with pytest.raises(ProgramError, match="max parallelism 3"):
        window_program().graph(parallelism=4, max_parallelism=3)


# ---- slot sharing groups, mode, name ----


def test_slot_sharing_groups_are_inherited_as_in_flink() -> None:
    p = Program()
    a, b = p.source("a", slot_sharing_group="g"), p.source("b")
    p.op("same", p.op("from_a", a))
    p.op("mixed", p.union(a, b))
    own = p.op("own", a, slot_sharing_group="h")
    p.two("neither", a, own)
    groups = {node.name: node.slot_sharing_group for node in p.graph().nodes}
    assert groups == {
        "Source: a": "g",
        "Source: b": "default",
        "from_a": "g",
        "same": "g",
        "mixed": "default",
        "own": "h",
        "neither": "default",  # neither g nor h
    }


@pytest.mark.parametrize(
    ("mode", "bounded", "batch"),
    [
        (Mode.AUTOMATIC, True, True),
        (Mode.AUTOMATIC, False, False),
        (Mode.STREAMING, True, False),
        (Mode.BATCH, True, True),
    ],
)
@pytest.mark.row("S-BATCH-08")
def test_runtime_mode(mode: Mode, bounded: bool, batch: bool) -> None:
    p = Program()
    p.sink(p.union(p.source(), p.source(bounded=bounded)))
    graph = p.graph(runtime_mode=mode)
    assert graph.batch is batch
    assert graph.name == ("Firesteel Batch Job" if batch else "Firesteel Streaming Job")
    assert p.graph(job_name="mine").name == "mine"


def test_batch_mode_with_an_unbounded_source_is_refused() -> None:
    p = Program()
    p.sink(p.source("endless", bounded=False))
    with pytest.raises(ProgramError, match="unbounded source") as error:
        p.graph(runtime_mode=Mode.BATCH)
    assert error.value.operator == "Source: endless"
    assert "execution.runtime-mode" in str(error.value)


# ---- other refusals ----


def test_two_sinks_with_one_uid_are_refused() -> None:
    p = Program()
    s = p.source()
    p.sink(s, "one", uid="u", created_at="prog.py:1")
    p.sink(s, "two", uid="u", created_at="prog.py:2")
    with pytest.raises(ProgramError, match="same uid 'u'") as error:
        p.graph()
    assert "'Sink: one' (prog.py:1) and 'Sink: two' (prog.py:2)" in str(error.value)


def test_a_cycle_is_refused() -> None:
    p = Program()
    a = p.op("a", p.source(), created_at="prog.py:5")
    b = p.op("b", p.union(p.transformations[0], a))
    a.input = b
    with pytest.raises(ProgramError, match="cycle") as error:
        p.graph()
    assert "'a' (prog.py:5)" in str(error.value)


def test_an_unknown_transformation_is_refused() -> None:
    with pytest.raises(ProgramError, match="no translation for a Transformation"):
        generate([Transformation(name="x")], GraphConfig())
