"""The dispatcher: takes jobs, gives each a process, knows what became of them (Flink: ``Dispatcher``).

It runs no code of users'. All of it belongs to one event loop; what waits for a disk or for Spark is done in
threads.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from firesteel.cluster.blobs import BlobStore
from firesteel.cluster.collecting import Blocks, as_text, left_over
from firesteel.cluster.engines import Engine
from firesteel.cluster.job import Job
from firesteel.cluster.logs import ClusterLogs
from firesteel.cluster.messages import (
    Begin,
    Cancel,
    GiveAccumulators,
    GiveCollected,
    GiveKeyState,
    GiveStates,
    Rescale,
    TakeCheckpoint,
    TakeSavepoint,
)
from firesteel.cluster.process import JobProcess, end_left_over, python_of
from firesteel.cluster.slots import NoResourceAvailableException, expired, may_start
from firesteel.cluster.store import EndedJob, JobRecord, JobStore
from firesteel.cluster.views import ended_view, with_status
from firesteel.common.clock import Clock, SystemClock
from firesteel.common.errors import JobExecutionError
from firesteel.common.exit_codes import ENGINE_LOST
from firesteel.common.job_status import JobStatus
from firesteel.common.logs import logger
from firesteel.common.options import python
from firesteel.jobmanager.checkpoints.removal import dispose_savepoint
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.rescale_view import Bounds
from firesteel.metrics.machines import Machines
from firesteel.monitoring.values import slots_of
from firesteel.rest.answers.failures import cause_of_job
from firesteel.rest.archives.archivist import Archivist
from firesteel.rest.cluster import Log, SavepointOrder, Settings
from firesteel.rest.errors import RestError, bad_request, not_found, unknown_job
from firesteel.rest.messages.additions import JobStates, KeyState
from firesteel.rest.messages.submission import Collected, JobEnd, Submission
from firesteel.rest.news import await_newer
from firesteel.rest.worker_logs import LogsOfAll
from firesteel.runtime.error_report import summary_of
from firesteel.spark.launch import manner_of_end

log = logger(__name__)

_POLL_S: Final = 0.1
_MACHINES_S: Final = 2.0  # how old what is known of the machines may be
_GRACE_S: Final = 20.0  # how long a job may take to cancel itself
_CHORES_S: Final = 1.0
_SWEEP_EVERY: Final = 600  # chores
_LOST_AT_MOST: Final = 3  # how often a process may miss an engine that is there
_RETRY_S: Final = 5.0


class Dispatcher:
    """Implements ``Cluster`` and ``Submissions``.

    :param settings: of the cluster: below those of each job.
    :param shown: the same without secrets.
    :param slot_timeout_ms: how long jobs wait for slots; None: they need not.
    :param confirm: raises once another dispatcher may have taken over; None: there is no other one.
    :param archivist: archives jobs that have ended for the history server; None: nobody does.
    """

    def __init__(
        self,
        directory: Path,
        engine: Engine,
        settings: dict[str, str],
        shown: Settings = (),
        *,
        slot_timeout_ms: int | None = None,
        keep: int | None = None,
        keep_ms: int = 3_600_000,
        clock: Clock | None = None,
        confirm: Callable[[], object] | None = None,
        archivist: Archivist | None = None,
    ) -> None:
        self.stopped = asyncio.Event()
        self._directory = directory
        self._engine = engine
        self._settings = settings
        self._shown = shown
        self._slot_timeout_ms = slot_timeout_ms
        self._keep = keep
        self._keep_ms = keep_ms
        self._clock = clock or SystemClock()
        self._archivist = archivist
        self._store = JobStore(directory, confirm)
        self._has_others = confirm is not None
        self._blobs = BlobStore(directory / "blobs")
        for name in ("logs", "work", "collected"):
            (directory / name).mkdir(0o700, exist_ok=True)
        self._jobs: dict[str, Job] = {}  # in the order in which they came
        self._number = 0
        self._machines = Machines()
        self._asked_ms = -_MACHINES_S * 1000
        self._logs = ClusterLogs(directory / "logs", engine)
        self._all_logs = LogsOfAll(self._logs, self.machines)
        self._engine_is_up = asyncio.Event()
        self._engine_is_up.set()
        self._engine_starts = 1
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False

    # ---- its own life

    def recover(self) -> None:
        """Know the jobs that earlier dispatchers of this directory have left; before ``begin``."""
        oldest_ms = self._clock.now_ms() - self._keep_ms
        ended = filter(None, map(self._store.archived, self._store.archived_ids(oldest_ms)))
        for known in sorted(ended, key=lambda job: job.number):
            self._jobs[known.view.job_id] = Job.that_has_ended(known)
            self._number = max(self._number, known.number)
        for record in self._store.unfinished():
            self._adopt(record)

    def _adopt(self, record: JobRecord) -> Job:
        end_left_over(self._store.place(record.job_id))
        job = self._jobs[record.job_id] = Job(record)
        job.is_cancelled = self._store.is_cancelled(record.job_id)
        self._number = max(self._number, record.number)
        log.info("job is found job=%s name=%s", record.job_id, record.submission.name)
        return job

    def begin(self) -> None:
        """Go on with the jobs that have not ended, and take others."""
        self._later(self._do_chores())
        self._later(self._archive_what_is_missing())
        for job in self._live():
            self._admit(job)

    async def end(self) -> None:
        """End the processes of all jobs. Their jobs go on when the cluster is started again."""
        self._stopping = True
        for job in self._live():
            if job.process is not None:
                job.process.kill()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._logs.close()

    async def shut_down(self) -> None:
        async def cancel_all() -> None:
            for job in self._live():
                await self.cancel(job.id)
            while self._live():
                await asyncio.sleep(_POLL_S)
            self.stopped.set()

        self._later(cancel_all())

    # ---- reading

    @property
    def takes_programs(self) -> bool:
        return True

    @property
    def configuration(self) -> Settings:
        return self._shown

    def jobs(self) -> Sequence[JobView]:
        return [job.view for job in reversed(self._jobs.values())]

    def job(self, job_id: str) -> JobView | None:
        found = self._jobs.get(job_id)
        return None if found is None else found.view

    async def newer(self, job_id: str, version: int, timeout_s: float) -> JobView | None:
        return await await_newer(lambda: self.job(job_id), version, timeout_s, self._clock)

    async def machines(self) -> Machines:
        now_ms = self._clock.now_ms()
        if now_ms - self._asked_ms >= _MACHINES_S * 1000 and self._engine_is_up.is_set():
            self._asked_ms = now_ms  # before asking: requests that come meanwhile take the old
            try:
                self._machines = await asyncio.to_thread(self._engine.machines)
            except Exception as e:  # of Spark, which may be ending
                log.warning("the executors are not known: %s", summary_of(e))
                self._machines = Machines()
        return self._machines

    async def data_sets(self) -> Sequence[str]:
        return ()

    async def logs(self, worker_id: str | None) -> Sequence[Log]:
        return await self._all_logs.all(worker_id)

    async def log(self, worker_id: str | None, name: str) -> Path | str | None:
        return await self._all_logs.read(worker_id, name)

    # ---- orders

    async def cancel(self, job_id: str) -> None:
        job = self._known(job_id)
        if job.has_ended:
            return
        if not job.is_cancelled:
            job.is_cancelled = True
            # Whoever is told that the job is cancelled may rely on it.
            await asyncio.to_thread(self._store.cancel, job_id)
        if job.process is not None and job.has_reported:
            job.process.tell(Cancel())
            self._later(self._kill_after(job, _GRACE_S))
        elif job.process is not None:
            job.process.kill()
        elif job.waits:
            await self._finish(job, EndedJob(ended_view(job.view, JobStatus.CANCELED, self._clock.now_ms())))

    async def savepoint(self, job_id: str, order: SavepointOrder) -> str:
        path = await self._ask(job_id, lambda number: TakeSavepoint(number, order))
        if order.cancel:
            await self.cancel(job_id)
        return str(path)

    async def checkpoint(self, job_id: str) -> int:
        return int(await self._ask(job_id, TakeCheckpoint))

    async def rescale(self, job_id: str, wanted: Mapping[str, Bounds]) -> None:
        job = self._known(job_id)
        if job.process is None or not job.has_reported:
            raise bad_request(f"Job {job_id} does not run.")
        await asyncio.to_thread(self._store.require, job_id, wanted)
        if job.process is not None:  # else the next process begins with it
            job.process.tell(Rescale(dict(wanted)))

    async def accumulators(self, job_id: str) -> dict[str, str]:
        job = self._known(job_id)
        if job.ended is not None:
            return job.ended.shown
        if job.process is None or not job.has_reported:
            return {}
        return msgspec.convert(await job.process.ask(GiveAccumulators), dict[str, str])

    async def states(self, job_id: str) -> JobStates:
        return msgspec.convert(await self._ask(job_id, GiveStates), JobStates)

    async def key_state(self, job_id: str, operator: str, state: str, key: str) -> KeyState:
        answer = await self._ask(job_id, lambda number: GiveKeyState(number, operator, state, key))
        return msgspec.convert(answer, KeyState)

    async def dispose_savepoint(self, path: str) -> None:
        await asyncio.to_thread(dispose_savepoint, path)

    async def drop_data_set(self, data_set_id: str) -> None:
        raise not_found(f"There is no data set {data_set_id}: the jobs of a session cluster keep none.")

    def client_lives(self, job_id: str, until_ms: int) -> None:
        job = self._known(job_id)
        if job.client_until_ms is not None:
            job.client_until_ms = max(job.client_until_ms, until_ms)

    # ---- submissions

    def missing(self, digests: Sequence[str]) -> list[str]:
        return [digest for digest in digests if not self._blobs.has(digest)]

    async def receive(self, digest: str, parts: AsyncIterator[bytes]) -> None:
        await self._blobs.receive(parts, digest)

    async def submit(self, submission: Submission) -> None:
        known = self._jobs.get(submission.job_id)
        if known is not None and known.is_of(submission):  # the client has not heard the answer
            await known.persisted.wait()
            return
        if known is not None or self._store.is_archived(submission.job_id):
            raise RestError(409, f"There is a job {submission.job_id} already. Give this one another id.")
        missing = self.missing([submission.program, *(file.digest for file in submission.files)])
        if missing:
            raise RestError(409, f"These files of the job are not there, hand them in first: {missing}")
        self._number += 1
        record = JobRecord(submission, self._number, self._clock.now_ms())
        job = self._jobs[submission.job_id] = Job(record, persisted=False)
        try:
            await asyncio.to_thread(self._store.add, record)
        except BaseException:
            del self._jobs[submission.job_id]
            raise
        job.persisted.set()
        log.info("job is taken job=%s name=%s", job.id, submission.name)
        self._admit(job)

    def end_of(self, job_id: str) -> JobEnd:
        job = self._known(job_id)
        view = job.view
        if job.ended is None:
            return JobEnd(status=view.status.name, ended=False)
        failed = view.status is JobStatus.FAILED
        return JobEnd(
            status=view.status.name,
            ended=True,
            runtime_ms=(view.ended_ms or view.published_ms) - view.started_ms,
            accumulators=base64.b64encode(job.ended.accumulators).decode(),
            failure_cause=cause_of_job(view.exceptions[-1] if view.exceptions else None) if failed else UNSET,
        )

    async def collected(
        self, job_id: str, sink: str, generation: int, first: int, timeout_s: float
    ) -> Collected:
        job = self._known(job_id)
        found: Blocks | None = None
        if job.has_ended:
            file = self._directory / "collected" / f"{job_id}-{sink}"
            found = await asyncio.to_thread(left_over, file, generation, first)
            found = found or Blocks(generation, first, [], True)
        elif job.process is not None and job.process.runs:
            try:
                answer = await job.process.ask(
                    lambda number: GiveCollected(number, sink, generation, first, timeout_s)
                )
                found = None if answer is None else msgspec.msgpack.decode(answer, type=Blocks)
            except JobExecutionError:  # it ends; the client asks again
                await asyncio.sleep(_POLL_S)
        else:
            await asyncio.sleep(min(timeout_s, 0.5))
        found = found or Blocks(generation, first, [], False)
        return Collected(
            generation=found.generation,
            first=found.first,
            batches=[as_text(block) for block in found.blocks],
            ended=found.ended and job.has_ended,
        )

    # ---- the life of a job

    def _admit(self, job: Job) -> None:
        """Start it now, or let it wait for slots."""
        if self._slot_timeout_ms is None:
            self._start(job)
        else:
            job.waits_since_ms = self._clock.now_ms()
            job.show(with_status(job.view, JobStatus.CREATED, self._clock.now_ms()))

    def _start(self, job: Job) -> None:
        job.waits_since_ms = None
        job.starts = True
        self._later(self._live_through(job))

    async def _live_through(self, job: Job) -> None:
        """Give it processes until it has ended."""
        lost = 0
        try:
            while not self._stopping:
                ended = await asyncio.to_thread(self._store.end_of, job.id)
                if ended is None and job.is_cancelled:
                    ended = EndedJob(ended_view(job.view, JobStatus.CANCELED, self._clock.now_ms()))
                if ended is not None:
                    await self._finish(job, ended)
                    return
                if not self._engine_is_up.is_set():
                    await self._engine_is_up.wait()
                    continue
                starts = self._engine_starts
                code, process = await self._run_once(job)
                if process.goes_on or await asyncio.to_thread(self._store.end_of, job.id) is not None:
                    continue
                if code == ENGINE_LOST and lost < _LOST_AT_MOST:
                    await self._look_at_engine()
                    await self._engine_is_up.wait()
                    lost = 0 if self._engine_starts > starts else lost + 1
                    continue
                if not job.is_cancelled and not self._stopping:
                    await self._finish(job, self._crashed(job, code))
                    return
        except Exception as e:  # nothing may leave a job without an end
            log.error("a job cannot be run job=%s", job.id, exc_info=e)
            await self._finish(job, EndedJob(ended_view(job.view, JobStatus.FAILED, self._clock.now_ms(), e)))

    async def _run_once(self, job: Job) -> tuple[int, JobProcess]:
        """One process of a job, from its start to its end."""
        job.new_generation(self._clock.now_ms())
        settings = self._settings | job.record.submission.settings
        wanted = await asyncio.to_thread(self._store.wanted, job.id)
        begin = Begin(job.record, str(self._directory), self._settings, job.generation, wanted)
        process = job.process = JobProcess(
            begin,
            self._engine.platform,
            python_of(settings, python.CLIENT_EXECUTABLE.key, python.EXECUTABLE.key),
            self._engine.variables(),
            job.report,
        )
        try:
            code = await process.run()
        except OSError as e:
            raise JobExecutionError(
                f"The process of job {job.id} cannot be started", detail=str(e), job_id=job.id
            ) from e
        finally:
            job.process = None
        log.info("the process of a job has ended job=%s code=%d", job.id, code)
        await asyncio.to_thread(self._engine.end_job, job.id)
        return code, process

    def _crashed(self, job: Job, code: int) -> EndedJob:
        """Its process has ended without a word."""
        error = JobExecutionError(
            f"The process of job {job.id} {manner_of_end(code)}.",
            job_id=job.id,
            detail="the program's own code ran there: sources, committers, accumulators",
            hint=f"see the end of logs/job-{job.id}.log and .out",
        )
        return EndedJob(ended_view(job.view, JobStatus.FAILED, self._clock.now_ms(), error))

    async def _finish(self, job: Job, ended: EndedJob) -> None:
        """The job has ended: first on disk, then for everybody."""
        if job.has_ended:
            return
        ended = msgspec.structs.replace(ended, number=job.record.number)
        await asyncio.to_thread(self._store.archive, ended)
        job.end(ended)
        log.info("job has ended job=%s status=%s", job.id, ended.view.status.name)
        if self._archivist is not None:
            machines = await self.machines()
            await asyncio.to_thread(self._archivist.archive, ended.view, ended.shown, machines)
        await asyncio.to_thread(shutil.rmtree, self._directory / "work" / job.id, ignore_errors=True)

    async def _archive_what_is_missing(self) -> None:
        """The dispatcher before this one may have died between the end of a job and its archive."""
        if self._archivist is None:
            return
        for ended in [job.ended for job in self._jobs.values() if job.ended is not None]:
            await asyncio.to_thread(self._archivist.archive_if_missing, ended.view, ended.shown)

    async def _kill_after(self, job: Job, seconds: float) -> None:
        """The last resort for a job that does not end though it was told to."""
        process = job.process
        await asyncio.sleep(seconds)
        if process is not None and process is job.process:
            log.warning("a job does not end when it is cancelled, and is killed job=%s", job.id)
            process.kill()

    async def _ask(self, job_id: str, make: Any) -> Any:
        job = self._known(job_id)
        if job.has_ended:
            raise JobExecutionError(f"Job {job_id} has ended: it is {job.view.status.name}.", job_id=job_id)
        if job.process is None or not job.process.runs:
            raise JobExecutionError(
                f"Job {job_id} does not run yet: it is {job.view.status.name}.",
                job_id=job_id,
                hint="try again in some seconds",
            )
        return await job.process.ask(make)

    # ---- chores

    async def _do_chores(self) -> None:
        count = 0
        while True:
            count += 1
            try:
                await self._look_at_engine()
                await self._give_slots()
                await self._look_for_clients()
                self._drop_old()
                if count % _SWEEP_EVERY == 1:
                    await self._sweep()
                if self._has_others:
                    await self._adopt_others()
            except Exception as e:  # the next time perhaps not
                log.warning("chores: %s", summary_of(e), exc_info=e)
            await asyncio.sleep(_CHORES_S)

    async def _adopt_others(self) -> None:
        """Take the jobs that a dispatcher before this one has taken when it led no more, and did not know."""
        for record in await asyncio.to_thread(self._store.others, frozenset(self._jobs)):
            if record.job_id not in self._jobs:
                self._admit(self._adopt(record))

    async def _look_at_engine(self) -> None:
        manner = await asyncio.to_thread(self._engine.manner_of_death)
        if manner is None or not self._engine_is_up.is_set():
            return
        log.error("the JVM of Spark %s; another one is started", manner)
        self._engine_is_up.clear()
        for job in self._live():
            if job.process is not None:
                job.process.goes_on = True
                job.process.kill()
        while True:
            try:
                await asyncio.to_thread(self._engine.start)
                break
            except Exception as e:
                log.error("Spark does not start: %s", summary_of(e))
                await asyncio.sleep(_RETRY_S)
        self._engine_starts += 1
        self._engine_is_up.set()
        log.info("Spark runs again")

    async def _give_slots(self) -> None:
        if self._slot_timeout_ms is None:
            return
        live = self._live()
        waiting = {job.id: job.waits_since_ms for job in live if job.waits_since_ms is not None}
        if not waiting:
            return
        machines = await self.machines()
        # Spark adds executors for tasks that wait, and the tasks of a job that waits are not there yet.
        total = machines.slots + machines.slots_to_come
        taken = sum(slots_of(job.view) for job in live if job.starts)
        wanted = [(job_id, slots_of(self._jobs[job_id].view)) for job_id in waiting]
        for job_id in may_start(total, taken, wanted):
            del waiting[job_id]
            self._start(self._jobs[job_id])
        now_ms = self._clock.now_ms()
        for job_id in expired(waiting, self._slot_timeout_ms, now_ms):
            job = self._jobs[job_id]
            error = NoResourceAvailableException(slots_of(job.view), total, self._slot_timeout_ms)
            await self._finish(job, EndedJob(ended_view(job.view, JobStatus.FAILED, now_ms, error)))

    async def _look_for_clients(self) -> None:
        now_ms = self._clock.now_ms()
        for job in self._live():
            if job.client_until_ms is not None and job.client_until_ms < now_ms and not job.is_cancelled:
                log.warning("the client of a job is gone, and the job is cancelled job=%s", job.id)
                await self.cancel(job.id)

    async def _sweep(self) -> None:
        used = set()
        for job in self._live():
            submission = job.record.submission
            used |= {submission.program, *(file.digest for file in submission.files)}
        await asyncio.to_thread(self._blobs.sweep, used)
        for file in (self._directory / "collected").iterdir():
            if file.name[:32] not in self._jobs:
                file.unlink(missing_ok=True)

    def _drop_old(self) -> None:
        """Forget ended jobs that are too many, or too old; the archive has them."""
        oldest_ms = self._clock.now_ms() - self._keep_ms
        ended = [job for job in self._jobs.values() if job.has_ended]
        excess = 0 if self._keep is None else len(ended) - self._keep
        for position, job in enumerate(ended):
            if position < excess or job.ended_ms < oldest_ms:
                del self._jobs[job.id]

    # ---- inside

    def _live(self) -> list[Job]:
        return [job for job in self._jobs.values() if not job.has_ended and job.persisted.is_set()]

    def _known(self, job_id: str) -> Job:
        found = self._jobs.get(job_id)
        if found is None:
            raise unknown_job(job_id)
        return found

    def _later(self, coroutine: Any) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
