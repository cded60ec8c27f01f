"""Moves a job in epochs, each one a Spark job over fixed ranges of its sources."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from threading import Event
from typing import Final

from firesteel.common.clock import Clock
from firesteel.common.logs import logger
from firesteel.graph.execution_graph import ExecutionState
from firesteel.jobmanager.checkpoints.coordinator import CheckpointCoordinator
from firesteel.jobmanager.course import Course
from firesteel.jobmanager.descriptors import Deployment
from firesteel.jobmanager.epochs import EpochAnswers, EpochGivenUp, EpochRunner
from firesteel.jobmanager.job_view import EpochReport
from firesteel.jobmanager.ledger import Ledger
from firesteel.jobmanager.observer import JobObserver
from firesteel.jobmanager.pacing import Pacer, work_of
from firesteel.jobmanager.sources import ReadPlan
from firesteel.jobmanager.spent import work_in
from firesteel.runtime.checkpoint_news import CheckpointNews
from firesteel.runtime.program import Pace

log = logger(__name__)

_POLL_MS: Final = 100  # how often an idle source is asked for news when it does not say itself


class EpochMover:
    """:param news: set when something is asked of the job.
    :param is_drained: whether the job ends with a savepoint of what is left when all input has ended.
    :param latency_interval_ms: how often sources send latency markers; 0: never.
    """

    def __init__(
        self,
        course: Course,
        ledger: Ledger,
        epochs: EpochRunner,
        deployment: Deployment,
        pacer: Pacer,
        checkpoints: CheckpointCoordinator,
        observer: JobObserver,
        clock: Clock,
        news: Event,
        is_drained: Callable[[], bool],
        latency_interval_ms: int = 0,
    ) -> None:
        self._course = course
        self._ledger = ledger
        self._epochs = epochs
        self._deployment = deployment
        self._pacer = pacer
        self._checkpoints = checkpoints
        self._observer = observer
        self._clock = clock
        self._news = news
        self._is_drained = is_drained
        self._latency_interval_ms = latency_interval_ms
        self._marked_ms: int | None = None
        self._leaves = False  # tasks that were given up may have staged something for sinks

    @property
    def least_step_ms(self) -> float:
        return self._pacer.least_ms

    def step(self) -> None:
        """Run an epoch if there is a reason for one, else wait for a reason."""
        course = self._course
        clock_ms = self._clock.now_ms()
        now = course.look_at(clock_ms)
        checkpoint_ms = self._checkpoints.due_ms
        size = self._pacer.next_epoch(None if checkpoint_ms is None else checkpoint_ms - clock_ms)
        reading = course.run.sources.plan(now, size.budget)
        due = course.run.state.next_timer_ms
        is_due = due is not None and due <= now
        if course.fresh or reading.wanted or is_due or course.run.notices.waiting:
            self._run_epoch(now, reading, size.pace)
        else:
            self._ledger.wait()
            news = now + _POLL_MS if reading.next_ms is None else max(now + 1, reading.next_ms)
            until = news if due is None else min(news, due)
            self._sleep_until(until - (now - clock_ms))

    def settle(self, instant_ms: int, stop: bool) -> None:
        """Between two epochs all is committed."""

    def stop(self) -> None:
        """Between two epochs nothing runs."""

    def _run_epoch(self, now: int, reading: ReadPlan, pace: Pace | None) -> None:
        course = self._course
        course.epoch += 1
        begun_s = self._clock.monotonic_s()
        if course.fresh:
            self._observer.attempt_reached(ExecutionState.DEPLOYING)
        none_to_come = not self._checkpoints.enabled and not self._is_drained()
        news = CheckpointNews(self._checkpoints.next_id, course.run.notices.waiting, none_to_come)
        levels = self._deployment.descriptors(
            course.run,
            reading,
            attempt=course.attempt,
            epoch=course.epoch,
            now_ms=now,
            pace=pace,
            news=news,
            marks_latency=self._marks_latency(now),
        )
        if course.fresh:
            self._observer.attempt_reached(ExecutionState.RUNNING)
        try:
            answers = self._epochs.run(levels, self._deployment.tasks)
        except EpochGivenUp as e:
            log.info(
                "epoch is run again with fewer records job=%s epoch=%d", self._deployment.job_id, course.epoch
            )
            known = work_of(e.acks, course.run.sources.vertices, e.overrun.worked_ms)
            self._pacer.gave_up(known, e.part_done(), e.overrun.worked_ms)
            self._leaves = True
            return
        if answers is None:
            return
        is_start = course.fresh
        name = f"{course.epoch}-{secrets.token_hex(8)}"
        self._ledger.commit(name, answers.acks, answers.reports, leaves=self._leaves or answers.leaves)
        self._leaves = False
        course.run.notices.told(news.ended)
        self._learn(answers, now, (self._clock.monotonic_s() - begun_s) * 1000, is_start=is_start)

    def _marks_latency(self, now: int) -> bool:
        interval_ms = self._latency_interval_ms
        if not interval_ms or (self._marked_ms is not None and now - self._marked_ms < interval_ms):
            return False
        self._marked_ms = now
        return True

    def _learn(self, answers: EpochAnswers, now: int, elapsed_ms: float, *, is_start: bool) -> None:
        run = self._course.run
        acks, reports = answers.acks, answers.reports
        work = work_of(
            acks,
            run.sources.vertices,
            elapsed_ms,
            reports,
            is_start=is_start,
            dirty_bytes=self._pacer.dirty_bytes,
        )
        pause_ms, is_behind = self._pacer.pause_ms(elapsed_ms, work), self._pacer.is_full(work)
        if answers.attempts == 1:
            self._pacer.learn(work)
        self._ledger.report(
            acks,
            EpochReport(
                self._course.epoch,
                now,
                elapsed_ms,
                work.records,
                answers.attempts,
                overhead_ms=work.overhead_ms,
            ),
            work_in(reports, elapsed_ms, is_behind=is_behind),
        )
        if pause_ms and run.sources.unbounded and not run.state.has_ended:
            self._sleep_until(self._clock.now_ms() + pause_ms)

    def _sleep_until(self, instant_ms: int) -> None:
        """Wait for an instant, the next checkpoint, or until something is asked of the job."""
        checkpoint_ms = self._checkpoints.due_ms
        if checkpoint_ms is not None:
            instant_ms = min(instant_ms, checkpoint_ms)
        self._clock.wait_until(instant_ms, self._news)
