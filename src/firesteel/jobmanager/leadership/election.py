"""The rules by which candidates become leader and stop being it. They know no place and no thread.

- A candidate takes a lease that nobody holds, that its last holder has given up, or that has not changed for
  the lease's duration *by the candidate's own clock*.
- A leader renews it each third of that time. It is leader until ``duration`` after the instant at which its
  last successful renewal *began*, less a margin; after that it is not, whether it could reach the store or
  not. So two never lead at a time as long as their clocks go at the same rate to within the margin.
- A store that does not answer costs nothing before that deadline: the leader goes on (it does not drop its
  jobs) but ``confirm`` refuses what may be done by one alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from firesteel.common.clock import Clock, SystemClock
from firesteel.common.errors import FiresteelError
from firesteel.common.logs import logger
from firesteel.jobmanager.leadership.lease import Lease, LeaseStore, LeaseUnavailableError, Version

__all__ = ["Candidate", "Election", "LeadershipLostError"]

log = logger(__name__)

_MARGIN = 0.1  # of the duration, for clocks that go at different rates and for the time a call takes


class LeadershipLostError(FiresteelError):
    """What only a leader may do was asked of a dispatcher that is not, or no longer."""


@dataclass(slots=True)
class Candidate:
    """One candidate; ``step`` is called again and again by one thread.

    :param holder: an id that no other candidate has.
    :param duration_s: how long a lease counts without a renewal.
    """

    store: LeaseStore
    holder: str
    address: str
    duration_s: float
    clock: Clock = field(default_factory=SystemClock)
    token: int | None = None  # set while it leads
    _deadline: float = 0.0
    _seen: Lease | None = None
    _seen_at: float = 0.0

    @property
    def is_leader(self) -> bool:
        return self.token is not None and self.clock.monotonic_s() < self._deadline

    @property
    def leader(self) -> Lease | None:
        """The lease as it was seen last, if somebody holds it."""
        return self._seen if self._seen is not None and self._seen.holder else None

    def confirm(self) -> int:
        """Return the fencing number.

        :raises LeadershipLostError: it does not lead.
        """
        if not self.is_leader or self.token is None:
            leader = self.leader
            raise LeadershipLostError(
                "This dispatcher does not lead the cluster.",
                detail=f"the leader is at {leader.address}"
                if leader and leader.holder != self.holder
                else None,
                hint="ask the leader",
            )
        return self.token

    def step(self) -> float:
        """Do what is due; return after how many seconds to call again."""
        begun = self.clock.monotonic_s()
        try:
            lease, version = self.store.read()
            self._look(lease, begun)
            if lease is not None and lease.holder == self.holder:
                self._renew(lease, version, begun)
            elif self._may_take(lease, begun):
                self._take(lease, version, begun)
            elif self.token is not None:
                self._lose("another dispatcher has taken the lease")
        except LeaseUnavailableError as error:
            log.warning("lease unavailable: %s", error.message)
        if self.token is not None and self.clock.monotonic_s() >= self._deadline:
            self._lose("its lease has run out")
        return self.duration_s / 3 if self.token is not None else self.duration_s / 6

    def give_up(self) -> None:
        """Let the lease go, so that another candidate need not wait for it to run out."""
        if self.token is None:
            return
        token, self.token = self.token, None
        with suppress(LeaseUnavailableError):
            lease, version = self.store.read()
            if lease is not None and lease.holder == self.holder and lease.token == token:
                self.store.replace(Lease("", "", token, lease.renewals + 1), version)

    def _look(self, lease: Lease | None, now: float) -> None:
        if lease != self._seen:
            self._seen, self._seen_at = lease, now

    def _may_take(self, lease: Lease | None, now: float) -> bool:
        return lease is None or not lease.holder or now - self._seen_at >= self.duration_s

    def _take(self, lease: Lease | None, version: Version, begun: float) -> None:
        token = 1 if lease is None else lease.token + 1
        if self._write(Lease(self.holder, self.address, token, 0), version, begun):
            self.token = token
        elif self.token is not None:
            self._lose("another dispatcher has taken the lease")

    def _renew(self, lease: Lease, version: Version, begun: float) -> None:
        # The lease is this candidate's though it does not lead: a write of which it was not told that it
        # succeeded, or a lease that it has let run out. It is a new term then, with a number of its own.
        goes_on = self.token == lease.token and begun < self._deadline
        token = lease.token if goes_on else lease.token + 1
        if self._write(Lease(self.holder, self.address, token, lease.renewals + 1), version, begun):
            self.token = token
        else:
            self._lose("another dispatcher has taken the lease")

    def _write(self, lease: Lease, version: Version, begun: float) -> bool:
        if not self.store.replace(lease, version):
            return False
        self._look(lease, begun)
        self._deadline = begun + self.duration_s * (1 - _MARGIN)
        return True

    def _lose(self, why: str) -> None:
        if self.token is not None:
            log.warning("leadership lost: %s", why)
        self.token = None


class Election:
    """A candidate with a thread that keeps it up to date, and tells when it begins and ends to lead.

    :param granted: called with the fencing number. :param revoked: called when it has ended. Both are called
        in the thread of the election, never at the same time; while ``granted`` runs, the lease is renewed
        all the same.
    """

    def __init__(
        self, candidate: Candidate, granted: Callable[[int], None], revoked: Callable[[], None]
    ) -> None:
        self.candidate = candidate
        self._granted = granted
        self._revoked = revoked
        self._told: int | None = None
        self._stop = threading.Event()
        self._changed = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="leader lease", daemon=True)
        self._telling = threading.Thread(target=self._tell, name="leader events", daemon=True)

    def start(self) -> None:
        self._renewing.start()
        self._telling.start()

    def stop(self) -> None:
        """Give the lease up and end; ``revoked`` is called if it led."""
        self._stop.set()
        self._renewing.join()
        self._changed.set()
        self._telling.join()
        self.candidate.store.close()

    def _renew(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            before = self.candidate.token
            pause = self.candidate.step()
            if self.candidate.token != before:
                self._changed.set()
        self.candidate.give_up()

    def _tell(self) -> None:
        while True:
            self._changed.wait(self.candidate.duration_s / 6)
            self._changed.clear()
            # A call to the store may hang beyond the deadline: the clock decides, not the other thread.
            token = self.candidate.token if self.candidate.is_leader else None
            if self._told is not None and token != self._told:
                self._told = None
                self._revoked()
            if token is not None and self._told is None:
                self._told = token
                self._granted(token)
            if self._stop.is_set() and token is None and not self._renewing.is_alive():
                return
