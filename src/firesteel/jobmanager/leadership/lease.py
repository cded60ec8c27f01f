"""The record that says who leads, and what a place for it has to offer."""

from __future__ import annotations

import threading
from typing import Any, Protocol

import msgspec

from firesteel.common.errors import FiresteelError

__all__ = ["Lease", "LeaseStore", "LeaseUnavailableError", "MemoryLease", "decode", "encode"]


class LeaseUnavailableError(FiresteelError):
    """The place of the lease does not answer. It may be back at the next try."""


class Lease(msgspec.Struct, frozen=True):
    """Who leads.

    :param holder: an id that no other candidate has; empty: the last leader has given the lease up.
    :param address: where clients reach the leader, such as ``http://host:8081``.
    :param token: the fencing number, one higher with each new leader.
    :param renewals: changes with each renewal. Others only look whether it changes, so that the clocks of two
        machines need not agree.
    """

    holder: str
    address: str
    token: int
    renewals: int


Version = Any  #: what the store says of a content; equal for equal contents only


class LeaseStore(Protocol):
    """A place for one lease. All methods raise ``LeaseUnavailableError`` where it cannot be reached."""

    def read(self) -> tuple[Lease | None, Version]:
        """Return the lease, None if there is none yet, and the version to give to ``replace``."""

    def replace(self, lease: Lease, version: Version) -> bool:
        """Write *lease* if nobody has since *version* was read; return whether it was written.

        When it raises, the lease may have been written or not.
        """

    def close(self) -> None: ...


def encode(lease: Lease) -> bytes:
    return msgspec.json.encode(lease)


def decode(data: bytes, place: str) -> Lease | None:
    """Read what a store holds; None: nothing was written yet.

    :raises LeaseUnavailableError: it is something else.
    """
    if not data:
        return None
    try:
        return msgspec.json.decode(data, type=Lease)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise LeaseUnavailableError(
            f"What is at {place} is not a lease.",
            detail=str(error),
            hint="give high-availability.cluster-id or the storage directory another value, or remove it",
        ) from error


class MemoryLease:
    """A lease in memory, for tests: with the failures that they ask for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lease: Lease | None = None
        self._version = 0
        self.is_away = False

    def read(self) -> tuple[Lease | None, Version]:
        self._check()
        with self._lock:
            return self._lease, self._version

    def replace(self, lease: Lease, version: Version) -> bool:
        self._check()
        with self._lock:
            if version != self._version:
                return False
            self._lease, self._version = lease, version + 1
            return True

    def close(self) -> None: ...

    def _check(self) -> None:
        if self.is_away:
            raise LeaseUnavailableError("The lease is away.")
