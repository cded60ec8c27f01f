"""The JobMaster: runs one job as a row of epochs, each one a Spark job over fixed source ranges."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.clock import Clock
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.levels import Level, LevelPlan
from firesteel.jobmanager.committed import CommittedState
from firesteel.jobmanager.epochs import EpochEngine, EpochRunner
from firesteel.jobmanager.pacing import Pacer, PacingOptions
from firesteel.jobmanager.progress import EpochReport, JobProgress
from firesteel.jobmanager.sinks import JobSinks
from firesteel.jobmanager.sources import JobSources, ReadPlan
from firesteel.jobmanager.status import StatusMachine
from firesteel.runtime.program import Ack, LevelDescriptor
from firesteel.state.files import StateFiles

log = logging.getLogger(__name__)

_GRACE_S: Final = 2.0  # how long an epoch may still run when its job is cancelled
_POLL_MS: Final = 100  # how often an idle source is asked for news when it does not say itself


@dataclass(frozen=True, slots=True)
class JobOptions:
    pacing: PacingOptions
    epoch_attempts: int = 4  # how often an epoch is tried that Spark could not run
    local_dir: str | None = None
    host_id: str = ""  # separates the local stores of executors that share a machine


class JobMaster:
    """One job from its graph to its end. ``run`` is the body of the job's own thread."""

    def __init__(
        self,
        *,
        job_id: JobID,
        graph: JobGraph,
        plan: LevelPlan,
        program: str,
        engine: EpochEngine,
        files: StateFiles,
        clock: Clock,
        options: JobOptions,
        live_jobs: Callable[[], tuple[str, ...]],
    ) -> None:
        self.job_id = job_id
        self.graph = graph
        self._plan = plan
        self._program = program
        self._files = files
        self._clock = clock
        self._options = options
        self._live_jobs = live_jobs
        self.statuses = StatusMachine(clock.now_ms)
        self.progress = JobProgress()
        self.error: BaseException | None = None
        self.started_ms = clock.now_ms()
        self.ended_ms: int | None = None
        self.attempt = 0
        self._now_ms = self.started_ms
        self._cancel = threading.Event()
        self._done = threading.Event()
        self._epoch = 0
        self._pacer = Pacer(options.pacing)
        self._sources = JobSources(graph, files.root)
        self._sinks = JobSinks(graph)
        self._state = CommittedState(files, [(v.id, i) for v in plan.vertices for i in range(v.parallelism)])
        self._epochs = EpochRunner(
            engine, job_id, graph, self._state.subtasks, options.epoch_attempts, self._cancel.is_set
        )

    @property
    def status(self) -> JobStatus:
        return self.statuses.status

    @property
    def accumulators(self) -> dict[str, Any]:
        return self.progress.accumulators

    def cancel(self) -> None:
        """Ask the job to stop where it is; the epoch under way does not count.

        It may come to its end by itself, for a moment: tasks that are killed make a noise.
        """
        if not self.status.is_terminal_state():
            self._cancel.set()
            if not self._done.wait(_GRACE_S):
                self._epochs.cancel()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the job's end; False when it has not come in time."""
        return self._done.wait(timeout_s)

    def run(self) -> None:
        try:
            self._execute()
        except BaseException as e:  # the thread's last stop: whatever it is belongs to the job
            self._fail(e)
        finally:
            self.ended_ms = self._clock.now_ms()
            self._close()
            self._done.set()

    def _execute(self) -> None:
        self._sources.open()
        self._sinks.open()
        self.statuses.to(JobStatus.CREATED)
        self.statuses.to(JobStatus.RUNNING)
        while not self._cancel.is_set():
            if self._state.has_ended:
                self._sinks.finish(self._clock.now_ms())
                self.statuses.to(JobStatus.FINISHED)
                return
            self._step()
        self.statuses.to(JobStatus.CANCELLING)
        self.statuses.to(JobStatus.CANCELED)

    def _step(self) -> None:
        """Run an epoch if there is a reason for one, else wait for a reason."""
        clock_ms = self._clock.now_ms()
        self._now_ms = now = max(self._now_ms, clock_ms)  # processing time never goes back, the clock may
        reading = self._sources.plan(now, self._pacer.budget())
        due = self._state.next_timer_ms
        if self._epoch == 0 or reading.wanted or (due is not None and due <= now):
            self._run_epoch(now, reading)
        else:
            news = now + _POLL_MS if reading.next_ms is None else max(now + 1, reading.next_ms)
            until = news if due is None else min(news, due)
            self._clock.wait_until(until - (now - clock_ms), self._cancel)

    def _run_epoch(self, now: int, reading: ReadPlan) -> None:
        self._epoch += 1
        begun_s = self._clock.monotonic_s()
        levels = [self._descriptor(level, now, reading) for level in self._plan.levels]
        answers = self._epochs.run(levels, [level.parallelism for level in self._plan.levels])
        if answers is None:
            return
        acks, attempts = answers
        self._commit(acks, now)
        elapsed_ms = (self._clock.monotonic_s() - begun_s) * 1000
        self._learn(acks, now, elapsed_ms, attempts)

    def _descriptor(self, level: Level, now: int, reading: ReadPlan) -> LevelDescriptor:
        subtasks = [(vertex.id, i) for vertex in level.vertices for i in range(vertex.parallelism)]
        return LevelDescriptor(
            job_id=str(self.job_id),
            attempt=self.attempt,
            epoch=self._epoch,
            now_ms=now,
            level=level.index,
            program=self._program,
            state_dir=self._files.root,
            local_dir=self._local_dir(),
            live_jobs=self._live_jobs(),
            subtasks={s: self._state.descriptor(s, reading.of(s)) for s in subtasks},
        )

    def _local_dir(self) -> str | None:
        options = self._options
        if options.local_dir is None or not options.host_id:
            return options.local_dir
        return f"{options.local_dir}/{options.host_id.replace('{epoch}', str(self._epoch))}"

    def _commit(self, acks: list[Ack], now: int) -> None:
        """Everything that the epoch did counts from here on; its records become visible last."""
        self._state.commit(f"{self._epoch}-{secrets.token_hex(8)}", acks)
        self._sources.commit(acks)
        self.progress.count(acks)
        for ack in acks:
            for warning in ack.warnings:
                log.warning("%s", warning)
        self._sinks.commit(acks, self._epoch, now)

    def _learn(self, acks: list[Ack], now: int, elapsed_ms: float, attempts: int) -> None:
        read = [a.records_in for a in acks if a.vertex in self._sources.vertices]
        records = sum(read)
        pause_ms = self._pacer.pause_ms(elapsed_ms, records)
        if attempts == 1:
            dirty = max((a.delta.entries for a in acks if a.delta is not None), default=0)
            waited_ms = max((a.waited_ms for a in acks), default=0.0)
            self._pacer.learn(elapsed_ms - waited_ms, records, max(read, default=0), dirty)
        self.progress.report(EpochReport(self._epoch, now, elapsed_ms, records, attempts))
        if pause_ms and self._sources.unbounded and not self._state.has_ended:
            self._clock.wait_until(self._clock.now_ms() + pause_ms, self._cancel)

    def _fail(self, error: BaseException) -> None:
        self.error = error
        if self.status is JobStatus.INITIALIZING:
            self.statuses.to(JobStatus.FAILED)
        elif not self.status.is_terminal_state():
            self.statuses.to(JobStatus.FAILING)
            self.statuses.to(JobStatus.FAILED)

    def _close(self) -> None:
        for close in self._sources.closing + self._sinks.closing:
            try:
                close()
            except Exception:
                log.exception("closing failed job=%s", self.job_id)
