"""The JobMaster: runs one job as a row of epochs, each one a Spark job over fixed source ranges."""

from __future__ import annotations

import logging
import pickle
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from firesteel.common.clock import Clock
from firesteel.common.errors import EngineError, FiresteelError, JobExecutionError
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.connectors.base import Boundedness, Committable, Sink, SinkCommitter, Source
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.levels import LevelPlan
from firesteel.jobmanager.lines import StateLines
from firesteel.jobmanager.pacing import Pacer, PacingOptions
from firesteel.jobmanager.sources import SourceCoordinator, SourcePlan
from firesteel.jobmanager.status import StatusMachine
from firesteel.runtime.program import Ack, LevelDescriptor, SubtaskDescriptor, UserError
from firesteel.state.files import StateFiles

log = logging.getLogger(__name__)

Subtask = tuple[str, int]

_GRACE_S: Final = 2.0  # how long an epoch may still run when its job is cancelled
_POLL_MS: Final = 100  # how often an idle source is asked for news when it does not say itself


class EpochEngine(Protocol):
    """What runs an epoch: Spark, or an in-process twin in tests."""

    def run(self, levels: list[LevelDescriptor], parallelism: list[int]) -> list[Ack | UserError]:
        """Raises EngineError when the epoch could not be run; it is discarded whole and may be run again."""

    def cancel(self) -> None: ...


@dataclass(frozen=True, slots=True)
class JobOptions:
    pacing: PacingOptions
    min_interval_ms: int = 100  # between the starts of two epochs while there is no backlog
    epoch_attempts: int = 4  # how often an epoch is tried that Spark could not run
    local_dir: str | None = None
    host_id: str = ""  # separates the local stores of executors that share a machine


@dataclass(slots=True)
class EpochReport:
    """What one epoch did; kept for the progress line and the statistics."""

    epoch: int
    started_ms: int
    elapsed_ms: float
    records: int
    dirty_entries: int
    attempts: int


