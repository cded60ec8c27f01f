"""The graphs as JSON: for ``info``, for the REST API, and in the shape of Flink's execution plan."""

from __future__ import annotations

import json
from functools import singledispatch
from typing import Any

from firesteel.common.masking import masked
from firesteel.common.typeinfo import TypeInformation
from firesteel.graph.execution_graph import ExecutionGraph, ExecutionJobVertex, ExecutionVertex
from firesteel.graph.job_graph import ChainedOperator, JobEdge, JobGraph, JobVertex
from firesteel.graph.levels import Level, LevelPlan, Route
from firesteel.graph.stream_graph import NodeKind, StreamEdge, StreamGraph, StreamNode
from firesteel.program.operator_kinds import kind_of
from firesteel.program.sinks import Sink
from firesteel.program.sources import Source


def type_name(type_info: TypeInformation | None) -> str:
    """How plans name the type, and with it the serializer, of records; none declared: they are pickled."""
    return "PickledByteArrayTypeInfo" if type_info is None else str(type_info)


def operator_name(node: StreamNode) -> str:
    """What the operator of a node is: the description of a connector, else the kind of operator."""
    operator = node.operator
    return operator.description if isinstance(operator, (Source, Sink)) else kind_of(operator).name


def mode_name(batch: bool) -> str:
    return "BATCH" if batch else "STREAMING"


@singledispatch
def to_dict(graph: Any) -> dict[str, Any]:
    """Plain data for JSON of a StreamGraph, JobGraph, LevelPlan or ExecutionGraph, and of their parts."""
    raise TypeError(f"not a graph: {type(graph).__name__}")


def to_json(graph: StreamGraph | JobGraph | LevelPlan | ExecutionGraph, *, indent: int | None = 2) -> str:
    """The graph as JSON text; the same program gives the same text in every process."""
    return masked(json.dumps(to_dict(graph), indent=indent))


@to_dict.register
def _(graph: StreamGraph) -> dict[str, Any]:
    return {
        "name": graph.name,
        "mode": mode_name(graph.batch),
        "nodes": [to_dict(node) for node in graph.nodes],
        "edges": [to_dict(edge) for edge in graph.edges],
    }


@to_dict.register
def _(node: StreamNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "name": node.name,
        "kind": node.kind.name,
        "operator": operator_name(node),
        "description": node.description or node.name,
        "parallelism": node.parallelism,
        "max_parallelism": node.max_parallelism,
        "input_serializers": [type_name(type_info) for type_info in node.input_types],
        "output_serializer": type_name(node.output_type),
        "keyed": node.keyed,
        "key_serializer": type_name(node.key_type) if node.keyed else None,
        "slot_sharing_group": node.slot_sharing_group,
        "chaining_strategy": node.chaining.value,
        "side_outputs": list(node.side_output_tags),
        "uid": node.uid,
        "uid_hash": node.uid_hash,
        "created_at": node.created_at,
    }


@to_dict.register
def _(edge: StreamEdge) -> dict[str, Any]:
    return {
        "source": edge.source,
        "target": edge.target,
        "input": edge.input_index,
        "partitioner": edge.ship_strategy,
        "side_output": edge.tag_id,
    }


@to_dict.register
def _(graph: JobGraph) -> dict[str, Any]:
    return {
        "name": graph.name,
        "mode": mode_name(graph.batch),
        "required_slots": graph.required_slots,
        "slots_by_group": graph.slots_by_group(),
        "vertices": [to_dict(vertex) for vertex in graph.vertices],
        "edges": [to_dict(edge) for edge in graph.edges],
    }


@to_dict.register
def _(vertex: JobVertex) -> dict[str, Any]:
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "max_parallelism": vertex.max_parallelism,
        "slot_sharing_group": vertex.slot_sharing_group,
        "operators": [to_dict(operator) for operator in vertex.operators],
        "inputs": [edge.id for edge in vertex.inputs],
        "outputs": [edge.id for edge in vertex.outputs],
    }


@to_dict.register
def _(operator: ChainedOperator) -> dict[str, Any]:
    source = operator.input
    return {
        "operator_id": operator.operator_id,
        "input": None if source is None else source.source_operator,
        "input_side_output": None if source is None or source.tag is None else source.tag.tag_id,
        **to_dict(operator.node),
    }


