"""Latency markers: how long it takes from a source to each operator (Flink: ``LatencyMarker``).

A source sends a marker with the instant at which it leaves. A marker goes the way that records go, one of the
ways at each fork, and every operator that it reaches notes its age. It passes operators by, so users'
functions never see one, and it overtakes no record of its channel.

What an operator has noted differs from run to run, so it goes beside the rows (``task_report.py``). The rows
of markers must not differ where Spark compares the bytes of an exchange, which it does in epochs: there a
marker carries the time of the epoch, and the choice at a fork follows from the marker alone.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from firesteel.common.configuration import Configuration
from firesteel.common.options import metrics as options
from firesteel.metrics.groups import Groups
from firesteel.runtime.metrics import Histogram, MetricKey
from firesteel.runtime.operators.source import SourceOperator
from firesteel.runtime.wire import Body

if TYPE_CHECKING:
    from firesteel.runtime.chain import Chain

_NAME: Final = "latency"


class Marker(NamedTuple):
    """:param source: the operator that has sent it, in its subtask *subtask*."""

    marked_ms: int
    source: str
    subtask: int

    def choice(self, place: str, among: int) -> int:
        """One of so many ways at a place: always the same of one marker, another one of the next."""
        if among == 1:
            return 0
        # Not a checksum as CRC: with it the choices at two places depend on each other.
        digest = blake2b(f"{place} {self}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) % among


#: Takes a marker, and the instant at which it has come.
_Way: TypeAlias = Callable[[Marker, float], None]

# Which groups name the source of a marker, by granularity.
_SOURCES: Final[Mapping[str, Callable[[Marker], Groups]]] = {
    "single": lambda marker: (),
    "operator": lambda marker: (("source_id", marker.source),),
    "subtask": lambda marker: (
        ("source_id", marker.source),
        ("source_subtask_index", str(marker.subtask)),
    ),
}


def latency_interval_ms(configuration: Configuration, *, batch: bool) -> int:
    """How often sources of a job send markers; 0: never. BATCH jobs gather their input first, so in them an
    age would say nothing."""
    return 0 if batch else max(0, configuration.get(options.LATENCY_INTERVAL))


class LatencyMarkers:
    """The markers in one task, and what its operators have noted of them.

    :param chains: those of the task; nobody closes or replaces them while it lives.
    """

    def __init__(self, chains: Sequence[Chain], subtask: int, configuration: Configuration) -> None:
        self.interval_ms = configuration.get(options.LATENCY_INTERVAL)
        self._source_of = _SOURCES[(configuration.get(options.LATENCY_GRANULARITY) or "operator").lower()]
        self._history = configuration.get(options.LATENCY_HISTORY)
        self._subtask = subtask
        self._sources = [
            (uid, operator)
            for chain in chains
            for uid, operator in chain.operators.items()
            if isinstance(operator, SourceOperator)
        ]
        self._heads = {edge.edge: edge.operator for chain in chains for edge in chain.vertex.inputs}
        self._ways: defaultdict[str, list[_Way]] = defaultdict(list)  # from an operator on
        for chain in chains:
            self._add_ways(chain)
        self._waiting: list[tuple[Chain, Callable[[], None]]] = []  # what leaves with the next flush
        self._noted: dict[MetricKey, Histogram] = {}

    def _add_ways(self, chain: Chain) -> None:
        for program in chain.vertex.operators:
            for uid, _ in program.inputs:
                self._ways[uid].append(partial(self._arrive, program.uid))
        for edge in chain.vertex.outputs:
            if edge.local:
                self._ways[edge.operator].append(partial(self._arrive, self._heads[edge.edge]))
        for router in chain.routers:
            self._ways[router.edge.operator].append(partial(self._leave, chain, router))

    def mark(self, marked_ms: float, now_ms: float) -> None:
        """Let each source of the task send a marker of an instant."""
        for uid, operator in self._sources:
            if not operator.ended:
                self._pass_on(uid, Marker(int(marked_ms), uid, self._subtask), now_ms)

    def receive(self, edge: int, body: Body, now_ms: float) -> None:
        """Take the marker of a row."""
        self._arrive(self._heads[edge], Marker(*pickle.loads(body)), now_ms)

    def _arrive(self, uid: str, marker: Marker, now_ms: float) -> None:
        here = (("operator_id", uid), ("operator_subtask_index", str(self._subtask)))
        key = MetricKey(uid, "", ((_NAME, None), *self._source_of(marker), *here), _NAME)
        noted = self._noted.get(key)
        if noted is None:
            noted = self._noted[key] = Histogram(self._history)
        noted.update(int(now_ms) - marker.marked_ms)
        self._pass_on(uid, marker, now_ms)

    def _pass_on(self, uid: str, marker: Marker, now_ms: float) -> None:
        ways = self._ways.get(uid)
        if ways:
            ways[marker.choice(uid, len(ways))](marker, now_ms)

    def _leave(self, chain: Chain, router: Any, marker: Marker, now_ms: float) -> None:
        target = router.reached[marker.choice(str(router.edge.edge), len(router.reached))]
        body = pickle.dumps(tuple(marker), 5)
        self._waiting.append((chain, partial(router.send_marker, target, body)))

    def send(self) -> None:
        """Send what waits: all records that were before it have left."""
        waiting, self._waiting = self._waiting, []
        for _, send in waiting:
            send()

    def send_at_once(self) -> None:
        """The same, with the records that are before it."""
        for chain in dict.fromkeys(chain for chain, _ in self._waiting):
            with chain.user_code:
                chain.flush_routers()
        self.send()

    def take(self) -> dict[MetricKey, Histogram]:
        """What was noted since the last time."""
        noted, self._noted = self._noted, {}
        return noted

    def reset(self) -> None:
        """Forget what an attempt has left that did not come to its end."""
        self._waiting, self._noted = [], {}
