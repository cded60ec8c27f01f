"""A bounded journal of what happened to a job, in order."""

from __future__ import annotations

from typing import Final

import msgspec

from firesteel.common.job_status import JobStatus

EVENTS_KEPT: Final = 500


class Event(msgspec.Struct, frozen=True, tag=True):
    """Something that happened at ``time_ms``."""

    time_ms: int


class StatusChanged(Event, frozen=True):
    """The job has entered ``status``."""

    status: JobStatus


class ExceptionRaised(Event, frozen=True):
    """The job has failed; the exceptions of its view say more. ``name``: the class of the exception."""

    name: str
    message: str
    attempt: int


class RestartPlanned(Event, frozen=True):
    """A failed job is started again after ``delay_ms``. ``restarts``: how often that happened so far."""

    restarts: int
    delay_ms: int


class AttemptStarted(Event, frozen=True):
    """All subtasks begin an attempt. ``restored_from``: the path of the checkpoint that they go on from;
    None: they begin where the job began."""

    attempt: int
    restored_from: str | None


class RecoveryStep(Event, frozen=True):
    """A failed job is brought back, step by step.

    :param step: ``tasks stopped``, ``state restored``, ``sources rewound``, ``operators redeployed``,
        ``processing resumed``.
    :param detail: such as the path of the checkpoint.
    """

    step: str
    detail: str


class CheckpointTriggered(Event, frozen=True):
    """A checkpoint or savepoint begins. ``sources``: the vertices that end their epoch for it; what is
    behind them ends it when all of that has arrived."""

    id: int
    savepoint: bool
    sources: tuple[str, ...]


class CheckpointCompleted(Event, frozen=True):
    """A checkpoint or savepoint is there. ``elapsed_ms``: what it took.

    :param vertices: whose state it holds, in the order in which it was taken.
    """

    id: int
    savepoint: bool
    path: str | None
    elapsed_ms: float
    vertices: tuple[str, ...] = ()


class CheckpointFailed(Event, frozen=True):
    id: int
    savepoint: bool
    failure: str


class CommandReceived(Event, frozen=True):
    """Somebody has asked the job for something; ``command`` says what."""

    command: str


class Rescaled(Event, frozen=True):
    """The parallelism was looked at. ``status``: COMPLETED, FAILED or IGNORED.

    :param parallelism: from and to, of the vertices whose parallelism has changed.
    :param pause_ms: how long no epoch could run because of it.
    """

    cause: str
    status: str
    reason: str
    parallelism: tuple[tuple[str, int, int], ...]
    pause_ms: float


AnyEvent = (
    StatusChanged
    | ExceptionRaised
    | RestartPlanned
    | AttemptStarted
    | RecoveryStep
    | CheckpointTriggered
    | CheckpointCompleted
    | CheckpointFailed
    | CommandReceived
    | Rescaled
)


class Journal(msgspec.Struct, frozen=True):
    """The newest events of a job, oldest first. ``dropped``: how many older ones are gone."""

    events: tuple[AnyEvent, ...] = ()
    dropped: int = 0

    def with_event(self, event: AnyEvent) -> Journal:
        """The journal with one more event. It takes time by the bound, never by what has happened before."""
        excess = len(self.events) + 1 - EVENTS_KEPT
        if excess <= 0:
            return Journal((*self.events, event), self.dropped)
        return Journal((*self.events[excess:], event), self.dropped + excess)