@to_dict.register
def _(edge: JobEdge) -> dict[str, Any]:
    return {
        "id": edge.id,
        "source_vertex": edge.source_vertex,
        "source_operator": edge.source_operator,
        "target_vertex": edge.target_vertex,
        "target_operator": edge.target_operator,
        "input": edge.input_index,
        "ship_strategy": edge.ship_strategy,
        "distribution": edge.pattern.value,
        "exchange": edge.result_type.value.lower(),
        "side_output": edge.tag_id,
    }


@to_dict.register
def _(plan: LevelPlan) -> dict[str, Any]:
    return {
        "exchanges": plan.exchanges,
        "levels": [to_dict(level) for level in plan.levels],
        "edges": [to_dict(route) for route in plan.routes],
    }


@to_dict.register
def _(level: Level) -> dict[str, Any]:
    return {
        "level": level.index,
        "parallelism": level.parallelism,
        "vertices": [{"id": vertex.id, "name": vertex.name} for vertex in level.vertices],
        "local": [route.edge.id for route in level.local],
        "incoming": [route.edge.id for route in level.incoming],
        "outgoing": [route.edge.id for route in level.outgoing],
        "passing": [route.edge.id for route in level.passing],
    }


@to_dict.register
def _(route: Route) -> dict[str, Any]:
    return {
        "edge": route.edge.id,
        "ship_strategy": route.edge.ship_strategy,
        "route": route.kind.value,
        "spark_exchange": route.spark_exchange,
        "source_level": route.source_level,
        "target_level": route.target_level,
    }


@to_dict.register
def _(graph: ExecutionGraph) -> dict[str, Any]:
    return {
        "id": graph.id,
        "name": graph.job_graph.name,
        "status_counts": {state.value: count for state, count in graph.state_counts().items()},
        "vertices": [to_dict(vertex) for vertex in graph.vertices],
    }


@to_dict.register
def _(vertex: ExecutionJobVertex) -> dict[str, Any]:
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.job_vertex.parallelism,
        "max_parallelism": vertex.job_vertex.max_parallelism,
        "status": vertex.state().value,
        "tasks": {state.value: count for state, count in vertex.state_counts().items()},
        "subtasks": [to_dict(subtask) for subtask in vertex.subtasks],
    }


@to_dict.register
def _(subtask: ExecutionVertex) -> dict[str, Any]:
    groups = subtask.key_groups
    return {
        "subtask": subtask.subtask_index,
        "attempt": subtask.current.attempt_number,
        "attempt_id": str(subtask.current.attempt_id),
        "status": subtask.state.value,
        "timestamps": {state.value: ms for state, ms in subtask.current.timestamps_ms.items()},
        "failure": subtask.current.failure,
        "key_groups": {"start": groups.start, "end": groups.stop - 1},
        "input_gates": [{"edge": gate.edge.id, "channels": gate.channels} for gate in subtask.gates],
        "result_partitions": [
            {"edge": partition.edge.id, "subpartitions": partition.subpartitions}
            for partition in subtask.partitions
        ],
    }


def execution_plan_json(graph: StreamGraph) -> str:
    """The stream graph as ``get_execution_plan()`` gives it: sinks behind all other nodes, each by id."""
    ordered = sorted(graph.nodes, key=lambda node: (node.kind is NodeKind.SINK, node.id))
    return masked(json.dumps({"nodes": [_plan_node(node, graph) for node in ordered]}, indent=2))


def _plan_node(node: StreamNode, graph: StreamGraph) -> dict[str, Any]:
    result: dict[str, Any] = {
        "id": node.id,
        "type": node.name,
        "pact": node.kind.value,
        "contents": node.description or node.name,
        "parallelism": node.parallelism,
    }
    # Flink writes "second" as the side of every predecessor; tools that read its plans know it so.
    predecessors = [
        {"id": edge.source, "ship_strategy": edge.ship_strategy, "side": "second"}
        for edge in graph.in_edges(node.id)
    ]
    if predecessors:
        result["predecessors"] = predecessors
    return result
