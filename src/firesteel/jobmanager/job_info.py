"""What a view says of a job that does not change while it runs."""

from __future__ import annotations

from firesteel.common.configuration import Configuration
from firesteel.common.masking import shown_settings
from firesteel.graph.job_graph import ChainedOperator, JobEdge, JobGraph, JobVertex
from firesteel.graph.levels import LevelPlan
from firesteel.jobmanager.checkpoints.options import CheckpointOptions
from firesteel.jobmanager.job_view import EdgeInfo, JobInfo, OperatorInfo, VertexInfo
from firesteel.program.sinks import Sink
from firesteel.program.sources import Source


def job_info(
    job_id: str,
    graph: JobGraph,
    plan: LevelPlan,
    configuration: Configuration,
    checkpointing: CheckpointOptions,
    state_dir: str,
) -> JobInfo:
    return JobInfo(
        job_id,
        graph.name,
        graph.batch,
        vertex_infos(graph, plan),
        shown_settings(configuration.to_dict()),
        checkpointing,
        state_dir,
    )


def vertex_infos(graph: JobGraph, plan: LevelPlan) -> tuple[VertexInfo, ...]:
    """The vertices in topological order, sources first."""
    return tuple(_vertex(vertex, plan.level_of(vertex.id)) for vertex in graph.vertices)


def _vertex(vertex: JobVertex, level: int) -> VertexInfo:
    operators = tuple(
        OperatorInfo(
            o.operator_id,
            o.node.name,
            o.node.description or o.node.name,
            o.node.uid,
            None if o.input is None else o.input.source_operator,
            _kind(o),
        )
        for o in vertex.operators
    )
    return VertexInfo(
        vertex.id,
        vertex.name,
        vertex.parallelism,
        vertex.max_parallelism,
        vertex.slot_sharing_group,
        level,
        operators,
        tuple(map(_edge, vertex.inputs)),
    )


def _kind(operator: ChainedOperator) -> str:
    what = operator.node.operator
    return "source" if isinstance(what, Source) else "sink" if isinstance(what, Sink) else ""


def _edge(edge: JobEdge) -> EdgeInfo:
    exchange = edge.result_type.value.lower()
    return EdgeInfo(edge.source_vertex, edge.input_index, edge.ship_strategy, exchange)
