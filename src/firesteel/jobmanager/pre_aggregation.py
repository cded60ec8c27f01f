"""Which operators get their input aggregated before the exchange (``firesteel.window.pre-aggregation``), and
what is said of those that do not.

The function must not mind the order of its elements, nor how they are grouped; who switches the option on
says so. With floating point numbers the last digits may differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from firesteel.common._coercion import never_changes
from firesteel.common.options.firesteel import PRE_AGGREGATION
from firesteel.graph.job_graph import JobGraph
from firesteel.program.transformations import PartitionKind
from firesteel.runtime.combining import combining_of
from firesteel.runtime.program import OperatorProgram, OutEdge, PreAggregation, VertexProgram


def pre_aggregated(vertices: tuple[VertexProgram, ...], batch: bool) -> tuple[VertexProgram, ...]:
    """The same vertices, which aggregate before the exchange where they can.

    Raises ProgramError for an aggregate function that cannot merge accumulators.
    """
    by_edge: dict[int, PreAggregation] = {}
    for vertex in vertices:
        operators = {operator.uid: operator for operator in vertex.operators}
        for edge in vertex.inputs:
            operator = operators[edge.operator]
            if _is_served(operator, edge.partitioning.kind is PartitionKind.HASH, batch):
                by_edge[edge.edge] = PreAggregation(operator, by_time=batch)
    receivers = {pre.operator.uid for pre in by_edge.values()}
    return tuple(
        replace(
            vertex,
            operators=tuple(_receiver(o) if o.uid in receivers else o for o in vertex.operators),
            outputs=tuple(
                _producer(vertex, e, by_edge[e.edge]) if e.edge in by_edge else e for e in vertex.outputs
            ),
        )
        for vertex in vertices
    )


def _producer(vertex: VertexProgram, edge: OutEdge, what: PreAggregation) -> OutEdge:
    types = {operator.uid: operator.output_type for operator in vertex.operators}
    sent = never_changes(types[edge.operator]) and edge.tag is None
    return replace(edge, pre_aggregation=replace(what, never_change=sent))


def _is_served(operator: OperatorProgram, by_key: bool, batch: bool) -> bool:
    combining = combining_of(operator.spec)
    return combining is not None and combining.obstacle(operator.spec, by_key, batch) is None


def _receiver(operator: OperatorProgram) -> OperatorProgram:
    combining = combining_of(operator.spec)
    assert combining is not None
    return combining.receiver(operator)


def without_effect(graph: JobGraph) -> Iterator[str]:
    """One sentence for each operator that the option does nothing for, of a kind that it is for."""
    for vertex in graph.vertices:
        operators = {operator.operator_id: operator.node for operator in vertex.operators}
        for target in dict.fromkeys((e.target_operator, e.partitioning.kind) for e in vertex.inputs):
            node = operators[target[0]]
            combining = combining_of(node.operator)
            if combining is None or not combining.is_told(node.operator):
                continue
            reason = combining.obstacle(node.operator, target[1] is PartitionKind.HASH, graph.batch)
            if reason is not None:
                yield f"{PRE_AGGREGATION.key} has no effect on {node.name!r}: {reason}"
