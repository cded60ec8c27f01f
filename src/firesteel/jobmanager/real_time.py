"""Moves a job in real time: its tasks go on from epoch to epoch, and the driver says when an epoch ends.

It counts when all tasks have answered for it. From then on everything is as in epoch mode: state, positions
and committables are committed, and checkpoints and savepoints are cut through what is committed.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, replace
from typing import Final, Self

from firesteel.common.clock import Clock
from firesteel.common.errors import EngineError, FiresteelError
from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.graph.execution_graph import ExecutionState
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.checkpoints.coordinator import CheckpointCoordinator
from firesteel.jobmanager.course import Course
from firesteel.jobmanager.descriptors import Deployment
from firesteel.jobmanager.epoch_length import EpochLength
from firesteel.jobmanager.epochs import EpochEngine, Stretch, complete, user_failure
from firesteel.jobmanager.job_view import EpochReport
from firesteel.jobmanager.ledger import Ledger
from firesteel.jobmanager.lines import Subtask
from firesteel.jobmanager.observer import JobObserver
from firesteel.jobmanager.pacing import work_of
from firesteel.jobmanager.requests import Mailbox
from firesteel.jobmanager.sources import ReadPlan
from firesteel.jobmanager.spent import work_in
from firesteel.jobmanager.user_logs import pass_on
from firesteel.runtime.checkpoint_news import CheckpointEnd, CheckpointNews
from firesteel.runtime.loop_settings import delta_file, epoch_name
from firesteel.runtime.messages import Answer, Cut, Messages, Order, Read
from firesteel.runtime.operators.planned_ranges import ReadSoFar
from firesteel.runtime.program import UserError
from firesteel.runtime.stretch import RunningLevel
from firesteel.state.backend import CHANGES_BYTES
from firesteel.state.files import StateFiles

log = logger(__name__)

_STEER_MS: Final = 500  # how often sources are asked for new splits
_WATCHED_MS: Final = 200  # that somebody waits for what is printed, at most
_ANSWERS_MS: Final = 5  # how often it is seen who has answered for an epoch that has ended
_OVERDUE_MS: Final = 5_000  # after which answers may be missing because another driver has removed them
_LEAVING_S: Final = 1.0  # for tasks that were told to leave
_ENDING_S: Final = 30.0  # for those that Spark was told to end
# What a task fails with when another one has failed.
_CONNECTIONS: Final = (
    "BrokenPipeError",
    "ConnectionResetError",
    "EOFError",
    "OSError",
    "PySparkRuntimeError",
)


@dataclass(frozen=True, slots=True)
class RealTimeOptions:
    """:param epoch_ms: how long an epoch lasts at most.
    :param buffer_timeout_ms: see ``LoopSettings``.
    :param dirty_bytes: of state, that one subtask should change at most in one epoch.
    """

    epoch_ms: int = 1000
    buffer_timeout_ms: float | None = 5
    dirty_bytes: int = CHANGES_BYTES

    def watched(self) -> Self:
        """For a job whose epochs somebody waits for."""
        return replace(self, epoch_ms=min(self.epoch_ms, _WATCHED_MS))


class RealTimeMover:
    """Runs a stretch for each attempt, and another one after a savepoint to stop with that failed."""

    def __init__(
        self,
        course: Course,
        ledger: Ledger,
        engine: EpochEngine,
        deployment: Deployment,
        options: RealTimeOptions,
        job_id: JobID,
        graph: JobGraph,
        subtasks: list[Subtask],
        checkpoints: CheckpointCoordinator,
        observer: JobObserver,
        clock: Clock,
        mailbox: Mailbox,
    ) -> None:
        self._course = course
        self._ledger = ledger
        self._engine = engine
        self._deployment = deployment
        self._options = options
        self._job_id = job_id
        self._graph = graph
        self._subtasks = subtasks
        self._checkpoints = checkpoints
        self._observer = observer
        self._clock = clock
        self._mailbox = mailbox
        self._length = EpochLength(options.epoch_ms)
        self._running: _Running | None = None

    # ---- Mover

    @property
    def least_step_ms(self) -> float:
        return 0.0  # barriers travel with the records, so an epoch ends at any instant

    def step(self) -> None:
        now = self._course.look_at(self._clock.now_ms())
        if self._running is not None and self._running.stays:
            self.stop()  # the savepoint to stop with has failed
        running = self._running or self._start(now)
        self._tell_covered(running)
        self._steer(running, now)
        self._plan(running, now)
        if running.cut is None:
            due_ms = self._checkpoints.due_ms
            at_ms = running.cut_ms + self._length.ms
            self._order_cut(running, at_ms if due_ms is None else min(at_ms, due_ms))
        elif running.is_read and running.cut.at_ms > self._soonest_ms(running):
            self._order_cut(running, now)  # nothing would come in the rest of the epoch
        self._await_answers(running)

    def settle(self, instant_ms: int, stop: bool) -> None:
        while (running := self._running) is not None and not self._mailbox.cancelled.is_set():
            # An epoch that is to end says which checkpoint covers it, so none is taken before it has ended.
            if running.stays or (running.cut is None and running.cut_ms >= instant_ms and not stop):
                return
            self._mailbox.news.clear()  # all that is asked is served after this
            soon_ms = self._clock.now_ms() + 4 * running.messages.idle_look_ms
            if running.cut is None or running.cut.at_ms > soon_ms:
                self._order_cut(running, instant_ms, stop=stop)
            self._await_answers(running)

    def stop(self) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        if not self._leaves(running):
            running.stretch.cancel()
            if not self._ends(running, _ENDING_S):
                log.warning("tasks have not ended job=%s", self._job_id)
        running.messages.remove()
        files = StateFiles(self._deployment.state_dir)
        for vertex, subtask in self._subtasks:  # of the epoch that was not committed
            files.delete(delta_file(running.name, running.epoch, vertex, subtask))

    def _leaves(self, running: _Running) -> bool:
        """Whether the tasks end by themselves when they are told to."""
        try:
            self._tell_covered(running)
            running.give(Order(leave=True))
        except (FiresteelError, OSError) as e:  # a disk that is full, for example
            log.warning("tasks cannot be told to leave job=%s: %s", self._job_id, e)
            return False
        return self._ends(running, _LEAVING_S)

    # ---- the stretch

    def _start(self, now: int) -> _Running:
        course = self._course
        self._observer.attempt_reached(ExecutionState.DEPLOYING)
        stretch = secrets.token_hex(8)
        widths = self._deployment.widths
        heard = course.run.notices.waiting
        descriptors = self._deployment.descriptors(
            course.run,
            ReadPlan({}),
            attempt=course.attempt,
            epoch=course.epoch + 1,
            now_ms=now,
            pace=None,
            news=CheckpointNews(self._checkpoints.next_id, heard),
        )
        levels = [
            RunningLevel(descriptor, tuple(widths), stretch, self._options.buffer_timeout_ms)
            for descriptor in descriptors
        ]
        messages = levels[0].messages
        messages.begin()
        handout = course.run.sources.hand_out(now, everything=True)
        messages.give_order(0, handout)
        running = _Running(
            stretch,
            messages,
            handout,
            course.epoch + 1,
            [(level, i) for level, width in enumerate(widths) for i in range(width)],
            self._engine.start(levels, self._mailbox.news.set),
            cut_ms=now,
            heard=heard,
        )
        self._running = running
        self._observer.attempt_reached(ExecutionState.RUNNING)
        return running

    def _steer(self, running: _Running, now: int) -> None:
        """Tell the tasks of splits that were found, and how far they may read."""
        if now < running.steered_ms + _STEER_MS:
            return
        running.steered_ms = now
        handout = self._course.run.sources.hand_out(now, everything=False)
        known = running.handout
        if handout.splits or (handout.complete, handout.limits) != (known.complete, known.limits):
            running.handout = handout
            running.give(handout)

    def _tell_covered(self, running: _Running) -> None:
        """Tell the tasks of a checkpoint that is complete, where their readers acknowledge what it covers."""
        order = self._course.run.sources.take_covered()
        if order is not None:
            running.give(order)

    def _plan(self, running: _Running, now: int) -> None:
        """Tell the tasks what to read next of sources that they do not poll by themselves."""
        if now < running.planned_ms + running.messages.look_ms or not self._course.run.sources.plans_ahead:
            return
        running.planned_ms = now
        sources, read = self._course.run.sources, running.read()
        running.is_read = sources.are_read(running.handout.complete or (), read)
        order = sources.plan_ahead(now, read)
        if order is not None:
            running.give(order)

    def _order_cut(self, running: _Running, at_ms: float, stop: bool = False) -> None:
        """End the epoch at an instant, which is far enough away for all tasks to know of it."""
        sources = self._course.run.sources
        stop = stop or sources.drains
        stays = stop and sources.acknowledge
        waiting = self._course.run.notices.waiting
        news = CheckpointNews(self._checkpoints.next_id, waiting[len(running.heard) :])
        running.cut = Cut(
            running.epoch, max(at_ms, self._soonest_ms(running)), stop, sources.drains, stays, news
        )
        running.overdue_ms = at_ms + _OVERDUE_MS
        running.give(Order(cut=running.cut))

    def _soonest_ms(self, running: _Running) -> float:
        """The first instant at which an epoch can end that is ordered now."""
        return self._clock.now_ms() + 2 * running.messages.idle_look_ms

    # ---- answers

    def _await_answers(self, running: _Running) -> None:
        """Wait until the epoch that is to end has ended everywhere, but not for long: there may be news."""
        assert running.cut is not None
        running.stretch.go_on()
        now_ms = self._clock.now_ms()
        until = min(running.cut.at_ms, running.steered_ms + _STEER_MS)
        if self._course.run.sources.plans_ahead:
            until = min(until, running.planned_ms + running.messages.look_ms)
        self._clock.wait_until(int(max(until, now_ms + _ANSWERS_MS)), self._mailbox.news)
        if self._clock.now_ms() >= running.cut.at_ms and running.has_all_answers():
            self._commit(running, running.cut)
        elif running.stretch.has_ended and not self._mailbox.cancelled.is_set():
            raise self._failure(running)
        elif self._clock.now_ms() > running.overdue_ms:
            # A newer driver that has run the job to its end removes orders and answers of this one, too.
            running.overdue_ms = self._clock.now_ms() + _OVERDUE_MS
            self._checkpoints.check_claim()

    def _commit(self, running: _Running, cut: Cut) -> None:
        answers = list(running.answers.values())
        pass_on([answer.logs for answer in answers if answer.logs is not None])
        acks = complete([ack for answer in answers for ack in answer.acks], self._subtasks)
        course = self._course
        now = course.look_at(self._clock.now_ms())
        course.epoch = running.epoch
        course.run.notices.told(running.heard + cut.news.ended)
        reports = [answer.report for answer in answers if answer.report is not None]
        self._ledger.commit(epoch_name(running.name, running.epoch), acks, reports)
        elapsed_ms = cut.at_ms - running.cut_ms
        ending_ms = max(answer.ending_ms for answer in answers)
        dirty_bytes = self._options.dirty_bytes
        work = work_of(acks, course.run.sources.vertices, elapsed_ms, dirty_bytes=dirty_bytes)
        self._length.adapt(elapsed_ms, ending_ms, work.most_dirty)
        running.next_epoch(cut)
        limits = course.run.sources.limits()
        if limits != running.handout.limits and not cut.stop:  # who waits for others goes on at once
            running.handout = replace(running.handout, limits=limits)
            running.give(Order(limits=limits))
        if cut.stays:
            running.stays = True
        elif cut.stop or course.run.state.has_ended:
            self.stop()
        report = EpochReport(course.epoch, now, elapsed_ms, work.records, 1, overhead_ms=ending_ms)
        self._ledger.report(acks, report, work_in(reports, elapsed_ms, is_behind=False))

    def _failure(self, running: _Running) -> Exception:
        """What the tasks have ended in: an error of the user's code before all others."""
        errors = [e for place in running.tasks if (e := running.messages.error_of(*place)) is not None]
        for error in sorted(errors, key=_importance):
            if error.operator or not error.summary.startswith(_CONNECTIONS):
                return user_failure(error, self._job_id, self._graph)
        return running.stretch.error or EngineError(
            "The tasks of the job have ended before they were told to"
        )

    def _ends(self, running: _Running, within_s: float) -> bool:
        """Whether the tasks have ended within the time."""
        running.stretch.go_on()
        return running.stretch.wait_for_end(within_s)


