"""The stream graph: one node for each physical operator of the program, nothing optimised yet.

Flink: ``StreamGraph``. Partitions, unions and side outputs of the program are properties of the edges here.
The graph is immutable data; ``firesteel.graph.generate`` makes it from transformations.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from firesteel.program.execution_mode import RuntimeExecutionMode
from firesteel.program.operator_kinds import OperatorKind, kind_of
from firesteel.program.operators import OperatorSpec
from firesteel.program.sinks import Sink
from firesteel.program.sources import Boundedness, Source
from firesteel.program.transformations import ChainingStrategy, Partitioning, PartitionKind

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.common.watermark_strategy import WatermarkStrategy
    from firesteel.program.output_tag import OutputTag

DEFAULT_SLOT_SHARING_GROUP = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphConfig:
    """What translation needs to know of the environment and its configuration.

    ``max_parallelism`` None: computed for each operator from its parallelism. ``job_name`` None: a name by
    the runtime mode.
    """

    parallelism: int = 1
    max_parallelism: int | None = None
    chaining: bool = True
    chain_different_max_parallelism: bool = True
    runtime_mode: RuntimeExecutionMode = RuntimeExecutionMode.STREAMING
    job_name: str | None = None


class NodeKind(enum.Enum):
    """What a node is for. The values are the ``pact`` of Flink's execution plan."""

    SOURCE = "Data Source"
    OPERATOR = "Operator"
    SINK = "Data Sink"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamNode:
    """One physical operator. ``key_selectors`` has an entry for each input (None: not keyed there).

    ``id`` counts from 1 in the order of the program. ``side_output_tags`` are the ids of the tags that
    somebody consumes. ``created_at`` is "file.py:12" in the user's program, ``statement`` the
    SQL that the node ends.
    """

    id: int
    name: str
    kind: NodeKind
    operator: OperatorSpec | Source | Sink
    parallelism: int
    max_parallelism: int
    max_parallelism_is_set: bool = False  # by the program; else it follows from the parallelism
    slot_sharing_group: str
    chaining: ChainingStrategy
    uid: str | None = None
    uid_hash: str | None = None
    description: str | None = None
    created_at: str | None = None
    statement: str | None = None
    output_type: TypeInformation | None = None
    input_types: tuple[TypeInformation | None, ...] = ()
    key_selectors: tuple[Callable[[Any], Any] | None, ...] = ()
    key_type: TypeInformation | None = None
    side_output_tags: tuple[str, ...] = ()
    watermark_strategy: WatermarkStrategy | None = None  # sources only
    buffer_timeout_ms: int | None = None  # of the operator's own; it has no effect, and the job says so

    @property
    def operator_kind(self) -> OperatorKind | None:
        """The kind of the operator; None: it is a source or a sink.

        :raises UnknownKindError: nothing that is imported knows it.
        """
        return kind_of(self.operator) if isinstance(self.operator, OperatorSpec) else None

    @property
    def arity(self) -> int:
        """The number of logical inputs: 0, 1 or 2, however many edges lead into each."""
        return len(self.key_selectors)

    @property
    def keyed(self) -> bool:
        return any(selector is not None for selector in self.key_selectors)

    @property
    def bounded(self) -> bool:
        """False for a source that never ends."""
        return not isinstance(self.operator, Source) or self.operator.boundedness is Boundedness.BOUNDED


@dataclass(frozen=True, slots=True)
class StreamEdge:
    """Records go from ``source`` to input ``input_index`` (0 or 1) of ``target`` (node ids).

    ``tag`` None: the main output of the source.
    """

    source: int
    target: int
    input_index: int
    partitioning: Partitioning
    tag: OutputTag | None = None

    @property
    def ship_strategy(self) -> str:
        return self.partitioning.kind.value

    @property
    def forward(self) -> bool:
        return self.partitioning.kind is PartitionKind.FORWARD

    @property
    def tag_id(self) -> str | None:
        return None if self.tag is None else self.tag.tag_id


@dataclass(frozen=True, slots=True)
class StreamGraph:
    """``nodes`` in topological order (that of the program). ``batch`` is the runtime mode, resolved."""

    name: str
    batch: bool
    nodes: tuple[StreamNode, ...]
    edges: tuple[StreamEdge, ...]
    config: GraphConfig
    _by_id: Mapping[int, StreamNode] = field(init=False, repr=False, compare=False)
    _in: Mapping[int, tuple[StreamEdge, ...]] = field(init=False, repr=False, compare=False)
    _out: Mapping[int, tuple[StreamEdge, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        incoming: dict[int, list[StreamEdge]] = {node.id: [] for node in self.nodes}
        outgoing: dict[int, list[StreamEdge]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            incoming[edge.target].append(edge)
            outgoing[edge.source].append(edge)
        object.__setattr__(self, "_by_id", {node.id: node for node in self.nodes})
        object.__setattr__(self, "_in", {k: tuple(v) for k, v in incoming.items()})
        object.__setattr__(self, "_out", {k: tuple(v) for k, v in outgoing.items()})

    def node(self, node_id: int) -> StreamNode:
        return self._by_id[node_id]

    def in_edges(self, node_id: int) -> tuple[StreamEdge, ...]:
        """The edges into a node: by input, then in the order of the program."""
        return self._in[node_id]

    def out_edges(self, node_id: int) -> tuple[StreamEdge, ...]:
        return self._out[node_id]

    @property
    def sources(self) -> tuple[StreamNode, ...]:
        return tuple(node for node in self.nodes if node.kind is NodeKind.SOURCE)

    def _repr_html_(self) -> str:
        from firesteel.graph.job_graph import create_job_graph

        return create_job_graph(self)._repr_html_()
