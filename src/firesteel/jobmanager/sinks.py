"""The committers of a job's sinks: what writers staged becomes visible when its epoch is committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from firesteel.connectors.base import Committable, Sink, SinkCommitter
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.program import Ack


class JobSinks:
    """All sinks of a job that commit."""

    def __init__(self, graph: JobGraph) -> None:
        self._committers: dict[str, SinkCommitter] = {}
        for vertex in graph.vertices:
            for operator in vertex.operators:
                sink = operator.node.operator
                committer = sink.create_committer() if isinstance(sink, Sink) else None
                if committer is not None:
                    self._committers[operator.operator_id] = committer

    def open(self) -> None:
        for committer in self._committers.values():
            committer.open()

    @property
    def closing(self) -> list[Callable[[], None]]:
        return [c.close for c in self._committers.values()]

    def commit(self, acks: Sequence[Ack], epoch: int, now_ms: int) -> None:
        """Each committer is called with each epoch, also without committables: files are rolled by age."""
        committables: dict[str, list[Committable]] = {uid: [] for uid in self._committers}
        for ack in acks:
            for uid, payloads in ack.committables.items():
                committables.setdefault(uid, []).extend(
                    Committable(ack.subtask, epoch, payload) for payload in payloads
                )
        for uid, committer in self._committers.items():
            committer.commit(committables[uid], now_ms)

    def finish(self, now_ms: int) -> None:
        """The job has ended normally."""
        for committer in self._committers.values():
            committer.finish(now_ms)
