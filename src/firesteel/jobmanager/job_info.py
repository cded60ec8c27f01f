"""What a view says of a job that does not change while it runs."""

from __future__ import annotations

from operator import itemgetter
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.masking import masked, shown_settings
from firesteel.graph.job_graph import ChainedOperator, JobEdge, JobGraph, JobVertex
from firesteel.graph.levels import LevelPlan
from firesteel.jobmanager.checkpoints.options import CheckpointOptions
from firesteel.jobmanager.job_view import EdgeInfo, JobInfo, OperatorInfo, StatementInfo, VertexInfo
from firesteel.program.sinks import Sink
from firesteel.program.sources import Source

_LONGEST_STATEMENT: Final = 100_000  # characters: a view is copied from process to process


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
        statements_in(graph),
    )


def statements_in(graph: JobGraph) -> tuple[StatementInfo, ...]:
    """The statements of SQL whose sinks are in the graph."""
    found: dict[str, dict[str, None]] = {}
    ends = ((o.node.id, o.node.statement, v.id) for v in graph.vertices for o in v.operators)
    for _, statement, vertex in sorted((end for end in ends if end[1]), key=itemgetter(0)):
        found.setdefault(statement or "", {})[vertex] = None
    return tuple(
        StatementInfo(_bounded(masked(text).strip()), tuple(vertices)) for text, vertices in found.items()
    )


def _bounded(text: str) -> str:
    rest = len(text) - _LONGEST_STATEMENT
    return text if rest <= 0 else f"{text[:_LONGEST_STATEMENT]}\n-- and {rest} characters more"


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
