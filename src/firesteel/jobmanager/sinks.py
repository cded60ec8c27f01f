"""The committers of a job's sinks: what writers staged becomes visible when its epoch, or the checkpoint that
covers it, is committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from firesteel.common.errors import ProgramError
from firesteel.common.options.firesteel import MAX_RECORD_BYTES
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.commit_tasks import CommitTasks
from firesteel.jobmanager.commits import Patience, SinkCommits
from firesteel.jobmanager.epochs import DoParts
from firesteel.program.sinks import Committable, CommitterContext, Sink
from firesteel.runtime.program import Ack


class JobSinks:
    """All sinks of a job that commit, by operator id.

    :param do: how committers have tasks do their work.
    :param with_checkpoints: committables wait for a checkpoint, where their sink does.
    :param max_message_bytes: from the driver to a task of a committer, and back.
    """

    def __init__(
        self,
        graph: JobGraph,
        job_id: str,
        patience: Patience,
        do: DoParts,
        *,
        with_checkpoints: bool = False,
        max_message_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        self._now_ms = 0
        self._sinks: dict[str, SinkCommits] = {}
        for vertex in graph.vertices:
            for operator in vertex.operators:
                sink, uid = operator.node.operator, operator.operator_id
                if isinstance(sink, Sink):
                    tasks = CommitTasks(do, operator.node.name, max_message_bytes)
                    context = CommitterContext(job_id, uid, lambda: self._now_ms, tasks)
                    committer = sink.create_committer(context)
                    if committer is not None:
                        self._sinks[uid] = SinkCommits(operator.node.name, uid, committer, patience)
        self._waiting = frozenset(
            uid for uid, s in self._sinks.items() if with_checkpoints and s.committer.waits_for_checkpoint
        )

    @property
    def are_watched(self) -> bool:
        """Whether somebody waits for what is committed with each epoch."""
        return any(s.committer.is_watched and uid not in self._waiting for uid, s in self._sinks.items())

    def open(self, now_ms: int) -> None:
        self._now_ms = now_ms
        for sink in self._sinks.values():
            sink.open()

    @property
    def closing(self) -> list[Callable[[], None]]:
        return [sink.committer.close for sink in self._sinks.values()]

    @property
    def cleaning_up(self) -> list[Callable[[], None]]:
        """What is left to do when it is recorded that the job has ended normally."""
        return [sink.committer.clean_up for sink in self._sinks.values()]

    def epoch_done(self, acks: Sequence[Ack], epoch: int, now_ms: int) -> None:
        """The epoch is committed: take its committables, and make those visible that wait for nothing
        else."""
        for ack in acks:
            for uid, payloads in ack.committables.items():
                if uid not in self._sinks:
                    raise ProgramError(
                        "A sink's writer gives committables, and its create_committer() returns None.",
                        uid=uid,
                        hint="return a Committer, or nothing from prepare_commit()",
                    )
                self._sinks[uid].add(Committable(ack.subtask, epoch, payload) for payload in payloads)
        self._commit_all(now_ms, waiting=False)

    def checkpoint_done(self, now_ms: int) -> None:
        """A checkpoint covers all that is pending."""
        self._commit_all(now_ms, waiting=True)

    def _commit_all(self, now_ms: int, *, waiting: bool) -> None:
        """In the order of the program: what is printed by several sinks must not change from run to run."""
        self._now_ms = now_ms
        for uid, sink in self._sinks.items():
            if (uid in self._waiting) is waiting:
                sink.commit()

    def snapshot(self) -> dict[str, bytes]:
        """What is pending, and what committers must know to go on."""
        found = {uid: sink.snapshot() for uid, sink in self._sinks.items()}
        return {uid: snapshot for uid, snapshot in found.items() if snapshot is not None}

    def resume(self, snapshots: Mapping[str, bytes]) -> None:
        """Go on where another driver was; before ``open``."""
        for uid, sink in self._sinks.items():
            if uid in snapshots:
                sink.resume(snapshots[uid])

    def roll_back(self, snapshots: Mapping[str, bytes]) -> None:
        """Go back to a checkpoint of this driver: only what it covers is pending, again if it was
        committed."""
        for uid, sink in self._sinks.items():
            sink.roll_back(snapshots.get(uid))

    def commit_pending(self, now_ms: int) -> None:
        """Commit what a checkpoint covers that the job goes on from."""
        self._now_ms = now_ms
        for sink in self._sinks.values():
            if not sink.is_empty:
                sink.commit()

    def look_for_leftovers(self) -> None:
        """Tasks of an epoch that is committed were lost and ran again. They may have staged other bytes the
        first time, under other names: nobody else would look for them before the next restart."""
        for sink in self._sinks.values():
            sink.look_for_leftovers()

    def finish(self, now_ms: int) -> None:
        """The job ends normally."""
        self._now_ms = now_ms
        for sink in self._sinks.values():
            sink.finish()
