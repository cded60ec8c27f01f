"""Which neighbours become one task (Flink: the rules of ``StreamingJobGraphGenerator.isChainable``)."""

from __future__ import annotations

from firesteel.graph.stream_graph import StreamEdge, StreamGraph
from firesteel.program.transformations import ChainingStrategy


def is_chainable(edge: StreamEdge, graph: StreamGraph) -> bool:
    """True when source and target of ``edge`` run in one chain: records go by a call, not by a buffer.

    The target has this one input edge and may be chained to its input, the source allows chaining, the edge
    is FORWARD, and parallelism and slot sharing group are the same. As in Flink, different max parallelisms
    do not keep operators apart (unless configured), but a *keyed* operator is never chained to a head with
    another max parallelism: the chain is cut into key groups by that of its head.
    """
    config = graph.config
    source, target = graph.node(edge.source), graph.node(edge.target)
    same_max = source.max_parallelism == target.max_parallelism
    return (
        config.chaining
        and len(graph.in_edges(target.id)) == 1
        and edge.forward
        and source.parallelism == target.parallelism
        and source.slot_sharing_group == target.slot_sharing_group
        and source.chaining is not ChainingStrategy.NEVER
        and target.chaining is ChainingStrategy.ALWAYS
        and (same_max or (config.chain_different_max_parallelism and not target.keyed))
    )
