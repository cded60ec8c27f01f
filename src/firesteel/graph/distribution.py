"""Which producers and consumers of a pointwise edge meet (Flink: ``VertexInputInfoComputationUtils``)."""

from __future__ import annotations

from operator import index
from typing import Any

from firesteel.common._shown import shown
from firesteel.common.errors import ProgramError


def pointwise_consumers(producer: int, producers: int, consumers: int) -> range:
    """The consumer subtasks that producer subtask ``producer`` feeds over a pointwise (rescale) edge.

    >>> [list(pointwise_consumers(i, 2, 4)) for i in range(2)]
    [[0, 1], [2, 3]]
    >>> [list(pointwise_consumers(i, 4, 2)) for i in range(4)]
    [[0], [0], [1], [1]]
    """
    if producers >= consumers:
        # Consumer c reads the producers [c*P//C, (c+1)*P//C): this is the c whose range holds the producer.
        consumer = ((producer + 1) * consumers - 1) // producers
        return range(consumer, consumer + 1)
    start = (producer * consumers + producers - 1) // producers
    stop = ((producer + 1) * consumers + producers - 1) // producers
    return range(start, stop)


def pointwise_producers(consumer: int, producers: int, consumers: int) -> range:
    """The producer subtasks that consumer subtask ``consumer`` reads over a pointwise (rescale) edge.

    >>> [list(pointwise_producers(i, 5, 2)) for i in range(2)]
    [[0, 1], [2, 3, 4]]
    """
    if producers >= consumers:
        return range(consumer * producers // consumers, (consumer + 1) * producers // consumers)
    producer = consumer * producers // consumers
    return range(producer, producer + 1)


def subtask_named(target: Any, key: Any, subtasks: int) -> int:
    """The subtask that a custom partitioner means with something else than an int of their range: an integer
    of NumPy, else it is an error."""
    if hasattr(target, "__index__") and not isinstance(target, bool) and 0 <= index(target) < subtasks:
        return index(target)
    raise ProgramError(
        f"The custom partitioner returned {shown(target)} for key {shown(key)}",
        detail=f"there are {subtasks} subtasks: an int from 0 to {subtasks - 1} is needed",
    )