@dataclass(slots=True)
class JobProgress:
    """Numbers of a running job."""

    epochs: int = 0
    records_read: int = 0
    reports: list[EpochReport] = field(default_factory=list)
    operators: dict[str, tuple[int, int]] = field(default_factory=dict)  # uid -> records in, records out
    watermarks: dict[Subtask, int] = field(default_factory=dict)


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
        self._engine = engine
        self._files = files
        self._clock = clock
        self._options = options
        self._live_jobs = live_jobs
        self.statuses = StatusMachine(clock.now_ms)
        self.progress = JobProgress()
        self.accumulators: dict[str, Any] = {}
        self.error: BaseException | None = None
        self.started_ms = clock.now_ms()
        self.ended_ms: int | None = None
        self.attempt = 0
        self._lines = StateLines(files)
        self._carry: dict[Subtask, bytes | None] = {}
        self._timers: dict[Subtask, int] = {}
        self._ended: set[Subtask] = set()
        self._sources: dict[tuple[str, str], SourceCoordinator] = {}
        self._sinks: dict[str, SinkCommitter | None] = {}
        self._cancel = threading.Event()
        self._done = threading.Event()
        self._epoch = 0
        self._fixed_ms = 150.0
        self._pacer = Pacer(options.pacing)
        self._find_endpoints()

    def _find_endpoints(self) -> None:
        for vertex in self.graph.vertices:
            for operator in vertex.operators:
                what, uid = operator.node.operator, operator.operator_id
                if isinstance(what, Source):
                    self._sources[vertex.id, uid] = SourceCoordinator(
                        vertex.id, uid, operator.node.name, what, vertex.parallelism, self._files.root
                    )
                elif isinstance(what, Sink):
                    self._sinks[uid] = what.create_committer()

    @property
    def status(self) -> JobStatus:
        return self.statuses.status

    @property
    def subtasks(self) -> list[Subtask]:
        return [(v.id, i) for v in self._plan.vertices for i in range(v.parallelism)]

    def cancel(self) -> None:
        """Ask the job to stop where it is; the epoch under way does not count.

        It may come to its end by itself, for a moment: tasks that are killed make a noise.
        """
        if not self.status.is_terminal_state():
            self._cancel.set()
            if not self._done.wait(_GRACE_S):
                self._engine.cancel()

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
        for source in self._sources.values():
            source.open()
        for committer in self._sinks.values():
            if committer is not None:
                committer.open()
        self.statuses.to(JobStatus.CREATED)
        self.statuses.to(JobStatus.RUNNING)
        while not self._cancel.is_set():
            if self._is_finished():
                self._finish()
                return
            self._step()
        self.statuses.to(JobStatus.CANCELLING)
        self.statuses.to(JobStatus.CANCELED)

    def _is_finished(self) -> bool:
        return self._epoch > 0 and len(self._ended) == len(self.subtasks)

    def _finish(self) -> None:
        now = self._clock.now_ms()
        for committer in self._sinks.values():
            if committer is not None:
                committer.finish(now)
        self.statuses.to(JobStatus.FINISHED)

    def _step(self) -> None:
        """Run an epoch if there is a reason for one, else wait for a reason."""
        now = self._clock.now_ms()
        plans = {key: source.plan(now, self._pacer.budget()) for key, source in self._sources.items()}
        due = min(self._timers.values(), default=None)
        is_due = due is not None and due <= now
        if self._epoch == 0 or is_due or any(p.wanted for p in plans.values()):
            self._run_epoch(now, plans)
        else:
            self._wait(now, plans, due)

    def _wait(self, now: int, plans: dict[tuple[str, str], SourcePlan], due: int | None) -> None:
        until = now + _POLL_MS
        hints = [p.next_ms for p in plans.values()]
        if hints and all(h is not None for h in hints):
            until = max(now + 1, min(h for h in hints if h is not None))
        if due is not None:
            until = min(until, due)
        self._clock.wait_until(until, self._cancel)

    def _run_epoch(self, now: int, plans: dict[tuple[str, str], SourcePlan]) -> None:
        self._epoch += 1
        levels = self._descriptors(now, plans)
        widths = [level.parallelism for level in self._plan.levels]
        begun = time.perf_counter()
        acks, attempts = self._answers(levels, widths)
        if acks is None:
            return
        self._commit(acks, now)
        self._learn(acks, now, (time.perf_counter() - begun) * 1000, attempts)

    def _descriptors(self, now: int, plans: dict[tuple[str, str], SourcePlan]) -> list[LevelDescriptor]:
        levels = []
        for level in self._plan.levels:
            subtasks = {}
            for vertex in level.vertices:
                for i in range(vertex.parallelism):
                    key = (vertex.id, i)
                    sources = {uid: plan.assignments[i] for (v, uid), plan in plans.items() if v == vertex.id}
                    subtasks[key] = SubtaskDescriptor(self._lines.of(key), self._carry.get(key), sources)
            levels.append(
                LevelDescriptor(
                    job_id=str(self.job_id),
                    attempt=self.attempt,
                    epoch=self._epoch,
                    now_ms=now,
                    level=level.index,
                    program=self._program,
                    state_dir=self._files.root,
                    local_dir=self._local_dir(),
                    live_jobs=self._live_jobs(),
                    subtasks=subtasks,
                )
            )
        return levels

    def _local_dir(self) -> str | None:
        options = self._options
        if options.local_dir is None or not options.host_id:
            return options.local_dir
        return f"{options.local_dir}/{options.host_id.replace('{epoch}', str(self._epoch))}"

    def _answers(self, levels: list[LevelDescriptor], widths: list[int]) -> tuple[list[Ack] | None, int]:
        """Run the epoch until it answers; a Spark failure discards it whole and tries again (I2)."""
        for attempt in range(1, self._options.epoch_attempts + 1):
            try:
                answers = self._engine.run(levels, widths)
                errors = [a for a in answers if isinstance(a, UserError)]
                if errors:
                    raise user_failure(errors[0], self.job_id, self._uid_of(errors[0].uid))
                if self._cancel.is_set():
                    return None, attempt
                acks = [a for a in answers if isinstance(a, Ack)]
                self._check_complete(acks)
                return acks, attempt
            except EngineError as e:
                if self._cancel.is_set():
                    return None, attempt
                if attempt == self._options.epoch_attempts:
                    raise
                log.warning("epoch failed and is run again job=%s epoch=%d: %s", self.job_id, self._epoch, e)
        raise AssertionError("unreachable")

    def _uid_of(self, operator_id: str) -> str | None:
        """The uid that the program gave the operator, else its id."""
        operators = (o for v in self.graph.vertices for o in v.operators if o.operator_id == operator_id)
        return next((o.node.uid for o in operators if o.node.uid), operator_id or None)

    def _check_complete(self, acks: list[Ack]) -> None:
        """Every subtask has answered exactly once: an epoch with less must never count (I2)."""
        answered = sorted((a.vertex, a.subtask) for a in acks)
        if answered != sorted(self.subtasks):
            raise EngineError(
                "An epoch came back incomplete",
                detail=f"{len(answered)} of {len(self.subtasks)} subtasks answered",
            )

    def _commit(self, acks: list[Ack], now: int) -> None:
        manifest_id = f"{self._epoch}-{secrets.token_hex(8)}"
        self._lines.commit(manifest_id, acks)
        committables: dict[str, list[Committable]] = {}
        for ack in sorted(acks, key=lambda a: (a.vertex, a.subtask)):
            key = (ack.vertex, ack.subtask)
            self._carry[key] = ack.carry
            self._timers.pop(key, None)
            if ack.next_timer_ms is not None:
                self._timers[key] = ack.next_timer_ms
            if ack.ended:
                self._ended.add(key)
            if ack.watermark is not None:
                self.progress.watermarks[key] = ack.watermark
            for (vertex, _), source in self._sources.items():
                if vertex == ack.vertex:
                    source.commit(ack)
            for uid, payloads in ack.committables.items():
                committables.setdefault(uid, []).extend(
                    Committable(ack.subtask, self._epoch, payload) for payload in payloads
                )
            self._merge(ack)
        for uid, committer in self._sinks.items():
            if committer is not None:  # also without committables: files are rolled by age
                committer.commit(committables.get(uid, []), now)

    def _merge(self, ack: Ack) -> None:
        for name, part in ack.accumulators.items():
            total = self.accumulators.get(name)
            if total is None:
                self.accumulators[name] = part
            else:
                total.merge(part)
        for uid, (records_in, records_out) in ack.operators.items():
            before = self.progress.operators.get(uid, (0, 0))
            self.progress.operators[uid] = (before[0] + records_in, before[1] + records_out)
        for warning in ack.warnings:
            log.warning("%s", warning)

    def _learn(self, acks: list[Ack], now: int, elapsed_ms: float, attempts: int) -> None:
        sources = {vertex for vertex, _ in self._sources}
        read = [a.records_in for a in acks if a.vertex in sources]
        dirty = max((a.delta.entries for a in acks if a.delta is not None), default=0)
        records = sum(read)
        if records < 1000:
            self._fixed_ms = min(self._fixed_ms, elapsed_ms)
        if attempts == 1:
            self._pacer.learn(elapsed_ms, self._fixed_ms, max(read, default=0), dirty)
        self.progress.epochs = self._epoch
        self.progress.records_read += records
        self.progress.reports.append(EpochReport(self._epoch, now, elapsed_ms, records, dirty, attempts))
        del self.progress.reports[:-1000]
        if records < self._pacer.budget().max_records and not self._is_finished():
            pause = self._options.min_interval_ms - elapsed_ms
            if pause > 0 and self._unbounded():
                self._clock.wait_until(self._clock.now_ms() + int(pause), self._cancel)

    def _unbounded(self) -> bool:
        return any(
            isinstance(o.node.operator, Source)
            and o.node.operator.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
            for v in self.graph.vertices
            for o in v.operators
        )

    def _fail(self, error: BaseException) -> None:
        self.error = error
        if self.status is JobStatus.INITIALIZING:
            self.statuses.to(JobStatus.FAILED)
        elif not self.status.is_terminal_state():
            self.statuses.to(JobStatus.FAILING)
            self.statuses.to(JobStatus.FAILED)

    def _close(self) -> None:
        closing: list[Callable[[], None]] = [s.close for s in self._sources.values()]
        closing += [c.close for c in self._sinks.values() if c is not None]
        for close in closing:
            try:
                close()
            except Exception:
                log.exception("closing failed job=%s", self.job_id)


def user_failure(error: UserError, job_id: JobID, uid: str | None) -> JobExecutionError:
    """The error of the job, with the user's own exception as its cause."""
    cause: BaseException | None = None
    if error.error is not None:
        try:
            cause = pickle.loads(error.error)
        except Exception:
            cause = None
    if cause is None or isinstance(cause, FiresteelError):
        cause = cause or UserCodeException(error.summary)
    cause.add_note(f"\nTraceback in the worker:\n{error.traceback}")
    failure = JobExecutionError(
        f"Job {job_id} failed: {error.summary}",
        job_id=str(job_id),
        operator=error.operator,
        uid=uid,
        subtask=error.subtask,
        detail=error.traceback,
    )
    failure.__cause__ = cause
    return failure


class UserCodeException(Exception):
    """Stands for an exception of the user's code that could not be pickled."""
