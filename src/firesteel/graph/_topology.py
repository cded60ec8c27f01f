"""The order in which the nodes of an acyclic graph may be visited."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import TypeVar

N = TypeVar("N")


def topological_order(nodes: Sequence[N], edges: Iterable[tuple[N, N]]) -> list[N]:
    """``nodes`` with every source of an edge before its target; of the nodes that are free to come next, the
    one that stands first in ``nodes``. Nodes on a cycle are left out. An edge may occur more than once."""
    rank = {node: i for i, node in enumerate(nodes)}
    waiting = [0] * len(nodes)
    targets: list[list[int]] = [[] for _ in nodes]
    for source, target in edges:
        waiting[rank[target]] += 1
        targets[rank[source]].append(rank[target])
    free = [i for i, count in enumerate(waiting) if count == 0]
    order: list[N] = []
    while free:
        first = heapq.heappop(free)
        order.append(nodes[first])
        for i in targets[first]:
            waiting[i] -= 1
            if waiting[i] == 0:
                heapq.heappush(free, i)
    return order
