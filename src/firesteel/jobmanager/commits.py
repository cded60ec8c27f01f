"""What one sink has staged and not committed, and how it is committed: with patience, and never forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.clock import Clock
from firesteel.common.errors import CommitError
from firesteel.common.logs import logger
from firesteel.program.sinks import CommitOutcome, CommitRequest, Committable, Committer
from firesteel.runtime.error_report import summary_of
from firesteel.runtime.user_code import raised
from firesteel.storage import records

log = logger(__name__)

_FIRST_DELAY_MS: Final = 100
_LONGEST_DELAY_MS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a committer that asks for time is given it. ``retries``: how often a request comes again
    before the job fails (Flink: ``sink.committer.retries``)."""

    clock: Clock
    interrupt: threading.Event
    retries: int = 10

    def wait(self, retry: int) -> bool:
        """Before the ``retry``-th time, from 1; False: the job is cancelled meanwhile."""
        delay_ms = min(_LONGEST_DELAY_MS, _FIRST_DELAY_MS << min(retry - 1, 10))
        self.clock.wait_until(self.clock.now_ms() + delay_ms, self.interrupt)
        return not self.interrupt.is_set()


class SinkCommits:
    """The committer of one sink with what waits for it.

    A failed checkpoint changes nothing about what is pending: the next one commits it. Only a restart drops
    it, because its records will be read again.
    """

    def __init__(self, name: str, uid: str, committer: Committer, patience: Patience) -> None:
        self._name = name
        self._uid = uid
        self.committer = committer
        self._patience = patience
        self._is_open = False
        self._fresh: list[Committable] = []  # of epochs since the last pre-commit
        self._ready: list[Committable] = []
        self._recovered = 0  # how many of ``_ready`` come from a restored checkpoint
        self._snapshot: bytes | None = None  # the last one, until what it holds is committed ...
        self._covered = 0  # ... which is this many of ``_ready``

    def open(self) -> None:
        self._open()
        self._call(self.committer.recover, tuple(self._ready), ())

    def _open(self) -> None:
        """Once. A target that did not answer is tried again when the job is."""
        if not self._is_open:
            self._call(self.committer.open)
            self._is_open = True

    def add(self, committables: Iterable[Committable]) -> None:
        self._fresh += committables

    @property
    def is_empty(self) -> bool:
        return not self._fresh and not self._ready

    def _pre_commit(self) -> None:
        if self._fresh:
            self._ready += self._call(self.committer.pre_commit, tuple(self._fresh))
            self._fresh = []

    # ---- the checkpoint

    def snapshot(self) -> bytes | None:
        """What is pending, and what the committer must know to go on; None: nothing."""
        self._pre_commit()
        state = self._call(self.committer.snapshot)
        held = records.pack((self._ready, state)) if self._ready or state is not None else None
        self._snapshot, self._covered = held, len(self._ready)
        return held

    def resume(self, snapshot: bytes) -> None:
        """Go on where another driver was; before the committer is opened."""
        self._keep(snapshot)
        state = records.unpack(snapshot)[1]
        if state is not None:
            self._call(self.committer.restore, state)

    def roll_back(self, snapshot: bytes | None) -> None:
        """Go back to a checkpoint: only what it covers is pending, again if it was committed."""
        self._open()
        # The newest checkpoint may be complete while its commit failed, or never came because that of
        # another sink did: what it holds is there still, and is kept. Older ones are committed.
        covered = self._covered if snapshot == self._snapshot else 0
        dropped = [*self._ready, *self._fresh][covered:]
        self._keep(snapshot)
        self._call(self.committer.recover, tuple(self._ready), tuple(dropped))

    def _keep(self, snapshot: bytes | None) -> None:
        self._ready = [] if snapshot is None else records.unpack(snapshot)[0]
        self._fresh = []
        self._snapshot, self._covered = snapshot, len(self._ready)
        self._recovered = len(self._ready)

    # ---- the commit

    def commit(self) -> None:
        """Commit what is pending; the committer is called without anything too: files are rolled by age.

        :raises CommitError: it cannot be done. Everything is pending still.
        """
        self._pre_commit()
        requests = [
            CommitRequest(committable, recovered=number < self._recovered)
            for number, committable in enumerate(self._ready)
        ]
        if not self._commit(requests):
            log.warning("job ends with output that is not committed sink=%s uid=%s", self._name, self._uid)
            return
        self._ready, self._recovered = [], 0
        self._snapshot, self._covered = None, 0
        done = tuple(r.origin for r in requests if r.outcome is CommitOutcome.COMMITTED)
        if done:
            self._call(self.committer.post_commit, done)

    def look_for_leftovers(self) -> None:
        """No task stages anything now: all but what is pending was left by tasks that were lost."""
        self._call(self.committer.recover, (*self._ready, *self._fresh), ())

    def finish(self) -> None:
        """The job ends normally. Nobody comes after it who would look for what lost tasks have left."""
        self._call(self.committer.finish)
        self.look_for_leftovers()

    def _commit(self, requests: Sequence[CommitRequest]) -> bool:
        """False: the job was cancelled before all of it was done."""
        while True:
            for request in requests:
                request.signal_already_committed()  # unless the committer says something else
            self._call(self.committer.commit, tuple(requests))
            self._look_at_failures(requests)
            requests = [r for r in requests if r.outcome is CommitOutcome.RETRY]
            if not requests:
                return True
            retry = 1 + max(r.retries for r in requests)
            if retry > self._patience.retries:
                raise self._error(f"{len(requests)} committables were tried {retry} times", requests[0])
            log.warning(
                "commit is tried again sink=%s committables=%d retry=%d", self._name, len(requests), retry
            )
            if not self._patience.wait(retry):
                return False
            for request in requests:
                request.retries = retry

    def _look_at_failures(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            if request.outcome is CommitOutcome.DISCARDED:
                log.error(
                    "committable is given up sink=%s epoch=%d subtask=%d: %r: %s",
                    *(self._name, request.origin.epoch, request.origin.subtask_index),
                    *(request.get_committable(), request.error),
                )
            elif request.outcome is CommitOutcome.FAILED:
                why = "no reason is given" if request.error is None else summary_of(request.error)
                raise self._error(why, request) from request.error

    def _call(self, hook: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return hook(*arguments)
        except CommitError:
            raise
        except BaseException as e:  # sys.exit() too: the thread of the job must not end by it
            error = raised(e)
            raise self._error(summary_of(error)) from error

    def _error(self, what: str, request: CommitRequest | None = None) -> CommitError:
        which = ""
        if request is not None:
            origin = request.origin
            which = f", of subtask {origin.subtask_index} in epoch {origin.epoch}: {origin.payload!r:.200}"
        return CommitError(
            f"The output of sink {self._name!r} cannot be committed: {what}",
            detail=f"{len(self._ready)} committables are pending{which}",
            hint="a checkpoint that was completed holds them: the job that goes on from it commits them",
            operator=self._name,
            uid=self._uid,
        )