class _Running:
    """A stretch, its messages, and the epoch that it is in.

    :ivar cut_ms: when the last committed epoch has ended.
    :ivar cut: when this one is to end; None: it was not said yet.
    :ivar heard: the ends of checkpoints that the tasks have heard of when this epoch began.
    :ivar is_read: the input has come to its end.
    :ivar stays: its tasks have stopped, and wait to hear of the checkpoint that covers what they have read.
    :ivar overdue_ms: when it is to be asked again whether the job is still this driver's.
    """

    def __init__(
        self,
        name: str,
        messages: Messages,
        handout: Order,
        epoch: int,
        tasks: list[tuple[int, int]],
        stretch: Stretch,
        cut_ms: float,
        heard: tuple[CheckpointEnd, ...],
    ) -> None:
        self.name = name
        self.messages = messages
        self.handout = handout
        self.epoch = epoch
        self.tasks = tasks
        self.stretch = stretch
        self.cut_ms = cut_ms
        self.steered_ms = cut_ms
        self.planned_ms = 0.0
        self.is_read = False
        self.stays = False
        self.overdue_ms = math.inf
        self._read: dict[int, Read] = {}  # by source task, the last that could be read
        self.cut: Cut | None = None
        self.heard = heard
        self.answers: dict[tuple[int, int], Answer] = {}
        self._orders = 1  # that were given
        self._seen = 0  # and that all source tasks have seen
        self._cut_order = 0

    def give(self, order: Order) -> None:
        if order.cut is not None:
            self._cut_order = self._orders
        self.messages.give_order(self._orders, order)
        self._orders += 1

    def read(self) -> dict[str, dict[str, ReadSoFar]]:
        """How far the source tasks are with what was planned for them: source -> split."""
        together: dict[str, dict[str, ReadSoFar]] = {}
        for level, subtask in self.tasks:
            if level == 0:
                said = self.messages.read_of(subtask)
                if said is not None:
                    self._read[subtask] = said
                for uid, splits in self._read.get(subtask, {}).items():
                    together.setdefault(uid, {}).update(splits)
        return together

    def has_all_answers(self) -> bool:
        for place in self.tasks:
            if place not in self.answers:
                answer = self.messages.answer_of(self.epoch, *place)
                if answer is None:
                    return False
                self.answers[place] = answer
        return True

    def next_epoch(self, cut: Cut) -> None:
        for place in self.tasks:
            self.messages.forget_answer(self.epoch, *place)
        for number in range(self._seen, self._cut_order):
            self.messages.forget_order(number)
        self._seen = self._cut_order
        self.cut_ms = cut.at_ms
        self.cut = None
        self.heard = ()
        self.answers = {}
        self.epoch += 1


def _importance(error: UserError) -> int:
    return 0 if error.operator else 1
