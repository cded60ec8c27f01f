"""The JobMaster: runs one job as a row of epochs, each one a Spark job over fixed source ranges."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Final

from firesteel.common.clock import Clock
from firesteel.common.errors import EngineError
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.common.logs import logger
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.levels import LevelPlan
from firesteel.jobmanager.checkpoints import accumulators as stored_accumulators
from firesteel.jobmanager.checkpoints.restore import Beginning, Restorer
from firesteel.jobmanager.checkpoints.results import result_of
from firesteel.jobmanager.checkpoints.savepoints import write_savepoint
from firesteel.jobmanager.checkpoints.storage import HandedOverError, SupersededError
from firesteel.jobmanager.commits import Patience
from firesteel.jobmanager.continuity import Continuity
from firesteel.jobmanager.descriptors import Deployment
from firesteel.jobmanager.epochs import EpochEngine, EpochGivenUp, EpochRunner
from firesteel.jobmanager.options import JobOptions
from firesteel.jobmanager.pacing import Pacer, work_of
from firesteel.jobmanager.progress import EpochReport, JobProgress
from firesteel.jobmanager.requests import Requests, SavepointRequest, no_savepoint
from firesteel.jobmanager.restarts import may_pass
from firesteel.jobmanager.run import CutInfo, JobRun, for_savepoint
from firesteel.jobmanager.sinks import JobSinks
from firesteel.jobmanager.sources import ReadPlan
from firesteel.jobmanager.status import StatusMachine
from firesteel.runtime.program import Ack, Pace
from firesteel.state.files import StateFiles
from firesteel.state.manifest import Manifest

log = logger(__name__)

_GRACE_S: Final = 2.0  # how long an epoch may still run when its job is cancelled
_POLL_MS: Final = 100  # how often an idle source is asked for news when it does not say itself


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
        continuity: Continuity,
        live_jobs: Callable[[], tuple[str, ...]],
    ) -> None:
        self.job_id = job_id
        self.graph = graph
        self._files = files
        self._clock = clock
        self._deployment = Deployment(
            str(job_id), plan, program, files.root, options.local_dir, options.host_id, live_jobs
        )
        self.checkpoints = continuity.checkpoints
        self._restarts = continuity.restarts
        self._beginning = continuity.beginning
        self.statuses = StatusMachine(clock.now_ms)
        self.progress = JobProgress()
        self.error: BaseException | None = None
        self.failures: list[tuple[int, Exception]] = []  # that the job was restarted after
        self.started_ms = clock.now_ms()
        self.ended_ms: int | None = None
        self.attempt = 0
        self._now_ms = max(self.started_ms, self._beginning.now_ms)
        self._cancel = threading.Event()
        self._wake = threading.Event()  # something is asked of the job: it must not sleep on
        self._done = threading.Event()
        self._requests = Requests()
        self._last_wish: SavepointRequest | None = None  # the savepoint that a job ends with that is drained
        self._epoch = 0
        self._fresh = True  # nothing was run since the job began or was restarted
        self._pacer = Pacer(
            replace(options.pacing, checkpoint_interval_ms=continuity.checkpoints.options.interval_ms)
        )
        self._subtasks = sorted((v.id, i) for v in plan.vertices for i in range(v.parallelism))
        patience = Patience(clock, self._cancel, options.commit_retries)
        with_checkpoints = self.checkpoints.enabled
        self._engine = engine
        self._sinks = JobSinks(
            graph,
            str(job_id),
            patience,
            engine.do,
            with_checkpoints=with_checkpoints,
            max_message_bytes=options.max_message_bytes,
        )
        self._sinks.resume(self._beginning.sinks)
        self._current = self._new_run(self._beginning)
        self.checkpoints.hold(self._current.files)
        self._epochs = EpochRunner(
            engine, job_id, graph, self._subtasks, options.epoch_attempts, self._cancel.is_set
        )

    def _new_run(self, beginning: Beginning) -> JobRun:
        if beginning.accumulators:
            self.progress.accumulators = stored_accumulators.unpack(beginning.accumulators)
        else:
            self.progress.accumulators = {}
        return JobRun(
            self.graph,
            self._subtasks,
            self._files,
            self.checkpoints.shared,
            beginning,
            self.checkpoints.enabled,
        )

    @property
    def status(self) -> JobStatus:
        return self.statuses.status

    @property
    def accumulators(self) -> dict[str, Any]:
        return self.progress.accumulators

    @property
    def pending_records(self) -> dict[str, dict[str, int]]:
        """The lag of the sources: records that were not read yet, by operator id and split."""
        return self._current.sources.pending_records()

    # ---- from other threads

    def cancel(self) -> None:
        """Ask the job to stop where it is; the epoch under way does not count.

        It may come to its end by itself, for a moment: tasks that are killed make a noise.
        """
        if not self.status.is_terminal_state():
            self._cancel.set()
            self._wake.set()
            if not self._done.wait(_GRACE_S):
                self._epochs.cancel()

    def savepoint(self, request: SavepointRequest) -> Future[str]:
        """Ask for a savepoint; it is taken between two epochs."""
        self._requests.put(request)
        self._wake.set()
        if self._done.is_set():
            self._requests.refuse_all(no_savepoint(self.job_id, "it has ended"))
        return request.result

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the job's end; False when it has not come in time."""
        return self._done.wait(timeout_s)

    # ---- the life of the job

    def run(self) -> None:
        try:
            self._live()
        except HandedOverError as e:  # the job lives on, elsewhere
            self.error = e
            self.statuses.to(JobStatus.SUSPENDED)
        except BaseException as e:  # the thread's last stop: whatever it is belongs to the job
            self._fail(e)
        finally:
            self.ended_ms = self._clock.now_ms()
            self._close()
            self._done.set()
            self._refuse_savepoints("it has ended")

    def _live(self) -> None:
        self._current.sources.open()
        self.statuses.to(JobStatus.CREATED)
        self.statuses.to(JobStatus.RUNNING)
        failed: Exception | None = None
        while True:
            try:
                if failed is None:
                    self._sinks.open(self._now_ms)
                elif not self._cancel.is_set():
                    self._go_back(failed)
                self._run_to_end()
                return
            except HandedOverError:
                raise
            except Exception as e:
                self.checkpoints.check_claim()
                self._await_restart(e)
                failed = e

    def _run_to_end(self) -> None:
        if not self._cancel.is_set():
            self._sinks.commit_pending(max(self._now_ms, self._clock.now_ms()))
            self.checkpoints.begin(self._clock.now_ms())
        while not self._cancel.is_set():
            self._wake.clear()
            stopped = self._serve_requests()
            if stopped is not None:
                self._finish(stopped)
                return
            if self._current.state.has_ended:
                if self._has_saved_the_rest():
                    self._finish(self._last_wish)
                    return
                self._sleep_until(self.checkpoints.due_ms or 0)
                continue
            if self._is_checkpoint_due():
                self._checkpoint()
            self._step()  # after each checkpoint: with a short interval the job must get on all the same
        self.statuses.to(JobStatus.CANCELLING)
        self.statuses.to(JobStatus.CANCELED)

    def _finish(self, request: SavepointRequest | None) -> None:
        self._sinks.finish(self._clock.now_ms())
        self.statuses.to(JobStatus.FINISHED)
        if request is not None and request.path is not None:
            request.done(request.path)

    def _await_restart(self, error: Exception) -> None:
        """Wait until the job may be tried again; raise ``error`` when the restart strategy says no."""
        if self._cancel.is_set() or not may_pass(error) or self.checkpoints.gives_up_after(error):
            raise error
        delay_ms = self._restarts.delay_ms(self._clock.now_ms())
        if delay_ms is None:
            raise error
        log.warning("job is restarted in %d ms job=%s: %s", delay_ms, self.job_id, error)
        self.failures.append((self._clock.now_ms(), error))
        if self.status is not JobStatus.RESTARTING:
            self.statuses.to(JobStatus.RESTARTING)
        self._refuse_savepoints("it failed and is restarted")
        self._close_all(self._current.sources.closing)
        self._clock.wait_until(self._clock.now_ms() + delay_ms, self._cancel)

    def _go_back(self, error: Exception) -> None:
        """Begin again where the last checkpoint was, or the job."""
        beginning = self._beginning_after(error)
        before = self._current
        self._current = self._new_run(beginning)
        before.state.release()  # after the new run has taken what it needs
        self.attempt += 1
        self._fresh = True
        self._sinks.roll_back(beginning.sinks)
        self._current.sources.open()
        self.statuses.to(JobStatus.RUNNING)

    def _beginning_after(self, error: Exception) -> Beginning:
        checkpoint = self.checkpoints.newest_sound(self._files, error)
        if checkpoint is None:
            return self._beginning
        self.checkpoints.statistics.went_back_to(checkpoint.path)
        name = f"restart-{self.attempt + 1}-{secrets.token_hex(4)}"
        restorer = Restorer(checkpoint.manifest, self.graph, self._files, name, allow_non_restored=True)
        return restorer.beginning()

    # ---- checkpoints and savepoints

    def _is_checkpoint_due(self) -> bool:
        due_ms = self.checkpoints.due_ms
        return due_ms is not None and due_ms <= self._clock.now_ms()

    def _checkpoint(self) -> bool:
        """Take one and make visible what it covers; False when it failed and that is tolerated."""
        triggered_ms = self._clock.now_ms()
        done = self.checkpoints.take(triggered_ms, lambda number: self._cut(number, triggered_ms))
        if done is None:
            return False
        begun_s = self._clock.monotonic_s()
        self._sinks.checkpoint_done(max(self._now_ms, self._clock.now_ms()))
        self.checkpoints.statistics.committed((self._clock.monotonic_s() - begun_s) * 1000)
        self._current.sources.checkpoint_completed()
        return True

    def _cut(self, number: int, triggered_ms: int) -> Manifest:
        info = CutInfo(
            number, str(self.job_id), self.checkpoints.storage.claim, triggered_ms, self._epoch, self._now_ms
        )
        if self._beginning.stands_alone:
            self._current.stand_alone()
        return self._current.cut(info, self._sinks.snapshot(), self.progress.accumulators)

    def _serve_requests(self) -> SavepointRequest | None:
        """Take the savepoints that were asked for; the one that the job ends with, if there is one."""
        while (request := self._requests.take()) is not None:
            if self._last_wish is not None:
                request.failed(no_savepoint(self.job_id, "it is being stopped with a savepoint"))
            elif request.drain:
                self._last_wish = request
                self._current.sources.drain()
            else:
                self._save(request)
                if request.stop and request.path is not None:
                    return request
        return None

    def _has_saved_the_rest(self) -> bool:
        """All input is done: a last checkpoint covers the rest of the output, and the savepoint follows that
        a drained job ends with."""
        if self.checkpoints.enabled and not self._checkpoint():
            return False
        if self._last_wish is not None:
            self._write_savepoint(self._last_wish)
        return True

    def _save(self, request: SavepointRequest) -> None:
        """A checkpoint first, where there are any: so a savepoint holds no output that is not committed."""
        try:
            complete = not self.checkpoints.enabled or self._checkpoint()
        except Exception as e:
            request.failed(e)
            raise
        if complete:
            self._write_savepoint(request)
        else:
            request.failed(EngineError("The checkpoint failed that comes before a savepoint"))

    def _write_savepoint(self, request: SavepointRequest) -> None:
        """When it cannot be written the job goes on."""
        directory = request.directory or self.checkpoints.options.savepoint_directory
        try:
            manifest = for_savepoint(self._cut(self.checkpoints.new_id(), self._clock.now_ms()))
            request.path = write_savepoint(manifest, self._files, directory, self._engine.do)
        except Exception as e:
            log.warning("savepoint failed job=%s: %s", self.job_id, e)
            request.failed(e)
        else:
            if not request.stop:
                request.done(request.path)

    def _refuse_savepoints(self, why: str) -> None:
        self._requests.refuse_all(no_savepoint(self.job_id, why))
        if self._last_wish is not None:
            self._last_wish.failed(no_savepoint(self.job_id, why))
            self._last_wish = None

    # ---- epochs

    def _step(self) -> None:
        """Run an epoch if there is a reason for one, else wait for a reason."""
        clock_ms = self._clock.now_ms()
        self._now_ms = now = max(self._now_ms, clock_ms)  # processing time never goes back, the clock may
        checkpoint_ms = self.checkpoints.due_ms
        size = self._pacer.next_epoch(None if checkpoint_ms is None else checkpoint_ms - clock_ms)
        reading = self._current.sources.plan(now, size.budget)
        due = self._current.state.next_timer_ms
        if self._fresh or reading.wanted or (due is not None and due <= now):
            self._run_epoch(now, reading, size.pace)
        else:
            news = now + _POLL_MS if reading.next_ms is None else max(now + 1, reading.next_ms)
            until = news if due is None else min(news, due)
            self._sleep_until(until - (now - clock_ms))

    def _sleep_until(self, instant_ms: int) -> None:
        """Wait for an instant, the next checkpoint, or until something is asked of the job."""
        checkpoint_ms = self.checkpoints.due_ms
        if checkpoint_ms is not None:
            instant_ms = min(instant_ms, checkpoint_ms)
        self._clock.wait_until(instant_ms, self._wake)

    def _run_epoch(self, now: int, reading: ReadPlan, pace: Pace | None) -> None:
        self._epoch += 1
        begun_s = self._clock.monotonic_s()
        levels = self._deployment.descriptors(
            self._current, reading, attempt=self.attempt, epoch=self._epoch, now_ms=now, pace=pace
        )
        try:
            answers = self._epochs.run(levels, self._deployment.widths)
        except EpochGivenUp as e:
            log.info("epoch is run again with fewer records job=%s epoch=%d", self.job_id, self._epoch)
            known = work_of(e.acks, self._current.sources.vertices, e.overrun.worked_ms)
            self._pacer.gave_up(known, e.part_done(), e.overrun.worked_ms)
            return
        if answers is None:
            return
        acks, attempts = answers
        self._commit(acks, now)
        elapsed_ms = (self._clock.monotonic_s() - begun_s) * 1000
        self._learn(acks, now, elapsed_ms, attempts)

    def _commit(self, acks: list[Ack], now: int) -> None:
        """Everything that the epoch did counts from here on; its records become visible last."""
        self._current.state.commit(f"{self._epoch}-{secrets.token_hex(8)}", acks)
        self._current.sources.commit(acks)
        self._fresh = False
        self.progress.count(acks)
        for ack in acks:
            for warning in ack.warnings:
                log.warning("%s", warning)
        self._sinks.epoch_done(acks, self._epoch, now)

    def _learn(self, acks: list[Ack], now: int, elapsed_ms: float, attempts: int) -> None:
        work = work_of(acks, self._current.sources.vertices, elapsed_ms)
        pause_ms = self._pacer.pause_ms(elapsed_ms, work)
        if attempts == 1:
            self._pacer.learn(work)
        self.progress.report(EpochReport(self._epoch, now, elapsed_ms, work.records, attempts))
        if pause_ms and self._current.sources.unbounded and not self._current.state.has_ended:
            self._sleep_until(self._clock.now_ms() + pause_ms)

    def _fail(self, error: BaseException) -> None:
        self.error = error
        if self.status is JobStatus.INITIALIZING:
            self.statuses.to(JobStatus.FAILED)
        elif not self.status.is_terminal_state():
            self.statuses.to(JobStatus.FAILING)
            self.statuses.to(JobStatus.FAILED)

    def _close(self) -> None:
        self._close_all([*self._current.sources.closing, *self._sinks.closing, self._clean_up])

    def _clean_up(self) -> None:
        runtime_ms = (self.ended_ms or 0) - self.started_ms
        result = result_of(self.job_id, self.graph.name, self.status, runtime_ms, self.progress.accumulators)
        try:
            kept = self.checkpoints.job_ended(self.status, result)
        except (SupersededError, OSError) as e:
            log.warning("nothing of the job is removed: %s", e)
            return
        if kept and self.status is not JobStatus.SUSPENDED:  # then what is there is another driver's
            self._current.state.release()  # what outlives the job are its checkpoints

    def _close_all(self, closing: list[Callable[[], None]]) -> None:
        for close in closing:
            try:
                close()
            except BaseException:  # of a user's close()
                log.exception("closing failed job=%s", self.job_id)
