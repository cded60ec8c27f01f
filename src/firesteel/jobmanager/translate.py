"""From the job graph to the programs that workers run."""

from __future__ import annotations

from typing import Any

from firesteel.common.column_types import ColumnsTypeInfo
from firesteel.common.configuration import Configuration
from firesteel.common.execution_config import ExecutionConfig
from firesteel.common.options.firesteel import PRE_AGGREGATION
from firesteel.graph.job_graph import ChainedOperator, JobEdge, JobGraph, JobVertex
from firesteel.graph.levels import LevelPlan, RouteKind
from firesteel.jobmanager.pre_aggregation import pre_aggregated
from firesteel.program.sources import Source
from firesteel.runtime.program import InEdge, JobProgram, OperatorProgram, OutEdge, VertexProgram


def to_program(job_id: str, graph: JobGraph, plan: LevelPlan, settings: dict[str, Any]) -> JobProgram:
    """The programs of all vertices, by level."""
    vertices = tuple(_vertex(vertex, graph, plan) for vertex in plan.vertices)
    configuration = Configuration.from_dict(settings)
    if configuration.get(PRE_AGGREGATION):
        vertices = pre_aggregated(vertices, graph.batch)
    interval_ms = ExecutionConfig(configuration).get_auto_watermark_interval()
    return JobProgram(job_id, graph.name, graph.batch, vertices, settings, interval_ms, graph.keyed_subtasks)


def _vertex(vertex: JobVertex, graph: JobGraph, plan: LevelPlan) -> VertexProgram:
    return VertexProgram(
        id=vertex.id,
        name=vertex.name,
        level=plan.level_of(vertex.id),
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        operators=tuple(map(_operator, vertex.operators)),
        inputs=tuple(_in_edge(e, graph, plan) for e in vertex.inputs),
        outputs=tuple(_out_edge(e, graph, plan) for e in vertex.outputs),
    )


def _operator(chained: ChainedOperator) -> OperatorProgram:
    node, link = chained.node, chained.input
    what = node.operator
    return OperatorProgram(
        uid=chained.operator_id,
        name=node.name,
        # Workers get the reader and not the source: that may hold all records.
        spec=what.create_reader() if isinstance(what, Source) else what,
        inputs=() if link is None else ((link.source_operator, link.tag),),
        key_type=node.key_type,
        keyed=node.keyed,
        output_type=node.output_type,
        watermark_strategy=node.watermark_strategy if isinstance(what, Source) else None,
        max_parallelism=node.max_parallelism,
    )


def _in_edge(edge: JobEdge, graph: JobGraph, plan: LevelPlan) -> InEdge:
    return InEdge(
        edge=edge.id,
        operator=edge.target_operator,
        input=edge.input_index,
        producers=graph.vertex(edge.source_vertex).parallelism,
        partitioning=edge.partitioning,
        local=plan.routes[edge.id].kind is RouteKind.LOCAL,
        columns=_columns(edge, graph),
    )


def _columns(edge: JobEdge, graph: JobGraph) -> ColumnsTypeInfo | None:
    """What an edge carries, when that is columns."""
    operators = graph.vertex(edge.source_vertex).operators
    source = next(o.node for o in operators if o.operator_id == edge.source_operator)
    declared = source.output_type if edge.tag is None else edge.tag.type_info
    return declared if isinstance(declared, ColumnsTypeInfo) else None


def _out_edge(edge: JobEdge, graph: JobGraph, plan: LevelPlan) -> OutEdge:
    consumer = graph.vertex(edge.target_vertex)
    return OutEdge(
        edge=edge.id,
        operator=edge.source_operator,
        tag=edge.tag,
        partitioning=edge.partitioning,
        consumers=consumer.parallelism,
        consumer_max_parallelism=consumer.max_parallelism,
        consumer=consumer.id,
        local=plan.routes[edge.id].kind is RouteKind.LOCAL,
        columns=_columns(edge, graph),
    )
