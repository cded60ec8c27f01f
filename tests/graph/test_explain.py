from __future__ import annotations

import json
from typing import Any

import pytest

from firesteel.graph.execution_graph import create_execution_graph
from firesteel.graph.explain import explain, explain_all
from firesteel.graph.levels import plan_levels
from firesteel.graph.plan_json import execution_plan_json, to_json
from firesteel.program.transformations import PartitionKind

from .graph_programs import Program, window_program


def parsed(graph: Any) -> Any:
    return json.loads(to_json(graph))


@pytest.mark.row("S-GRAPH-22")
def test_execution_plan_has_the_shape_of_flinks() -> None:
    plan = json.loads(execution_plan_json(window_program().graph()))
    assert plan == {
        "nodes": [
            {
                "id": 1,
                "type": "Source: numbers",
                "pact": "Data Source",
                "contents": "Source: numbers",
                "parallelism": 2,
            },
            {
                "id": 2,
                "type": "map",
                "pact": "Operator",
                "contents": "map",
                "parallelism": 2,
                "predecessors": [{"id": 1, "ship_strategy": "FORWARD", "side": "second"}],
            },
            {
                "id": 3,
                "type": "window",
                "pact": "Operator",
                "contents": "window",
                "parallelism": 2,
                "predecessors": [{"id": 2, "ship_strategy": "HASH", "side": "second"}],
            },
            {
                "id": 4,
                "type": "Sink: out",
                "pact": "Data Sink",
                "contents": "Sink: out",
                "parallelism": 1,
                "predecessors": [{"id": 3, "ship_strategy": "REBALANCE", "side": "second"}],
            },
        ]
    }


def test_execution_plan_puts_sinks_last() -> None:
    p = Program()
    s = p.source()
    p.sink(s, "first")
    p.sink(p.op("m", s, description="what it does"))
    nodes = json.loads(execution_plan_json(p.graph()))["nodes"]
    assert [node["id"] for node in nodes] == [1, 3, 2, 4]
    assert nodes[1]["contents"] == "what it does"


@pytest.mark.row("S-GRAPH-05")
def test_node_json_has_operator_parallelism_and_serializers() -> None:
    nodes = parsed(window_program().graph())["nodes"]
    for node in nodes:
        assert node["operator"]
        assert node["parallelism"]
        assert node["output_serializer"]
    window = nodes[2]
    assert (window["operator"], window["key_serializer"], window["keyed"]) == ("KeyedProcess", "Long", True)
    assert nodes[0]["operator"] == "AnySource"
    assert nodes[1]["input_serializers"] == ["Long"]
    assert nodes[3]["output_serializer"] == "PickledByteArrayTypeInfo"  # nothing declared


@pytest.mark.row("S-GRAPH-06")
def test_edge_json_shows_the_partitioners() -> None:
    p = Program()
    s = p.source()
    for kind in PartitionKind:
        p.op(kind.value, p.partition(s, kind))
    assert [e["partitioner"] for e in parsed(p.graph())["edges"]] == [kind.value for kind in PartitionKind]


def test_job_graph_json() -> None:
    p = Program()
    s = p.op("s", p.source())
    p.op("late", p.side(s, "t"))
    p.sink(s, parallelism=1)
    graph = parsed(p.job())
    (edge,) = graph["edges"]
    assert (edge["ship_strategy"], edge["distribution"], edge["exchange"]) == (
        "REBALANCE",
        "ALL_TO_ALL",
        "pipelined_bounded",
    )
    chain, sink = graph["vertices"]
    assert [o["name"] for o in chain["operators"]] == ["Source: seq", "s", "late"]
    late = chain["operators"][2]
    assert (late["input"], late["input_side_output"]) == (chain["operators"][1]["operator_id"], "t")
    assert (chain["outputs"], sink["inputs"]) == ([edge["id"]], [edge["id"]])
    assert graph["required_slots"] == 2


def test_levels_json() -> None:
    plan = parsed(plan_levels(window_program(None).job(chaining=False)))
    assert [(e["route"], e["spark_exchange"]) for e in plan["edges"]] == [
        ("LOCAL", False),
        ("EXCHANGE", True),
        ("LOCAL", False),
    ]
    assert [level["incoming"] for level in plan["levels"]] == [[], [1]]


def test_execution_graph_json() -> None:
    graph = parsed(create_execution_graph(window_program().job(), "g", 7))
    window = graph["vertices"][1]
    assert sum(window["tasks"].values()) == window["parallelism"] == 2
    assert window["subtasks"][1]["key_groups"] == {"start": 64, "end": 127}
    assert window["subtasks"][1]["attempt_id"] == f"g_{window['id']}_1_0"
    assert window["subtasks"][0]["timestamps"] == {"CREATED": 7}
    assert window["subtasks"][0]["input_gates"] == [{"edge": 0, "channels": 2}]


@pytest.mark.row("S-GRAPH-23", "S-PERF-11", "S-PART-06")
def test_explained_exchanges_are_the_edges_that_are_not_forward() -> None:
    p = Program()
    s = p.source()
    deep = p.keyed("deep", s)
    p.sink(p.union(s, p.partition(deep, PartitionKind.REBALANCE)))
    graph = p.job()
    text = explain(plan_levels(graph))
    rows = [line for line in text.splitlines() if line.endswith("Spark exchange")]
    exchanges = [line for line in rows if "carried" not in line]
    assert len(exchanges) == sum(edge.ship_strategy in ("HASH", "REBALANCE") for edge in graph.edges) == 2
    assert "2 Spark exchanges for 2 exchanged edges and 1 carried forward edge" in text
    assert "passes on: edge" in text


def test_all_parts_are_explained() -> None:
    text = explain_all(window_program().graph(job_name="my job"))
    for part in (
        "Stream graph: my job (STREAMING)",
        "Job graph: my job",
        "Levels: 3 levels",
        "Execution graph:",
    ):
        assert part in text
    assert "needs 2 slots (default: 2)" in text
    assert text == explain_all(window_program().graph(job_name="my job"))


def test_columns_are_aligned() -> None:
    lines = explain(window_program().graph()).splitlines()
    start = lines.index("  3 edges")
    table = lines[start + 1 :]
    column = table[0].index("partitioner")
    assert [line[column:].split()[0] for line in table[1:]] == ["FORWARD", "HASH", "REBALANCE"]
    assert not any(line.endswith(" ") for line in lines)


@pytest.mark.parametrize("function", [explain, to_json])
def test_what_is_no_graph_is_refused(function: Any) -> None:
    with pytest.raises(TypeError, match="not a graph: str"):
        function("x")
