"""What others see of the parallelism of a job: what is wanted of it, and how it has changed so far."""

from __future__ import annotations

from enum import Enum

import msgspec

RESCALES_KEPT = 10  # as in Flink: web.adaptive-scheduler.rescale-history.size


class RescaleStatus(Enum):
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    IGNORED = "IGNORED"  # there was nothing to change


class RescaleCause(Enum):
    """Why the parallelism is looked at (Flink: ``TriggerCause``)."""

    INITIAL_SCHEDULE = "INITIAL_SCHEDULE"
    UPDATE_REQUIREMENT = "UPDATE_REQUIREMENT"
    NEW_RESOURCE_AVAILABLE = "NEW_RESOURCE_AVAILABLE"


class Bounds(msgspec.Struct, frozen=True):
    """Between which limits the parallelism of a vertex is to be."""

    lower: int
    upper: int


class VertexRescale(msgspec.Struct, frozen=True):
    """A vertex in a rescale. ``before`` and ``after`` are None where there is none."""

    id: str
    name: str
    group: str
    wanted: Bounds
    before: int | None
    after: int | None


class Spell(msgspec.Struct, frozen=True):
    """How long the job was in a state of the scheduler."""

    state: str
    entered_ms: int
    left_ms: int
    failure: str | None = None


class RescaleReport(msgspec.Struct, frozen=True):
    """One change of parallelism.

    :param requirements_id: of the requirements that it is for.
    :param attempt: which try for these requirements it is.
    :param reason: how it has ended, in a word of Flink's or a sentence.
    :param pause_ms: how long no epoch could run because of it.
    """

    id: str
    requirements_id: str
    attempt: int
    cause: RescaleCause
    started_ms: int
    ended_ms: int
    status: RescaleStatus
    reason: str
    vertices: tuple[VertexRescale, ...] = ()
    spells: tuple[Spell, ...] = ()
    pause_ms: float = 0.0


class RescalesView(msgspec.Struct, frozen=True):
    """:param adaptive: whether the parallelism of the job may change while it runs.
    :param requirements: by vertex id; empty: they are those of the program.
    :param completed: the first one of the job included, when it gets its parallelism.
    :param history: the newest, oldest first; at most ten.
    :param changes: how often the parallelism has changed.
    """

    adaptive: bool = True
    requirements_id: str = ""
    requirements: tuple[tuple[str, Bounds], ...] = ()
    completed: int = 0
    failed: int = 0
    ignored: int = 0
    history: tuple[RescaleReport, ...] = ()
    changes: int = 0

    def with_report(self, report: RescaleReport) -> RescalesView:
        """The view with one more rescale."""
        status = report.status
        return msgspec.structs.replace(
            self,
            completed=self.completed + (status is RescaleStatus.COMPLETED),
            failed=self.failed + (status is RescaleStatus.FAILED),
            ignored=self.ignored + (status is RescaleStatus.IGNORED),
            changes=self.changes
            + (status is RescaleStatus.COMPLETED and report.cause is not RescaleCause.INITIAL_SCHEDULE),
            history=(*self.history, report)[-RESCALES_KEPT:],
        )
