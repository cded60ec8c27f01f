"""The graphs as text for a terminal: what is chained, what is exchanged, what it needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any

from firesteel.graph.execution_graph import ExecutionGraph, ExecutionVertex, create_execution_graph
from firesteel.graph.job_graph import JobEdge, JobGraph, create_job_graph
from firesteel.graph.levels import Level, LevelPlan, Route, RouteKind, plan_levels
from firesteel.graph.plan_json import (
    execution_plan_json,
    mode_name,
    operator_name,
    to_dict,
    to_json,
    type_name,
)
from firesteel.graph.stream_graph import NodeKind, StreamGraph, StreamNode

__all__ = ["execution_plan_json", "explain", "explain_all", "to_dict", "to_json"]

_TRANSPORT = {
    RouteKind.LOCAL: "local hand-over",
    RouteKind.EXCHANGE: "Spark exchange",
    RouteKind.CARRIED: "local subtask, carried by a Spark exchange",
}


@singledispatch
def explain(graph: Any) -> str:
    """A StreamGraph, JobGraph, LevelPlan or ExecutionGraph as text of several lines, columns aligned."""
    raise TypeError(f"not a graph: {type(graph).__name__}")


def explain_all(graph: StreamGraph) -> str:
    """All that the program becomes: stream graph, job graph, levels and execution graph."""
    job_graph = create_job_graph(graph)
    execution_graph = create_execution_graph(job_graph, graph_id="plan", now_ms=0)
    parts: tuple[Any, ...] = (graph, job_graph, plan_levels(job_graph), execution_graph)
    return "\n\n".join(explain(part) for part in parts)


@explain.register
def _(graph: StreamGraph) -> str:
    nodes = [
        (
            str(node.id),
            node.name,
            operator_name(node),
            str(node.parallelism),
            str(node.max_parallelism),
            "-" if node.kind is NodeKind.SINK else type_name(node.output_type),
            type_name(node.key_type) if node.keyed else "-",
            node.slot_sharing_group,
            node.chaining.value,
            node.uid or "-",
        )
        for node in graph.nodes
    ]
    header = (
        "id",
        "name",
        "operator",
        "p",
        "max p",
        "output type",
        "key type",
        "slot group",
        "chaining",
        "uid",
    )
    edges = [
        (
            _node_label(graph.node(edge.source)),
            edge.ship_strategy,
            _node_label(graph.node(edge.target)),
            str(edge.input_index + 1),
            edge.tag_id or "-",
        )
        for edge in graph.edges
    ]
    return "\n".join(
        [
            f"Stream graph: {graph.name} ({mode_name(graph.batch)})",
            f"  {_count(len(nodes), 'node')}",
            *_table(header, nodes),
            f"  {_count(len(edges), 'edge')}",
            *_table(("from", "partitioner", "to", "input", "side output"), edges),
        ]
    )


@explain.register
def _(graph: JobGraph) -> str:
    groups = ", ".join(f"{group}: {slots}" for group, slots in graph.slots_by_group().items())
    lines = [
        f"Job graph: {graph.name} ({mode_name(graph.batch)})",
        f"  needs {_count(graph.required_slots, 'slot')} ({groups})",
        f"  {_count(len(graph.vertices), 'vertex', 'vertices')}",
    ]
    for vertex in graph.vertices:
        lines.append(f"    {vertex.name}")
        facts = (
            f"id {vertex.id}",
            f"parallelism {vertex.parallelism} (max {vertex.max_parallelism})",
            f"slot group {vertex.slot_sharing_group}",
        )
        lines.append(f"      {', '.join(facts)}")
        rows = [
            (operator.node.name, operator.operator_id, operator.node.uid or "-")
            for operator in vertex.operators
        ]
        lines.extend(_table(("operator", "operator id", "uid"), rows, indent=6))
    edges = [(*_edge_cells(edge, graph), edge.result_type.value) for edge in graph.edges]
    lines.append(f"  {_count(len(graph.edges), 'edge')}")
    lines.extend(_table((*_EDGE_HEADER, "exchange type"), edges))
    return "\n".join(lines)


@explain.register
def _(plan: LevelPlan) -> str:
    exchanged = sum(route.kind is RouteKind.EXCHANGE for route in plan.routes)
    carried = sum(route.kind is RouteKind.CARRIED for route in plan.routes)
    lines = [
        f"Levels: {_count(len(plan.levels), 'level')} in one Spark job",
        f"  {_count(plan.exchanges, 'Spark exchange')} for "
        f"{_count(exchanged, 'exchanged edge')} and {_count(carried, 'carried forward edge')}",
    ]
    for level in plan.levels:
        lines.append(f"  level {level.index}: {_count(level.parallelism, 'Spark partition')}")
        lines.extend(f"    {vertex.name} (parallelism {vertex.parallelism})" for vertex in level.vertices)
        lines.extend(_passing(level))
    rows = [_route_cells(route, plan) for route in plan.routes]
    lines.append(f"  {_count(len(plan.routes), 'edge')}")
    lines.extend(_table((*_EDGE_HEADER, "levels", "transport"), rows))
    return "\n".join(lines)


@explain.register
def _(graph: ExecutionGraph) -> str:
    lines = [f"Execution graph: {graph.job_graph.name}, {_count(len(graph.subtasks), 'subtask')}"]
    for vertex in graph.vertices:
        counts = (f"{state.value} {count}" for state, count in vertex.state_counts().items() if count)
        lines.append(f"  {vertex.name}: {vertex.state().value} ({', '.join(counts)})")
        rows = [_subtask_cells(subtask) for subtask in vertex.subtasks]
        lines.extend(_table(_SUBTASK_HEADER, rows))
    return "\n".join(lines)


_EDGE_HEADER = ("edge", "from", "partitioner", "to", "input", "side output")
_SUBTASK_HEADER = ("subtask", "attempt", "state", "key groups", "channels in", "subpartitions out")


def _edge_cells(edge: JobEdge, graph: JobGraph) -> tuple[str, ...]:
    return _cells(edge, graph.vertex(edge.source_vertex).name, graph.vertex(edge.target_vertex).name)


def _route_cells(route: Route, plan: LevelPlan) -> tuple[str, ...]:
    names = {vertex.id: vertex.name for vertex in plan.vertices}
    edge = route.edge
    return (
        *_cells(edge, names[edge.source_vertex], names[edge.target_vertex]),
        f"{route.source_level} to {route.target_level}",
        _TRANSPORT[route.kind],
    )


def _cells(edge: JobEdge, source: str, target: str) -> tuple[str, ...]:
    return (str(edge.id), source, edge.ship_strategy, target, str(edge.input_index + 1), edge.tag_id or "-")


def _subtask_cells(subtask: ExecutionVertex) -> tuple[str, ...]:
    groups = subtask.key_groups
    return (
        str(subtask.subtask_index),
        str(subtask.current.attempt_number),
        subtask.state.value,
        f"{groups.start}..{groups.stop - 1}",
        " + ".join(str(gate.channels) for gate in subtask.gates) or "-",
        " + ".join(str(partition.subpartitions) for partition in subtask.partitions) or "-",
    )


def _passing(level: Level) -> Iterable[str]:
    if level.passing:
        yield f"    passes on: {', '.join(f'edge {route.edge.id}' for route in level.passing)}"


def _node_label(node: StreamNode) -> str:
    return f"{node.id} {node.name}"


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], indent: int = 4) -> list[str]:
    """Columns as wide as their widest cell; a column whose cells are all "-" is left out."""
    if not rows:
        return []
    columns = [
        (title, cells)
        for title, cells in zip(header, zip(*rows, strict=True), strict=True)
        if any(cell != "-" for cell in cells)
    ]
    widths = [max(len(title), *map(len, cells)) for title, cells in columns]
    lines = [[title for title, _ in columns], *map(list, zip(*(cells for _, cells in columns), strict=True))]
    return [
        " " * indent + "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
