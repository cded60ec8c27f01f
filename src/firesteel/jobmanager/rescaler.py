"""Changes the parallelism of a job between two of its epochs.

Everything is committed then: the state lines of the old subtasks are dealt out by key groups, as after a
restore from a savepoint, but nothing is read, copied or stopped. What operators remember beside their state,
watermarks above all, goes on (``runtime/moved.py``), and so do the sources with all that they know of their
splits. User functions are opened anew, in the new subtasks.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from firesteel.common.clock import Clock
from firesteel.common.errors import FiresteelError
from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.parallelism import with_parallelism
from firesteel.jobmanager import requirements
from firesteel.jobmanager.checkpoints.restore import Restorer
from firesteel.jobmanager.course import Course
from firesteel.jobmanager.layout import LayOut, Layout
from firesteel.jobmanager.lines import Subtask
from firesteel.jobmanager.observer import JobObserver
from firesteel.jobmanager.requests import RescaleRequest, refusal
from firesteel.jobmanager.rescale_view import (
    Bounds,
    RescaleCause,
    RescaleReport,
    RescaleStatus,
    RescalesView,
    Spell,
    VertexRescale,
)
from firesteel.jobmanager.run import CutInfo, JobRun
from firesteel.jobmanager.scaling import Scaling
from firesteel.runtime.moved import dealt_splits, packed
from firesteel.state.files import StateFiles
from firesteel.storage import records

log = logger(__name__)

_SUCCEEDED: Final = "SUCCEEDED"
_NO_CHANGE: Final = "NO_RESOURCES_OR_PARALLELISMS_CHANGE"
_ENDED: Final = "JOB_FINISHED"
_FAILED: Final = "EXCEPTION_OCCURRED"
_CUT: Final = -1  # the number of a cut that is not written


class Moving(Protocol):
    """What the job does for a change of parallelism."""

    def settle(self) -> None:
        """Commit all that is under way, and leave nothing running."""

    def go_on(self, layout: Layout, run: JobRun) -> None:
        """Go on like that."""


class Rescaler:
    """Belongs to the job's own thread.

    :param layout: with the parallelism that the program says.
    :param slots: how many there are now; None: they do not matter to the job.
    """

    def __init__(
        self,
        job_id: JobID,
        layout: Layout,
        lay_out: LayOut,
        course: Course,
        files: StateFiles,
        clock: Clock,
        observer: JobObserver,
        moving: Moving,
        scaling: Scaling,
    ) -> None:
        self.layout = layout
        self._job_id = job_id
        self._first = layout
        self._lay_out = lay_out
        self._course = course
        self._files = files
        self._clock = clock
        self._observer = observer
        self._moving = moving
        self._scaling = scaling
        self._wanted = requirements.initial(layout.graph, reactive=scaling.is_reactive)
        self._wanted_id = secrets.token_hex(16)
        self._tries = 0  # for what is wanted
        self._is_due = scaling.is_reactive
        begun_ms, begun_s = clock.now_ms(), clock.monotonic_s()
        first = RescaleCause.INITIAL_SCHEDULE
        self._under_way: _UnderWay | None = _UnderWay(first, begun_ms, begun_s, layout, [])
        self._waiting: list[RescaleRequest] = []
        self._view = RescalesView(adaptive=scaling.is_adaptive and not layout.graph.batch)
        self._tell()

    # ---- what is asked for

    def ask(self, request: RescaleRequest) -> None:
        """Take the requirements of a request; they are met at the next look."""
        if not self._view.adaptive:
            request.failed(refusal(request.name, self._job_id, self._scaling.why_not(self.layout.graph)))
            return
        try:
            graph = self.layout.graph
            wanted = request.wanted
            found = requirements.of_all(graph, wanted) if isinstance(wanted, int) else dict(wanted)
            requirements.check(graph, found)
        except FiresteelError as e:
            request.failed(e)
            return
        self._want(found)
        self._waiting.append(request)

    def _want(self, wanted: Mapping[str, Bounds]) -> None:
        self._wanted = dict(wanted)
        self._wanted_id = secrets.token_hex(16)
        self._tries = 0
        self._is_due = True
        self._tell()

    def _tell(self) -> None:
        self._view = msgspec.structs.replace(
            self._view, requirements_id=self._wanted_id, requirements=tuple(self._wanted.items())
        )
        self._observer.rescales(self._view)

    # ---- between two epochs

    def look(self) -> None:
        """Change the parallelism if there is a reason for it."""
        now_ms = self._clock.now_ms()
        cause = RescaleCause.UPDATE_REQUIREMENT
        if not self._is_due:
            advice = self._scaling.look(self.layout.graph, self._observer.published, self._wanted, now_ms)
            if advice is None:
                return
            if advice.wanted is not None:
                self._want(advice.wanted)
            cause = advice.cause
        self._is_due = False
        self._tries += 1
        requests, self._waiting = self._waiting, []
        under_way = _UnderWay(cause, now_ms, self._clock.monotonic_s(), self.layout, requests)
        try:
            parallelism = requirements.target(
                self.layout.graph,
                self._wanted,
                self._scaling.slots(),
                all_at_once=self._scaling.all_at_once,
            )
            self._under_way = None  # the beginning of a job that has not come to its first epoch
            if all(v.parallelism == parallelism[v.id] for v in self.layout.graph.vertices):
                self._done(under_way, RescaleStatus.IGNORED, _NO_CHANGE)
                return
            self._moving.settle()
            if self._course.run.state.has_ended:
                self._done(under_way, RescaleStatus.IGNORED, _ENDED)
                return
            under_way.settled_ms = self._clock.now_ms()
            self._move(with_parallelism(self.layout.graph, parallelism))
        except FiresteelError as e:
            log.warning("job keeps its parallelism job=%s: %s", self._job_id, e)
            self._done(under_way, RescaleStatus.FAILED, _FAILED, e)
            return
        under_way.moved_ms = self._clock.now_ms()
        self._under_way = under_way

    def _move(self, graph: JobGraph) -> None:
        """:raises FiresteelError: nothing has changed yet."""
        layout = self._lay_out(graph)
        run = self._course.run
        name = f"rescale-{self._course.attempt + 1}-{secrets.token_hex(4)}"
        now_ms = self._course.now_ms
        info = CutInfo(_CUT, str(self._job_id), "", now_ms, self._course.epoch, now_ms)
        restorer = Restorer(run.cut(info, {}, {}), graph, self._files, name, allow_non_restored=True)
        begin = restorer.beginning().subtasks
        carries = {subtask: run.state.entry(subtask).carry for subtask in run.state.subtasks}
        changed = run.rescaled(graph, layout.subtasks, begin)
        changed.state.take_over(_moved(carries), _split_carries(carries, changed))
        self._adopt(layout, changed)

    def _adopt(self, layout: Layout, run: JobRun) -> None:
        self.layout = layout
        self._moving.go_on(layout, run)
        numbers = {vertex.name: vertex.parallelism for vertex in layout.graph.vertices}
        log.warning("job goes on with another parallelism job=%s %s", self._job_id, numbers)

    def begin_again(self) -> bool:
        """The job goes back to where it began, with the parallelism of then for a start; whether that is
        another one than it has now."""
        changes = self.layout is not self._first
        self._is_due = self._is_due or changes
        self.layout = self._first
        return changes

    # ---- afterwards

    def went_on(self) -> None:
        """An epoch is committed."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            if under_way.cause is not RescaleCause.INITIAL_SCHEDULE:
                self._scaling.changed(self._clock.now_ms())
            self._done(under_way, RescaleStatus.COMPLETED, _SUCCEEDED)

    def attempt_failed(self, error: Exception) -> None:
        """The job failed before the first epoch after the change was committed."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            self._done(under_way, RescaleStatus.FAILED, _FAILED, error)

    def job_ended(self) -> None:
        """Answer whoever waits still."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            self._done(under_way, RescaleStatus.COMPLETED, _SUCCEEDED)
        for request in self._waiting:
            request.failed(refusal(request.name, self._job_id, "it has ended"))

    def _done(
        self, under_way: _UnderWay, status: RescaleStatus, reason: str, error: Exception | None = None
    ) -> None:
        report = self._report(under_way, status, reason, error)
        self._view = self._view.with_report(report)
        if report.cause is RescaleCause.INITIAL_SCHEDULE:
            self._observer.rescales(self._view)
            self._observer.publish()
        else:
            self._observer.rescaled(self._view, report)
        for request in under_way.requests:
            if error is None:
                request.done(report)
            else:
                request.failed(error)

    def _report(
        self, under_way: _UnderWay, status: RescaleStatus, reason: str, error: Exception | None
    ) -> RescaleReport:
        ended_ms = self._clock.now_ms()
        is_first = under_way.cause is RescaleCause.INITIAL_SCHEDULE
        before = {} if is_first else {v.id: v.parallelism for v in under_way.before.graph.vertices}
        changed = status is not RescaleStatus.IGNORED
        after = {v.id: v.parallelism for v in self.layout.graph.vertices} if changed else {}
        paused = under_way.settled_ms is not None
        pause_ms = (self._clock.monotonic_s() - under_way.begun_s) * 1000 if paused else 0.0
        return RescaleReport(
            id=secrets.token_hex(16),
            requirements_id=self._wanted_id,
            attempt=self._tries,
            cause=under_way.cause,
            started_ms=under_way.started_ms,
            ended_ms=ended_ms,
            status=status,
            reason=reason,
            vertices=tuple(
                VertexRescale(
                    v.id, v.name, v.slot_sharing_group, self._wanted[v.id], before.get(v.id), after.get(v.id)
                )
                for v in self.layout.graph.vertices
            ),
            spells=under_way.spells(ended_ms, None if error is None else str(error)),
            pause_ms=pause_ms,
        )


