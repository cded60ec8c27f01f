"""A count of what crosses the exchanges of an epoch, with which the driver sees that all of it arrived once.

How far a source task reads may depend on time, so when Spark runs it again its output can be another one. If
some consumers had read the first output and others read the second, records would be lost or doubled without
an error. Each ack therefore says how many records its subtask sent and received on each edge, weighted by
the channel: the totals of an edge agree only if all consumers read the output that the producer's ack is of.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from firesteel.runtime.program import Ack
from firesteel.runtime.wire import edge_of

_WEIGHT_BITS = 61


@lru_cache(maxsize=1 << 16)
def weight(channel: int) -> int:
    """A number that two channels hardly ever share, the same in every process."""
    return random.Random(channel).getrandbits(_WEIGHT_BITS) | 1


def weighted(records: Mapping[int, int]) -> dict[int, int]:
    """The totals by edge of a number of records by channel."""
    totals: Counter[int] = Counter()
    for channel, count in records.items():
        totals[edge_of(channel)] += count * weight(channel)
    return dict(totals)


def edges_that_differ(acks: Iterable[Ack]) -> list[int]:
    """The edges on which not every record that was sent has arrived exactly once."""
    difference: Counter[int] = Counter()
    for ack in acks:
        difference.update(ack.sent)
        difference.subtract(ack.received)
    return sorted(edge for edge, total in difference.items() if total)
