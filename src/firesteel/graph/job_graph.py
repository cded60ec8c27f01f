"""The job graph: one vertex for each chain of operators, one edge for each exchange between chains.

Flink: ``JobGraph`` and ``StreamingJobGraphGenerator``. A vertex is what runs as one task for each subtask.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from firesteel.graph._topology import topological_order
from firesteel.graph.chaining import is_chainable
from firesteel.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from firesteel.graph.uids import operator_ids
from firesteel.program.transformations import Partitioning, PartitionKind

if TYPE_CHECKING:
    from firesteel.program.output_tag import OutputTag


class DistributionPattern(enum.Enum):
    """Which subtasks an edge connects: each with each, or few with few."""

    ALL_TO_ALL = "ALL_TO_ALL"
    POINTWISE = "POINTWISE"


class ResultType(enum.Enum):
    """Whether consumers work while producers do (streaming) or after them (BATCH mode)."""

    PIPELINED_BOUNDED = "PIPELINED_BOUNDED"
    BLOCKING = "BLOCKING"


_POINTWISE = frozenset({PartitionKind.FORWARD, PartitionKind.RESCALE})


@dataclass(frozen=True, slots=True)
class ChainInput:
    """An operator of a chain is fed by the operator at ``source_index`` of the same chain (its main output,
    or the side output ``tag``)."""

    source_index: int
    source_operator: str  # operator id
    tag: OutputTag | None = None


@dataclass(frozen=True, slots=True)
class ChainedOperator:
    """``input`` None: the head, fed by the edges of the vertex (or a source)."""

    node: StreamNode
    operator_id: str
    input: ChainInput | None = None


@dataclass(frozen=True, slots=True)
class JobEdge:
    """Records of one output of an operator on their way to one input of another vertex's head.

    ``id`` is unique in the job and small: a channel is (edge id, producer subtask). Flink: ``JobEdge`` with
    its ``IntermediateDataSet``.
    """

    id: int
    source_vertex: str
    source_operator: str
    target_vertex: str
    target_operator: str
    input_index: int
    partitioning: Partitioning
    result_type: ResultType
    tag: OutputTag | None = None

    @property
    def ship_strategy(self) -> str:
        return self.partitioning.kind.value

    @property
    def forward(self) -> bool:
        return self.partitioning.kind is PartitionKind.FORWARD

    @property
    def pattern(self) -> DistributionPattern:
        pointwise = self.partitioning.kind in _POINTWISE
        return DistributionPattern.POINTWISE if pointwise else DistributionPattern.ALL_TO_ALL

    @property
    def tag_id(self) -> str | None:
        return None if self.tag is None else self.tag.tag_id


@dataclass(frozen=True, slots=True)
class JobVertex:
    """A chain. ``operators`` in topological order, the head first; ``id`` is the operator id of the head.
    ``inputs`` by input index, then in the order of the program."""

    id: str
    name: str
    operators: tuple[ChainedOperator, ...]
    parallelism: int
    max_parallelism: int
    slot_sharing_group: str
    inputs: tuple[JobEdge, ...] = ()
    outputs: tuple[JobEdge, ...] = ()

    @property
    def head(self) -> ChainedOperator:
        return self.operators[0]

    @property
    def operator_ids(self) -> tuple[str, ...]:
        return tuple(operator.operator_id for operator in self.operators)


@dataclass(frozen=True, slots=True)
class JobGraph:
    """``vertices`` in topological order, that of their heads in the program; ``edges`` by id."""

    name: str
    batch: bool
    vertices: tuple[JobVertex, ...]
    edges: tuple[JobEdge, ...]
    _by_id: Mapping[str, JobVertex] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {vertex.id: vertex for vertex in self.vertices})

    def vertex(self, vertex_id: str) -> JobVertex:
        return self._by_id[vertex_id]

    def slots_by_group(self) -> dict[str, int]:
        """The slots that each slot sharing group needs: the highest parallelism in it, since one slot holds
        a subtask of every vertex of its group."""
        slots: dict[str, int] = {}
        for vertex in self.vertices:
            group = vertex.slot_sharing_group
            slots[group] = max(slots.get(group, 0), vertex.parallelism)
        return slots

    @property
    def keyed_subtasks(self) -> int:
        """How many subtasks have keyed state."""
        return sum(v.parallelism for v in self.vertices if any(o.node.keyed for o in v.operators))

    @property
    def required_slots(self) -> int:
        return sum(self.slots_by_group().values())

    def _repr_html_(self) -> str:
        from firesteel.common import html
        from firesteel.graph.picture import pictured

        mode = "BATCH" if self.batch else "STREAMING"
        about = html.facts(("mode", mode), ("vertices", len(self.vertices)), ("slots", self.required_slots))
        return html.piece(self.name, about, html.picture(pictured(self), f"The graph of {self.name}"))


def create_job_graph(graph: StreamGraph) -> JobGraph:
    """Chain what may be chained. Raises ProgramError when operator ids collide."""
    ids = operator_ids(graph)
    chained = {id(edge) for edge in graph.edges if is_chainable(edge, graph)}
    head_of = _heads(graph, chained)
    edges = _job_edges(graph, chained, head_of, ids)
    members: dict[int, list[StreamNode]] = {}
    for node in graph.nodes:
        members.setdefault(head_of[node.id], []).append(node)
    order = topological_order(
        list(members), [(head_of[e.source], e.target) for e in graph.edges if id(e) not in chained]
    )
    names = _chain_names(graph, chained)
    vertices = []
    for head_id in order:
        head, vertex_id = graph.node(head_id), ids[head_id]
        vertices.append(
            JobVertex(
                id=vertex_id,
                name=names[head_id],
                operators=_chain(members[head_id], graph, ids),
                parallelism=head.parallelism,
                max_parallelism=head.max_parallelism,
                slot_sharing_group=head.slot_sharing_group,
                inputs=tuple(
                    sorted((e for e in edges if e.target_vertex == vertex_id), key=lambda e: e.input_index)
                ),
                outputs=tuple(edge for edge in edges if edge.source_vertex == vertex_id),
            )
        )
    return JobGraph(graph.name, graph.batch, tuple(vertices), tuple(edges))


def _heads(graph: StreamGraph, chained: Collection[int]) -> dict[int, int]:
    """Node id -> id of the head of its chain. A chained node has one input edge, so a chain is a tree."""
    head_of: dict[int, int] = {}
    for node in graph.nodes:
        edges = graph.in_edges(node.id)
        in_chain = len(edges) == 1 and id(edges[0]) in chained
        head_of[node.id] = head_of[edges[0].source] if in_chain else node.id
    return head_of


def _job_edges(
    graph: StreamGraph, chained: Collection[int], head_of: Mapping[int, int], ids: Mapping[int, str]
) -> list[JobEdge]:
    result_type = ResultType.BLOCKING if graph.batch else ResultType.PIPELINED_BOUNDED
    crossing = [edge for edge in graph.edges if id(edge) not in chained]
    # Buffers of one number come by edge: broadcast state that is there at the start precedes the records it
    # is for. (Flink promises no order here, and neither do we where there is more than one buffer.)
    crossing.sort(key=lambda edge: not _feeds_broadcast_state(edge, graph))
    return [
        JobEdge(
            id=number,
            source_vertex=ids[head_of[edge.source]],
            source_operator=ids[edge.source],
            target_vertex=ids[edge.target],
            target_operator=ids[edge.target],
            input_index=edge.input_index,
            partitioning=edge.partitioning,
            result_type=result_type,
            tag=edge.tag,
        )
        for number, edge in enumerate(crossing)
    ]


def _feeds_broadcast_state(edge: StreamEdge, graph: StreamGraph) -> bool:
    kind = graph.node(edge.target).operator_kind
    return kind is not None and edge.input_index == kind.broadcast_input


def _chain(
    members: Sequence[StreamNode], graph: StreamGraph, ids: Mapping[int, str]
) -> tuple[ChainedOperator, ...]:
    index = {node.id: i for i, node in enumerate(members)}
    operators = [ChainedOperator(members[0], ids[members[0].id])]
    for node in members[1:]:
        (edge,) = graph.in_edges(node.id)
        chain_input = ChainInput(index[edge.source], ids[edge.source], edge.tag)
        operators.append(ChainedOperator(node, ids[node.id], chain_input))
    return tuple(operators)


def _chain_names(graph: StreamGraph, chained: Collection[int]) -> dict[int, str]:
    """Node id -> the name of the chain from there on: ``a -> b -> (c, d -> e)``."""
    names: dict[int, str] = {}
    for node in reversed(graph.nodes):
        tails = [names[edge.target] for edge in graph.out_edges(node.id) if id(edge) in chained]
        match tails:
            case []:
                names[node.id] = node.name
            case [tail]:
                names[node.id] = f"{node.name} -> {tail}"
            case _:
                names[node.id] = f"{node.name} -> ({', '.join(tails)})"
    return names