class _UnderWay:
    """A change of parallelism that has begun.

    :ivar settled_ms: when all was committed; ``moved_ms``: when the job could go on.
    """

    def __init__(
        self,
        cause: RescaleCause,
        started_ms: int,
        begun_s: float,
        before: Layout,
        requests: list[RescaleRequest],
    ) -> None:
        self.cause = cause
        self.started_ms = started_ms
        self.begun_s = begun_s
        self.before = before
        self.requests = requests
        self.settled_ms: int | None = None
        self.moved_ms: int | None = None

    def spells(self, ended_ms: int, failure: str | None) -> tuple[Spell, ...]:
        """The states of Flink's scheduler that the job was in meanwhile, as far as it has come."""
        names = ("Executing", "Restarting", "CreatingExecutionGraph")
        begins = (self.started_ms, self.settled_ms, self.moved_ms)
        entered = [(name, ms) for name, ms in zip(names, begins, strict=True) if ms is not None]
        ends = [*(ms for _, ms in entered[1:]), ended_ms]
        found = [Spell(name, ms, end) for (name, ms), end in zip(entered, ends, strict=True)]
        if failure is not None:
            found[-1] = msgspec.structs.replace(found[-1], failure=failure)
        elif self.moved_ms is not None:
            found.append(Spell("Executing", ended_ms, ended_ms))
        return tuple(found)


def _moved(carries: Mapping[Subtask, bytes | None]) -> dict[str, bytes]:
    by_vertex: dict[str, list[bytes | None]] = {}
    for (vertex, _), carry in carries.items():
        by_vertex.setdefault(vertex, []).append(carry)
    return {vertex: packed(of_vertex) for vertex, of_vertex in by_vertex.items()}


def _split_carries(carries: Mapping[Subtask, bytes | None], run: JobRun) -> dict[Subtask, bytes]:
    """What each new subtask with sources begins with."""
    found: dict[Subtask, dict[str, object]] = {}
    for (vertex, uid), splits in run.sources.split_ids().items():
        before = [carry for (of, _), carry in carries.items() if of == vertex]
        for index, carry in enumerate(dealt_splits(uid, before, splits)):
            found.setdefault((vertex, index), {}).update(carry)
    return {subtask: records.pack(carry) for subtask, carry in found.items()}
