"""The JobMaster: runs one job as a row of epochs, each one a Spark job over fixed source ranges.

Its thread alone reads and changes it. Other threads have the views that its observer publishes, and the
mailbox for what they ask of the job (``gateway.py``).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from firesteel.common.clock import Clock
from firesteel.common.errors import NoSlotsError
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.common.logs import logger
from firesteel.graph.execution_graph import ExecutionState
from firesteel.jobmanager.accumulated import Accumulated
from firesteel.jobmanager.checkpoints import accumulators as stored_accumulators
from firesteel.jobmanager.checkpoints.restore import Beginning, Restorer
from firesteel.jobmanager.checkpoints.results import result_of
from firesteel.jobmanager.checkpoints.storage import HandedOverError, SupersededError
from firesteel.jobmanager.closing import close_all
from firesteel.jobmanager.commits import Patience
from firesteel.jobmanager.continuity import Continuity
from firesteel.jobmanager.course import Course, Mover
from firesteel.jobmanager.descriptors import Deployment
from firesteel.jobmanager.epoch_mover import EpochMover
from firesteel.jobmanager.epochs import EpochEngine, EpochRunner
from firesteel.jobmanager.layout import LayOut, Layout
from firesteel.jobmanager.ledger import Ledger
from firesteel.jobmanager.looks import Looks
from firesteel.jobmanager.observer import JobObserver
from firesteel.jobmanager.options import JobOptions, dirty_bytes
from firesteel.jobmanager.pacing import Pacer
from firesteel.jobmanager.real_time import RealTimeMover
from firesteel.jobmanager.requests import JobOutcome, Mailbox, refusal
from firesteel.jobmanager.rescaler import Rescaler
from firesteel.jobmanager.restarts import may_pass
from firesteel.jobmanager.run import CutInfo, JobRun
from firesteel.jobmanager.scaling import scaling_of
from firesteel.jobmanager.serving import RequestServer
from firesteel.jobmanager.sinks import JobSinks
from firesteel.jobmanager.snapshots import Snapshots
from firesteel.state.files import StateFiles
from firesteel.state.manifest import Manifest

log = logger(__name__)

_RESTARTED: Final = "it failed and is restarted"


class JobMaster:
    """One job from its graph to its end. ``run`` is the body of the job's own thread.

    :param observer: is told what happens. It tells the other threads.
    :param mailbox: where they put what they ask for.
    :param hold_slots: is told how many slots the tasks of the job hold for as long as they run; 0: in epochs.
    :param takes_epochs: whether a job in real time may go on in epochs.
    """

    def __init__(
        self,
        *,
        job_id: JobID,
        layout: Layout,
        lay_out: LayOut,
        engine: EpochEngine,
        files: StateFiles,
        clock: Clock,
        options: JobOptions,
        continuity: Continuity,
        live_jobs: Callable[[], tuple[str, ...]],
        observer: JobObserver,
        mailbox: Mailbox,
        count_slots: Callable[[], int],
        hold_slots: Callable[[int], None],
        takes_epochs: bool,
    ) -> None:
        self._job_id = job_id
        self._hold_slots = hold_slots
        self._takes_epochs = takes_epochs
        self._graph = graph = layout.graph
        self._engine = engine
        self._options = options
        self._files = files
        self._clock = clock
        self._observer = observer
        self._mailbox = mailbox
        self._cancelled = mailbox.cancelled
        self._deployment = Deployment(
            str(job_id),
            layout.plan,
            layout.program,
            files.root,
            options.local_dir,
            options.host_id,
            live_jobs,
        )
        self._checkpoints = continuity.checkpoints
        self._restarts = continuity.restarts
        self._beginning = continuity.beginning
        self._started_ms = clock.now_ms()
        self._subtasks = layout.subtasks
        self._sinks = JobSinks(
            graph,
            str(job_id),
            Patience(clock, self._cancelled, options.commit_retries),
            engine.do,
            with_checkpoints=self._checkpoints.enabled,
            max_message_bytes=options.max_message_bytes,
        )
        self._sinks.resume(self._beginning.sinks)
        self._course = Course(
            self._new_run(self._beginning),
            _accumulated(self._beginning),
            max(self._started_ms, self._beginning.now_ms),
        )
        self._checkpoints.hold(self._course.run.files)
        pacing = replace(
            options.pacing,
            checkpoint_interval_ms=self._checkpoints.options.interval_ms,
            with_exchange=bool(graph.edges),
            dirty_bytes=dirty_bytes(options.state, graph),
            is_cheap=all(o.node.operator.is_cheap for v in graph.vertices for o in v.operators),
        )
        self._pacer = Pacer(pacing)
        self._rescaler = Rescaler(
            job_id,
            layout,
            lay_out,
            self._course,
            files,
            clock,
            observer,
            _Moving(self),
            scaling_of(options, count_slots),
        )
        self._snapshots = Snapshots(
            job_id,
            self._checkpoints,
            files,
            engine.do,
            clock,
            self._settle,
            self._cut,
            self._checkpoint_covers,
            lambda number: self._course.run.notices.add(number, False),
        )
        self._looks = Looks(
            job_id,
            self._checkpoints.shared,
            lambda: self._course.run.committed(self._course.epoch, self._course.now_ms),
            lambda: self._course.run.files,
        )
        self._requests = RequestServer(
            job_id,
            mailbox,
            observer,
            self._snapshots,
            lambda: self._course.accumulated.by_name,
            self._looks,
            lambda: self._course.run.sources.drain(),
            self._rescaler.ask,
        )
        self._mover = self._new_mover()
        self._recovers = False  # a failed attempt is followed by one that has not come to an epoch

    def _new_mover(self) -> Mover:
        engine, options = self._engine, self._options
        ledger = Ledger(self._job_id, self._course, self._sinks, self._observer)
        held = 0 if options.real_time is None else self._deployment.plan.subtasks
        self._hold_slots(held)
        self._observer.holds_slots(held)
        if options.real_time is not None:
            real_time = replace(options.real_time, dirty_bytes=dirty_bytes(options.state, self._graph))
            return RealTimeMover(
                self._course,
                ledger,
                engine,
                self._deployment,
                real_time.watched() if self._sinks.are_watched else real_time,
                self._job_id,
                self._graph,
                self._subtasks,
                self._checkpoints,
                self._observer,
                self._clock,
                self._mailbox,
            )
        return EpochMover(
            self._course,
            ledger,
            EpochRunner(
                engine,
                self._job_id,
                self._graph,
                self._subtasks,
                options.epoch_attempts,
                self._cancelled.is_set,
            ),
            self._deployment,
            self._pacer,
            self._checkpoints,
            self._observer,
            self._clock,
            self._mailbox.news,
            lambda: self._requests.last_wish is not None,
            options.latency_interval_ms,
        )

    def _new_run(self, beginning: Beginning) -> JobRun:
        return JobRun(
            self._graph,
            self._subtasks,
            self._files,
            self._checkpoints.shared,
            beginning,
            self._checkpoints.enabled,
            self._options.real_time is not None,
        )

    # ---- the life of the job

    def run(self) -> JobOutcome:
        """Run the job to its end; what it asked for in the meantime is answered when this returns."""
        error: BaseException | None = None
        status = JobStatus.FAILED
        try:
            status = self._live()
        except HandedOverError as e:  # the job lives on, elsewhere
            error, status = e, JobStatus.SUSPENDED
        except BaseException as e:  # the thread's last stop: whatever it is belongs to the job
            error = e
            self._observer.failed(e)
            if self._observer.status is not JobStatus.INITIALIZING:
                self._observer.enter(JobStatus.FAILING)
        finally:
            ended_ms = self._clock.now_ms()
            outcome = JobOutcome(
                self._job_id,
                status,
                ended_ms - self._started_ms,
                self._course.accumulated.by_name,
                error,
            )
            self._end(outcome, ended_ms)
        return outcome

    def _live(self) -> JobStatus:
        """What it ends in."""
        self._course.run.sources.open()
        self._observer.enter(JobStatus.CREATED)
        self._observer.enter(JobStatus.RUNNING)
        self._observer.attempt_reached(ExecutionState.SCHEDULED)
        failed: Exception | None = None
        while True:
            try:
                if failed is None:
                    self._sinks.open(self._course.now_ms)
                elif not self._cancelled.is_set():
                    self._go_back(failed)
                try:
                    status = self._run_to_end()
                finally:
                    self._mover.stop()
                if status is JobStatus.FINISHED:
                    self._sinks.finish(self._clock.now_ms())
                return status
            except HandedOverError:
                raise
            except Exception as e:
                self._checkpoints.check_claim()
                self._await_restart(e)
                failed = e

    def _run_to_end(self) -> JobStatus:
        if not self._cancelled.is_set():
            self._sinks.commit_pending(max(self._course.now_ms, self._clock.now_ms()))
            self._checkpoints.begin(self._clock.now_ms())
        while not self._cancelled.is_set():
            self._mailbox.news.clear()
            if self._requests.serve():
                return JobStatus.FINISHED
            if self._course.run.state.has_ended:
                if self._has_saved_the_rest():
                    self._tell_the_rest()
                    return JobStatus.FINISHED
                self._sleep_until(self._checkpoints.due_ms or 0)
                continue
            if self._snapshots.is_due(self._mover.least_step_ms):
                self._snapshots.checkpoint()
            self._rescaler.look()
            self._mover.step()  # after each checkpoint: with a short interval the job must get on
            if not self._course.fresh:
                self._went_on()
        self._observer.asked("cancel")
        self._observer.enter(JobStatus.CANCELLING)
        return JobStatus.CANCELED

    def _went_on(self) -> None:
        """An epoch of the attempt is committed."""
        self._rescaler.went_on()
        self._checkpoints.statistics.resumed(self._clock.now_ms())
        if self._recovers:
            self._recovers = False
            self._observer.recovery("processing resumed", f"epoch {self._course.epoch}")
            self._observer.publish()

    def _await_restart(self, error: Exception) -> None:
        """Wait until the job may be tried again; raise ``error`` when the restart strategy says no."""
        if self._cancelled.is_set() or not may_pass(error) or self._checkpoints.gives_up_after(error):
            raise error
        delay_ms = 0 if self._changes_mode(error) else self._restarts.delay_ms(self._clock.now_ms())
        if delay_ms is None:
            raise error
        log.warning("job is restarted in %d ms job=%s: %s", delay_ms, self._job_id, error)
        self._rescaler.attempt_failed(error)
        self._observer.failed(error)
        self._observer.recovery("tasks stopped")
        self._observer.restart_planned(delay_ms)
        if self._observer.status is not JobStatus.RESTARTING:
            self._observer.enter(JobStatus.RESTARTING)
        self._observer.publish()
        self._requests.serve_without_snapshots(_RESTARTED)
        close_all(self._course.run.sources.closing, self._job_id)
        self._wait_for_restart(self._clock.now_ms() + delay_ms)

    def _changes_mode(self, error: Exception) -> bool:
        """Whether the job goes on in epochs because there are too few slots for real time, now that its tasks
        were to begin: others have taken them, or an executor was lost."""
        if not (self._takes_epochs and isinstance(error, NoSlotsError)):
            return False
        log.warning("the job runs in epochs from now on, not in real time job=%s: %s", self._job_id, error)
        self._options = replace(self._options, real_time=None)
        self._mover = self._new_mover()
        return True

    def _wait_for_restart(self, instant_ms: int) -> None:
        """Wait for ``instant_ms`` or until the job is cancelled; there is nothing to take a snapshot of."""
        while True:
            self._mailbox.news.clear()
            self._requests.serve_without_snapshots(_RESTARTED)
            if self._cancelled.is_set() or self._clock.wait_until(instant_ms, self._mailbox.news):
                return

    def _go_back(self, error: Exception) -> None:
        """Begin again where the last checkpoint was, or the job."""
        beginning, restored_from = self._beginning_after(error)
        before = self._course.run
        rescaled = restored_from is None and self._rescaler.begin_again()
        if rescaled:  # what the job began with is for the subtasks that it began with
            self._lay_out(self._rescaler.layout)
        self._course.run = self._new_run(beginning)
        self._course.accumulated = _accumulated(beginning)
        before.state.release()  # after the new run has taken what it needs
        self._course.attempt += 1
        self._course.fresh = True
        self._sinks.roll_back(beginning.sinks)
        self._observer.recovery("state restored", restored_from or "as the job began")
        self._course.run.sources.open()
        self._observer.recovery("sources rewound")
        if rescaled:
            self._observer.goes_on_as(self._rescaler.layout.info, self._graph, self._course.attempt, None)
        else:
            self._observer.restarted(self._course.attempt, restored_from)
        self._observer.recovery("operators redeployed", f"attempt {self._course.attempt}")
        self._recovers = True
        self._observer.enter(JobStatus.RUNNING)

    def _lay_out(self, layout: Layout) -> None:
        """From here on the subtasks are those of this layout."""
        self._graph = layout.graph
        self._subtasks = layout.subtasks
        self._deployment = replace(self._deployment, plan=layout.plan, program=layout.program)
        self._mover = self._new_mover()

    def _go_on(self, layout: Layout, run: JobRun) -> None:
        """Go on from here with other subtasks."""
        self._course.run = run
        self._course.attempt += 1  # so that workers close what they have of the old ones
        self._course.fresh = True
        self._lay_out(layout)
        path = self._checkpoints.completed.latest
        self._observer.goes_on_as(
            layout.info, layout.graph, self._course.attempt, None if path is None else path.path
        )

    def _beginning_after(self, error: Exception) -> tuple[Beginning, str | None]:
        """What to go on from, and the path of the checkpoint that this is; None: the job's own beginning."""
        checkpoint = self._checkpoints.newest_sound(self._files, error)
        if checkpoint is None:
            return self._beginning, None
        self._checkpoints.statistics.went_back_to(checkpoint.path, checkpoint.manifest, self._clock.now_ms())
        name = f"restart-{self._course.attempt + 1}-{secrets.token_hex(4)}"
        restorer = Restorer(checkpoint.manifest, self._graph, self._files, name, allow_non_restored=True)
        return restorer.beginning(), checkpoint.path

    # ---- checkpoints and savepoints

    def _checkpoint_covers(self, number: int) -> None:
        """A checkpoint is complete: make visible what it covers."""
        self._sinks.checkpoint_done(max(self._course.now_ms, self._clock.now_ms()))
        self._course.run.sources.checkpoint_completed()
        self._course.run.notices.add(number, True)

    def _settle(self, instant_ms: int, stop: bool) -> None:
        self._mover.settle(instant_ms, stop)

    def _cut(self, number: int, triggered_ms: int) -> Manifest:
        state = self._course.run.state
        if state.has_ended and state.has_forgotten:
            raise refusal("savepoint", self._job_id, "all of its input has ended, and its state is gone")
        info = CutInfo(
            number,
            str(self._job_id),
            self._checkpoints.storage.claim,
            triggered_ms,
            self._course.epoch,
            self._course.now_ms,
        )
        if self._beginning.stands_alone:
            self._course.run.stand_alone()
        return self._course.run.cut(info, self._sinks.snapshot(), self._course.accumulated.by_name)

    def _has_saved_the_rest(self) -> bool:
        """All input is done: a last checkpoint covers the rest of the output, and the savepoint follows that
        a drained job ends with."""
        if self._checkpoints.enabled and not self._snapshots.checkpoint():
            return False
        if self._requests.last_wish is not None:
            self._snapshots.write_savepoint(self._requests.last_wish)
        return True

    def _tell_the_rest(self) -> None:
        """Functions that listen hear of the last checkpoint, too, before the job ends."""
        while self._course.run.notices.waiting and not self._cancelled.is_set():
            self._mailbox.news.clear()
            self._mover.step()

    # ---- epochs

    def _sleep_until(self, instant_ms: int) -> None:
        self._clock.wait_until(instant_ms, self._mailbox.news)

    def _end(self, outcome: JobOutcome, instant_ms: int) -> None:
        steps: tuple[Callable[[], None], ...] = (
            self._rescaler.job_ended,
            self._looks.end,
            partial(self._clean_up, outcome),
            # Who sees a status that is the last finds it recorded, and nothing moves beside the output any
            # more. Whoever has asked the job for something sees that status when the answer comes.
            partial(self._observer.ended, outcome.status, instant_ms),
            *self._course.run.sources.closing,
            *self._sinks.closing,
            partial(self._requests.end, _why_not_finished(outcome)),
            partial(self._mailbox.close, outcome),
        )
        close_all(steps, self._job_id)

    def _clean_up(self, outcome: JobOutcome) -> None:
        name, status = self._graph.name, outcome.status
        result = result_of(outcome.job_id, name, status, outcome.runtime_ms, self._course.accumulated.by_name)
        try:
            recorded = self._checkpoints.record_end(status, result)
        except (SupersededError, OSError) as e:
            log.warning("nothing of the job is removed: %s", e)
            if isinstance(e, SupersededError):
                self._requests.end("another driver goes on with it")
            return
        if recorded:  # who dies in between is followed by ``aftermath.py``
            cleaning_up = self._sinks.cleaning_up if status is JobStatus.FINISHED else []
            close_all([*cleaning_up, self._checkpoints.dispose], self._job_id)
        elif status is not JobStatus.SUSPENDED:  # then what is there is another driver's
            self._course.run.state.release()  # what outlives the job are its checkpoints


class _Moving:
    """What a change of parallelism needs of the job."""

    def __init__(self, job: JobMaster) -> None:
        self._job = job

    def settle(self) -> None:
        self._job._settle(self._job._clock.now_ms(), True)
        self._job._mover.stop()

    def go_on(self, layout: Layout, run: JobRun) -> None:
        self._job._go_on(layout, run)


def _why_not_finished(outcome: JobOutcome) -> str | None:
    if outcome.status is JobStatus.FINISHED:
        return None
    return f"it is {outcome.status.name}" + ("" if outcome.error is None else f": {outcome.error}")


def _accumulated(beginning: Beginning) -> Accumulated:
    stored = beginning.accumulators
    return Accumulated(stored_accumulators.unpack(stored) if stored else None)
