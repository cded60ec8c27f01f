"""The graph of a job with another parallelism."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from firesteel.graph.job_graph import JobGraph, JobVertex


def with_parallelism(graph: JobGraph, wanted: Mapping[str, int]) -> JobGraph:
    """The same graph with these parallelisms, by vertex id; all others stay."""

    def changed(vertex: JobVertex) -> JobVertex:
        number = wanted.get(vertex.id, vertex.parallelism)
        if number == vertex.parallelism:
            return vertex
        operators = tuple(replace(o, node=replace(o.node, parallelism=number)) for o in vertex.operators)
        return replace(vertex, parallelism=number, operators=operators)

    return replace(graph, vertices=tuple(map(changed, graph.vertices)))


def forward_groups(graph: JobGraph) -> list[list[str]]:
    """The vertices whose parallelisms are equal and have to stay so, since records go from subtask i of one
    to subtask i of another."""
    group_of = {vertex.id: {vertex.id} for vertex in graph.vertices}
    for edge in graph.edges:
        if edge.forward:
            together = group_of[edge.source_vertex] | group_of[edge.target_vertex]
            for vertex_id in together:
                group_of[vertex_id] = together
    groups: dict[int, list[str]] = {}
    for vertex in graph.vertices:
        groups.setdefault(id(group_of[vertex.id]), []).append(vertex.id)
    return list(groups.values())
