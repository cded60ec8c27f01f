"""From the transformations of a program to its stream graph (Flink: ``StreamGraphGenerator``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from firesteel.common.errors import ProgramError
from firesteel.common.key_groups import default_max_parallelism
from firesteel.graph._topology import topological_order
from firesteel.graph.stream_graph import (
    DEFAULT_SLOT_SHARING_GROUP,
    GraphConfig,
    NodeKind,
    StreamEdge,
    StreamGraph,
    StreamNode,
)
from firesteel.graph.validate import check_acyclic, check_parallelism, check_source_parallelism, validate
from firesteel.program.execution_mode import RuntimeExecutionMode
from firesteel.program.operators import OperatorSpec
from firesteel.program.sinks import Sink
from firesteel.program.sources import Source
from firesteel.program.transformations import (
    VIRTUAL,
    CacheTransformation,
    OneInputTransformation,
    Partitioning,
    PartitionKind,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
)

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.program.output_tag import OutputTag

T = TypeVar("T")

_PREFIXES = {NodeKind.SOURCE: "Source: ", NodeKind.SINK: "Sink: ", NodeKind.OPERATOR: ""}


def generate(transformations: Iterable[Transformation], config: GraphConfig) -> StreamGraph:
    """The stream graph of everything that ``transformations`` name and what stands before it.

    A source that nothing reads is left out. Raises ProgramError, with the operator's name, for a program that
    cannot work: no operator at all, a cycle, parallelisms out of bounds, ``forward()`` between different
    parallelisms, an unbounded source in BATCH mode, a uid used twice.
    """
    roots = [t for t in transformations if not isinstance(t, (SourceTransformation, *VIRTUAL))]
    if not roots:
        raise ProgramError(
            "No operators defined in streaming topology. Cannot execute.",
            detail="the program has no operator and no sink",
            hint="end at least one stream in a sink: print(), sink_to(...), execute_and_collect()",
        )
    return leading_to(roots, config)


def leading_to(roots: Sequence[Transformation], config: GraphConfig) -> StreamGraph:
    """The stream graph of ``roots`` and what stands before them; see ``generate``."""
    physical = _physical_transformations(roots)
    numbers = {id(t): number for number, t in enumerate(physical, 1)}
    nodes: dict[int, StreamNode] = {}
    edges: list[StreamEdge] = []
    for transformation in physical:
        inputs = [
            [_Upstream(numbers[id(u.transformation)], u.partitioning, u.tag) for u in _upstreams(t)]
            for t in transformation.inputs
        ]
        node = _node(transformation, numbers[id(transformation)], inputs, nodes, config)
        nodes[node.id] = node
        for index, upstreams in enumerate(inputs):
            edges.extend(_edge(nodes[u.node], node, index, u) for u in upstreams)
    batch = _resolve_mode(nodes.values(), config.runtime_mode)
    graph = StreamGraph(
        name=config.job_name or f"Firesteel {'Batch' if batch else 'Streaming'} Job",
        batch=batch,
        nodes=_with_side_outputs(nodes, edges),
        edges=tuple(edges),
        config=config,
    )
    validate(graph)
    return graph


@dataclass(frozen=True, slots=True)
class _Upstream:
    node: int
    partitioning: Partitioning | None
    tag: OutputTag | None


@dataclass(frozen=True, slots=True)
class _Physical:
    transformation: Transformation
    partitioning: Partitioning | None = None
    tag: OutputTag | None = None


def _physical_transformations(roots: Sequence[Transformation]) -> list[Transformation]:
    """The non-virtual transformations that reach a root, in the order in which the program made them (as far
    as that is topological)."""
    found: dict[int, Transformation] = {}
    stack = list(roots)
    while stack:
        transformation = stack.pop()
        if id(transformation) not in found:
            found[id(transformation)] = transformation
            stack.extend(transformation.inputs)
    keys = sorted(found, key=lambda key: found[key].id)
    order = topological_order(keys, [(id(i), key) for key in keys for i in found[key].inputs])
    check_acyclic([found[key] for key in keys], {*order})
    return [found[key] for key in order if not isinstance(found[key], VIRTUAL)]


def _upstreams(transformation: Transformation) -> list[_Physical]:
    """The physical operators behind a chain of virtual transformations. What stands nearest to the consumer
    wins: ``ds.rebalance().rescale()`` is a rescale. A stream unioned with itself occurs twice."""
    result: list[_Physical] = []
    stack = [_Physical(transformation)]
    while stack:
        at = stack.pop()
        match at.transformation:
            case PartitionTransformation(input=source, partitioning=partitioning):
                stack.append(_Physical(source, at.partitioning or partitioning, at.tag))
            case SideOutputTransformation(input=source, tag=tag):
                stack.append(_Physical(source, at.partitioning, at.tag or tag))
            case UnionTransformation(union_of=sources):
                stack.extend(_Physical(source, at.partitioning, at.tag) for source in reversed(sources))
            case CacheTransformation(origin=source):
                stack.append(_Physical(source, at.partitioning, at.tag))
            case _:
                result.append(at)
    return result


@dataclass(frozen=True, slots=True)
class _Traits:
    """What differs between the kinds of transformations."""

    kind: NodeKind
    operator: OperatorSpec | Source | Sink
    key_selectors: tuple[Callable[[Any], Any] | None, ...] = ()
    key_type: TypeInformation | None = None


def _traits(transformation: Transformation) -> _Traits:
    match transformation:
        case SourceTransformation():
            return _Traits(NodeKind.SOURCE, transformation.source)
        case SinkTransformation():
            return _Traits(NodeKind.SINK, transformation.sink, (None,))
        case OneInputTransformation():
            selectors = (transformation.key_selector,)
            return _Traits(NodeKind.OPERATOR, transformation.operator, selectors, transformation.key_type)
        case TwoInputTransformation():
            both = (transformation.key_selector1, transformation.key_selector2)
            return _Traits(NodeKind.OPERATOR, transformation.operator, both, transformation.key_type)
    raise ProgramError(
        f"There is no translation for a {type(transformation).__name__}.", operator=transformation.name
    )


def _node(
    transformation: Transformation,
    number: int,
    inputs: Sequence[Sequence[_Upstream]],
    nodes: dict[int, StreamNode],
    config: GraphConfig,
) -> StreamNode:
    traits = _traits(transformation)
    parallelism, max_parallelism = _parallelism(transformation, config)
    prefix = _PREFIXES[traits.kind]
    name = transformation.name if transformation.name.startswith(prefix) else prefix + transformation.name
    return StreamNode(
        id=number,
        name=name,
        kind=traits.kind,
        operator=traits.operator,
        parallelism=parallelism,
        max_parallelism=max_parallelism,
        max_parallelism_is_set=_is_limited(transformation, config),
        slot_sharing_group=transformation.slot_sharing_group
        or _inherited_group([nodes[u.node] for upstreams in inputs for u in upstreams]),
        chaining=transformation.chaining,
        uid=transformation.uid,
        uid_hash=transformation.uid_hash,
        description=transformation.description,
        created_at=transformation.created_at,
        statement=transformation.statement,
        output_type=transformation.output_type,
        input_types=tuple(t.output_type for t in transformation.inputs),
        key_selectors=traits.key_selectors,
        key_type=traits.key_type,
        watermark_strategy=getattr(transformation, "watermark_strategy", None),
        buffer_timeout_ms=transformation.buffer_timeout_ms,
    )


def _parallelism(transformation: Transformation, config: GraphConfig) -> tuple[int, int]:
    """Parallelism and max parallelism; a source that cannot be read in parallel gets its own limit."""
    parallelism = _first_set(transformation.parallelism, config.parallelism)
    max_parallelism = _first_set(transformation.max_parallelism, config.max_parallelism)
    if isinstance(transformation, SourceTransformation):
        limit = transformation.source.max_parallelism
        if limit is not None:
            check_source_parallelism(transformation, limit)
            parallelism = min(parallelism, limit)
            max_parallelism = limit
    check_parallelism(transformation, parallelism, max_parallelism)
    return parallelism, _first_set(max_parallelism, default_max_parallelism(parallelism))


def _is_limited(transformation: Transformation, config: GraphConfig) -> bool:
    """Whether program or source say what the max parallelism is."""
    limit = (
        transformation.source.max_parallelism if isinstance(transformation, SourceTransformation) else None
    )
    return any(n is not None for n in (transformation.max_parallelism, config.max_parallelism, limit))


def _first_set(own: T | None, inherited: T) -> T:
    return inherited if own is None else own


def _inherited_group(inputs: Sequence[StreamNode]) -> str:
    groups = {node.slot_sharing_group for node in inputs}
    return groups.pop() if len(groups) == 1 else DEFAULT_SLOT_SHARING_GROUP


def _edge(source: StreamNode, target: StreamNode, index: int, upstream: _Upstream) -> StreamEdge:
    partitioning = upstream.partitioning
    if partitioning is None:
        equal = source.parallelism == target.parallelism
        partitioning = Partitioning(PartitionKind.FORWARD if equal else PartitionKind.REBALANCE)
    elif partitioning.kind is PartitionKind.FORWARD and source.parallelism != target.parallelism:
        raise ProgramError(
            "Forward partitioning does not allow a change of parallelism.",
            detail=f"{source.name!r} has parallelism {source.parallelism}, "
            f"{target.name!r} has parallelism {target.parallelism}",
            hint="use rebalance(), rescale(), shuffle(), broadcast() or global_(), or equal parallelisms",
            operator=target.name,
            uid=target.uid,
        )
    return StreamEdge(source.id, target.id, index, partitioning, upstream.tag)


def _with_side_outputs(nodes: dict[int, StreamNode], edges: Iterable[StreamEdge]) -> tuple[StreamNode, ...]:
    tags: dict[int, dict[str, None]] = {}
    for edge in edges:
        if edge.tag is not None:
            tags.setdefault(edge.source, {})[edge.tag.tag_id] = None
    return tuple(replace(node, side_output_tags=tuple(tags.get(node.id, ()))) for node in nodes.values())


def _resolve_mode(nodes: Iterable[StreamNode], mode: RuntimeExecutionMode) -> bool:
    """True for BATCH."""
    if mode is RuntimeExecutionMode.AUTOMATIC:
        return all(node.bounded for node in nodes)
    return mode is RuntimeExecutionMode.BATCH
