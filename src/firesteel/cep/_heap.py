"""A binary heap of complete matches, by their first event, that orders equal ones as Java's
``PriorityQueue``.

Matches that begin with the same event and are complete at the same time come out in the order of Flink's
queue, which is fixed but follows no rule. ``heapq`` gives another one.
"""

from __future__ import annotations

from collections.abc import Callable

from firesteel.cep.shared_buffer import Node

__all__ = ["drop", "pop", "push"]


def push(heap: list[Node], node: Node) -> None:
    rank = node.first.sequence
    place = len(heap)
    heap.append(node)
    while place:
        above = (place - 1) >> 1
        if rank >= heap[above].first.sequence:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = node


def pop(heap: list[Node]) -> Node:
    first, last = heap[0], heap.pop()
    if heap:
        _sink(heap, 0, last)
    return first


def drop(heap: list[Node], is_unwanted: Callable[[Node], bool]) -> None:
    """Remove what is unwanted."""
    kept = [node for node in heap if not is_unwanted(node)]
    if len(kept) < len(heap):
        heap[:] = kept
        for place in reversed(range(len(heap) >> 1)):
            _sink(heap, place, heap[place])


def _sink(heap: list[Node], place: int, node: Node) -> None:
    size, rank = len(heap), node.first.sequence
    while place < size >> 1:
        below = 2 * place + 1
        if below + 1 < size and heap[below].first.sequence > heap[below + 1].first.sequence:
            below += 1
        if rank <= heap[below].first.sequence:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = node
