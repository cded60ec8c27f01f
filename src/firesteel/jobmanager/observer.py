"""Makes the views of one job, as the job's own thread tells it what happens, and publishes them.

An epoch adds to columns of counts (``vertex_counts.py``). The views of subtasks are made of them when a
reader takes ``Published.view``, in its own thread, so what nobody looks at costs nothing. A view costs time
by the vertices that have changed and by the bounds of its histories, not by how long the job has run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from firesteel.common import accumulators as kinds
from firesteel.common.clock import Clock
from firesteel.common.job_status import JobStatus
from firesteel.graph.execution_graph import ExecutionState
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.checkpoints.statistics import (
    CheckpointReport,
    CheckpointStatistics,
    CheckpointStatus,
)
from firesteel.jobmanager.events import (
    AnyEvent,
    AttemptStarted,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    CommandReceived,
    ExceptionRaised,
    RecoveryStep,
    Rescaled,
    RestartPlanned,
    StatusChanged,
)
from firesteel.jobmanager.exceptions import exception_view
from firesteel.jobmanager.job_view import (
    AccumulatorView,
    EpochReport,
    JobInfo,
    JobView,
    WorkerView,
)
from firesteel.jobmanager.published import Published
from firesteel.jobmanager.rescale_view import RescaleReport, RescalesView
from firesteel.jobmanager.sources import Lag
from firesteel.jobmanager.spent import EpochWork
from firesteel.jobmanager.status import StatusMachine
from firesteel.jobmanager.vertex_views import VertexViews
from firesteel.runtime import metrics
from firesteel.runtime.program import Ack

REPORTS_KEPT: Final = 1000
_WORKER_SEEN_MS: Final = 60_000  # after which a process without a task of the job is gone for it
EXCEPTIONS_KEPT: Final = 16

#: Accumulators with one number for a value, which is cheap to show after each epoch.
_SMALL: Final = frozenset(
    (
        *(kinds.IntCounter, kinds.LongCounter, kinds.DoubleCounter, kinds.AverageAccumulator),
        *(kinds.IntMinimum, kinds.IntMaximum, kinds.DoubleMinimum, kinds.DoubleMaximum),
        *(metrics.Counter, metrics.Meter),
    )
)


class JobObserver:
    """Belongs to the job's own thread, but for ``published``.

    :param waiting: says how many requests wait for the job.
    """

    def __init__(
        self,
        info: JobInfo,
        graph: JobGraph,
        clock: Clock,
        statistics: CheckpointStatistics,
        waiting: Callable[[], int],
    ) -> None:
        self._waiting = waiting
        self._graph = graph
        self._clock = clock
        self._statistics = statistics
        statistics.on_change = self._checkpoints_changed
        now_ms = clock.now_ms()
        self._statuses = StatusMachine()
        self._vertices = VertexViews(info.vertices, graph, info.id, now_ms)
        status = self._statuses.status
        # What is published next, as far as it is known, but for the vertices.
        self._next = JobView.first(info, status, (), statistics.view, now_ms)
        self.published = Published(self._next, self._vertices.take())

    @property
    def status(self) -> JobStatus:
        return self._statuses.status

    # ---- the life of the job

    def enter(self, status: JobStatus) -> None:
        """The job enters ``status``.

        :raises EngineError: it cannot go there from where it is.
        """
        self._enter(status, self._clock.now_ms())
        self.publish()

    def _enter(self, status: JobStatus, now_ms: int) -> None:
        self._statuses.to(status)
        executions = self._vertices.executions
        match status:
            case JobStatus.FINISHED:
                executions.advance(ExecutionState.FINISHED, now_ms)
            case JobStatus.CANCELLING:
                executions.cancelling(now_ms)
            case JobStatus.CANCELED | JobStatus.SUSPENDED:
                executions.cancelled(now_ms)
        times = dict(self._next.timestamps)
        times.pop(status, None)  # so that the newest comes last
        self._change(status=status, timestamps=(*times.items(), (status, now_ms)))
        self._tell(StatusChanged(now_ms, status))

    def attempt_reached(self, state: ExecutionState) -> None:
        """The attempts of all subtasks that have not ended are in ``state``."""
        self._vertices.executions.advance(state, self._clock.now_ms())
        self.publish()

    def failed(self, error: BaseException) -> None:
        """The attempt of the job has failed."""
        now_ms = self._clock.now_ms()
        view = self._next
        found = exception_view(error, self._graph, view.attempt, now_ms)
        at = None if found.vertex is None or found.subtask is None else (found.vertex, found.subtask)
        known = at if at is not None and self._vertices.knows(at) else None
        self._vertices.executions.failed(found.message, known, now_ms)
        kept = (*view.exceptions, found)[-EXCEPTIONS_KEPT:]
        dropped = view.exceptions_dropped + len(view.exceptions) + 1 - len(kept)
        self._change(exceptions=kept, exceptions_dropped=dropped)
        self._tell(ExceptionRaised(now_ms, found.name, found.message, view.attempt))

    def restart_planned(self, delay_ms: int) -> None:
        restarts = self._next.restarts + 1
        self._change(restarts=restarts)
        self._tell(RestartPlanned(self._clock.now_ms(), restarts, delay_ms))

    def recovery(self, step: str, detail: str = "") -> None:
        """A step of bringing a failed job back is done."""
        self._tell(RecoveryStep(self._clock.now_ms(), step, detail))

    def restarted(self, attempt: int, restored_from: str | None) -> None:
        """All subtasks begin their next attempt."""
        now_ms = self._clock.now_ms()
        self._vertices.executions.restarted(now_ms)
        self._change(attempt=attempt)
        self._tell(AttemptStarted(now_ms, attempt, restored_from))

    def rescales(self, view: RescalesView) -> None:
        """Another parallelism is wanted."""
        self._change(rescales=view)

    def goes_on_as(self, info: JobInfo, graph: JobGraph, attempt: int, restored_from: str | None) -> None:
        """The job has other subtasks from here on, and they begin their first attempt."""
        now_ms = self._clock.now_ms()
        self._graph = graph
        self._vertices.rescaled(info.vertices, graph, attempt, now_ms)
        self._vertices.executions.advance(ExecutionState.SCHEDULED, now_ms)
        self._change(info=info, attempt=attempt)
        self._tell(AttemptStarted(now_ms, attempt, restored_from))

    def holds_slots(self, slots: int) -> None:
        """From here on the tasks of the job hold so many for as long as they run; 0: they come and go."""
        self._change(held_slots=slots)

    def rescaled(self, view: RescalesView, report: RescaleReport) -> None:
        """A change of parallelism has come to its end, however it did."""
        changes = tuple(
            (vertex.name, vertex.before, vertex.after)
            for vertex in report.vertices
            if vertex.before is not None and vertex.after not in (None, vertex.before)
        )
        self._change(rescales=view)
        self._tell(
            Rescaled(
                self._clock.now_ms(),
                report.cause.value,
                report.status.value,
                report.reason,
                changes,
                report.pause_ms,
            )
        )
        self.publish()

    def asked(self, command: str) -> None:
        """Somebody has asked the job for something."""
        self._tell(CommandReceived(self._clock.now_ms(), command))

    def ended(self, status: JobStatus, instant_ms: int) -> None:
        """The job has ended in ``status``, and at that instant there was nothing left to do for it but to
        clean up."""
        self._enter(status, instant_ms)
        self._change(ended_ms=instant_ms)
        self.publish()

    # ---- epochs

    def epoch_done(
        self,
        acks: Iterable[Ack],
        report: EpochReport,
        work: EpochWork,
        lag: Lag,
        accumulators: Mapping[str, Any],
    ) -> None:
        """Publish what the job has come to with an epoch that is committed."""
        now_ms = self._clock.now_ms()
        self._vertices.count(acks, work, now_ms)
        self._change(
            workers=_workers(self._next.workers, work, now_ms),
            readers=_shown_lag(lag.readers),
            epoch=report.epoch,
            records_read=self._next.records_read + report.records,
            reports=(*self._next.reports, report)[-REPORTS_KEPT:],
            lag=_shown_lag(lag.pending),
            accumulators=tuple(_shown(name, accumulators[name]) for name in sorted(accumulators)),
        )
        self.publish()

    def waits(self, lag: Lag) -> None:
        """There is no reason for an epoch. Publish what sources say of their lag where that is news: they
        look again after the last epoch before a pause."""
        shown = _shown_lag(lag.pending)
        if shown != self._next.lag:
            self._change(lag=shown)
            self.publish()

    # ---- publishing

    def publish(self) -> None:
        """Make what has become known visible to all threads, at once."""
        self._change(
            version=self._next.version + 1,
            published_ms=self._clock.now_ms(),
            checkpoints=self._statistics.view,
            requests_waiting=self._waiting(),
        )
        self.published.publish(self._next, self._vertices.take())

    def _change(self, **fields: object) -> None:
        self._next = msgspec.structs.replace(self._next, **fields)

    def _tell(self, event: AnyEvent) -> None:
        self._change(journal=self._next.journal.with_event(event))

    def _checkpoints_changed(self, report: CheckpointReport | None) -> None:
        now_ms, begun = self._clock.now_ms(), self._statistics.view.in_progress
        vertices = self._next.info.vertices
        if report is not None:
            self._tell(_event_of(report, tuple(vertex.name for vertex in vertices), now_ms))
        elif begun is not None and begun.snapshot_ms is None:
            sources = tuple(vertex.name for vertex in vertices if not vertex.inputs)
            self._tell(CheckpointTriggered(now_ms, begun.id, begun.savepoint, sources))
        self.publish()


def _event_of(report: CheckpointReport, vertices: tuple[str, ...], now_ms: int) -> AnyEvent:
    if report.status is CheckpointStatus.FAILED:
        return CheckpointFailed(now_ms, report.id, report.savepoint, report.failure or "")
    return CheckpointCompleted(now_ms, report.id, report.savepoint, report.path, report.duration_ms, vertices)


def _workers(before: Iterable[WorkerView], work: EpochWork, now_ms: int) -> tuple[WorkerView, ...]:
    """The processes that were seen lately; those that tasks ran in just now among them."""
    found = {(w.host, w.pid): w for w in before if now_ms - w.seen_ms < _WORKER_SEEN_MS}
    seen = {(p.host, p.pid): p for p in [report.process for report in work.reports]}  # the last of each
    for key, process in seen.items():
        found[key] = WorkerView(*process, now_ms)
    return tuple(found.values())


def _shown_lag(lag: Mapping[str, Mapping[str, int]]) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    return tuple((uid, tuple(splits.items())) for uid, splits in lag.items())


def _shown(name: str, accumulator: Any) -> AccumulatorView:
    cls = type(accumulator)
    value = str(accumulator.get_local_value()) if cls in _SMALL else None
    return AccumulatorView(name, cls.__name__, value)
