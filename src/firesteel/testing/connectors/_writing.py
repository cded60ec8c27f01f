"""Drives a sink as the engine does, step by step."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Self

from firesteel.connectors.base import (
    CommitRequest,
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from firesteel.testing.connectors._reading import plain, require, same, shipped

_JOB: Final = "job"
_SINK: Final = "sink"


class SinkRun:
    """A sink with the committer of one driver, and writers of as many attempts of tasks as a test wants.

    :param run: tells this driver's transactions from those of the others that a test plays.
    """

    def __init__(self, sink: Sink, directory: Path, parallelism: int = 1, run: str = "") -> None:
        self.sink = sink
        self.parallelism = parallelism
        self.now_ms = 0
        self._run = run
        self._epoch_dir = directory / "epochs"
        self._tokens = itertools.count()
        self.committer: Committer | None = self._open()

    def _open(self) -> Committer | None:
        committer = self.sink.create_committer(self._context)
        if committer is not None:
            committer.open()
        return committer

    @property
    def _context(self) -> CommitterContext:
        return CommitterContext(_JOB, _SINK, lambda: self.now_ms, _twice)

    def writer(self, epoch: int, subtask: int = 0) -> SinkWriter:
        """The writer of a task attempt."""
        token = f"attempt-{os.getpid()}-{self._run}{next(self._tokens)}"
        directory = self._epoch_dir / str(epoch)
        directory.mkdir(parents=True, exist_ok=True)
        sink: Sink = shipped(self.sink)
        return sink.create_writer(
            WriterContext(
                subtask,
                self.parallelism,
                token,
                str(directory),
                epoch,
                job_id=_JOB,
                sink_id=_SINK,
                run=self._run,
                now_ms=self.now_ms,
            )
        )

    def stage(self, epoch: int, values: Sequence[Any], subtask: int = 0) -> list[Committable]:
        """What a task attempt does that comes to its end."""
        writer = self.writer(epoch, subtask)
        middle = len(values) // 2
        writer.write_batch(values[:middle], None)
        writer.write_batch(values[middle:], [5] * (len(values) - middle))
        writer.flush(False)
        payloads = plain(list(writer.prepare_commit()), "a committable")
        writer.close()
        return [Committable(subtask, epoch, payload) for payload in payloads]

    def leave_unfinished(self, epoch: int, values: Sequence[Any]) -> None:
        """What a task attempt does that fails after it has written."""
        writer = self.writer(epoch)
        writer.write_batch(values, None)
        writer.abort()

    def at(self, now_ms: int) -> Self:
        """The processing time is this instant, of writers and committer."""
        self.now_ms = now_ms
        return self

    def commit(self, committables: Sequence[Committable], *, recovered: bool = False) -> None:
        """Commit until the committer asks for no more time, as the driver does; nothing where the sink has
        no committer."""
        if self.committer is None:
            return
        requests = [CommitRequest(c, recovered=recovered) for c in plain(list(committables), "a committable")]
        for _ in range(10):
            self.committer.commit(requests)
            failed = [r.error for r in requests if r.outcome.value in ("failed", "given up")]
            require(not failed, f"the committer does not commit: {failed}")
            requests = [r for r in requests if r.outcome.value == "to be tried again"]
            if not requests:
                return
            for request in requests:
                request.retries += 1
                request.signal_already_committed()
        raise AssertionError(f"the committer asked for more time again and again: {requests}")

    def recover(self, kept: Sequence[Committable], dropped: Sequence[Committable] = ()) -> None:
        """The job goes back to a checkpoint that holds ``kept``."""
        if self.committer is not None:
            self.committer.recover(tuple(kept), tuple(dropped))

    def restart(self) -> None:
        """Another driver goes on."""
        state = None
        if self.committer is not None:
            state = plain(self.committer.snapshot(), "the state of a committer")
            self.committer.close()
        self.committer = self._restored(state)

    def _restored(self, state: Any) -> Committer | None:
        committer = self.sink.create_committer(self._context)
        if committer is not None:
            if state is not None:
                committer.restore(state)
            committer.open()
        return committer

    def finish(self) -> None:
        """The job ends normally, and that is recorded."""
        if self.committer is not None:
            self.committer.finish()
            self.committer.clean_up()
            self.committer.close()


def _twice(work: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
    """The tasks of a committer, each of which Spark runs twice: the second answers count."""
    for _ in range(2):
        answers = [
            plain(shipped(work)(plain(argument, "an argument of a task")), "what a task answers")
            for argument in arguments
        ]
    return answers


def check_sink(run: SinkRun, visible: Callable[[], list[Any]], records: Sequence[Any]) -> None:
    """Two attempts at once, an abort, a commit again: each record is visible once, none before its commit.

    ``visible`` gives what an outsider sees, in order; ``records`` are at least six.
    """
    first, second, third = records[:2], records[2:4], records[4:]
    wanted = run.stage(1, first)
    run.stage(1, first)  # Spark ran the task twice
    run.leave_unfinished(1, first)
    _require_only(visible(), [], "before the commit")
    run.commit(wanted)
    run.commit(wanted)
    _require_only(visible(), first, "after the first commit")

    run.stage(2, [*second, *second])  # the epoch failed
    _require_only(visible(), first, "before the second commit")
    run.commit(run.stage(2, second))
    both = run.stage(3, third)
    run.commit(both)
    run.commit(both)
    run.finish()
    found = visible()
    require(same(found, list(records)), f"each record is visible once at the end, found {found!r:.500}")


def _require_only(found: list[Any], allowed: Sequence[Any], when: str) -> None:
    known = set(map(repr, allowed))
    early = [value for value in found if repr(value) not in known]
    require(not early, f"{when} records are visible that are not committed: {early!r:.500}")
