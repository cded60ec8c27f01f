"""The jobs of this process as a cluster: application mode."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from firesteel.common.clock import Clock, SystemClock
from firesteel.common.logs import logger
from firesteel.jobmanager.checkpoints.removal import dispose_savepoint
from firesteel.jobmanager.executor import Executor
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.requests import SavepointRequest
from firesteel.jobmanager.rescale_view import Bounds
from firesteel.metrics.machines import Machines
from firesteel.rest.answers.states import job_states, key_state
from firesteel.rest.cluster import Log, SavepointOrder, Settings
from firesteel.rest.errors import unknown_job
from firesteel.rest.logs import DriverLogs
from firesteel.rest.messages.additions import JobStates, KeyState
from firesteel.rest.news import await_newer
from firesteel.rest.shown import shown_value
from firesteel.rest.worker_logs import LogsOfAll
from firesteel.runtime.error_report import summary_of

log = logger(__name__)

_MACHINES_S: Final = 2.0  # how old what is known of the machines may be


class LocalCluster:
    """Implements ``Cluster`` for what an executor of this process runs.

    :param settings: as sorted pairs, without secrets.
    :param keep: how many ended jobs are known, ``keep_ms``: for how long after their end.
    """

    def __init__(
        self,
        executor: Executor,
        settings: Settings = (),
        *,
        keep: int | None = None,
        keep_ms: int = 3_600_000,
        clock: Clock | None = None,
    ) -> None:
        self._executor = executor
        self._settings = settings
        self._keep = keep
        self._keep_ms = keep_ms
        self._clock = clock or SystemClock()
        self._jobs: dict[str, JobGateway] = {}  # in the order in which they were started
        self._lock = threading.Lock()
        self._machines = Machines()
        self._asked_s = float("-inf")  # when ``_machines`` was made
        self._logs = DriverLogs(self._spark_log)
        self._all_logs = LogsOfAll(self._logs, self.machines)
        executor.jobs.watch(self._started)

    def close(self) -> None:
        self._executor.jobs.unwatch(self._started)
        self._logs.close()

    # ---- reading

    @property
    def takes_programs(self) -> bool:
        return False

    @property
    def configuration(self) -> Settings:
        return self._settings

    def jobs(self) -> Sequence[JobView]:
        self._drop_old()
        with self._lock:
            known = list(self._jobs.values())
        return [_view(job) for job in reversed(known)]

    def job(self, job_id: str) -> JobView | None:
        found = self._jobs.get(job_id)
        return None if found is None else _view(found)

    async def newer(self, job_id: str, version: int, timeout_s: float) -> JobView | None:
        return await await_newer(lambda: self.job(job_id), version, timeout_s, self._clock)

    async def machines(self) -> Machines:
        if time.monotonic() - self._asked_s >= _MACHINES_S and self._jobs:
            self._asked_s = time.monotonic()  # before asking: requests that come meanwhile take the old
            try:
                self._machines = await asyncio.to_thread(self._executor.platform.machines)
            except Exception as e:  # of Spark, which may be ending: the pages of jobs need it least
                log.warning("the executors are not known: %s", summary_of(e))
                self._machines = Machines()
        return self._machines

    async def data_sets(self) -> Sequence[str]:
        return await asyncio.to_thread(self._executor.data_sets.ids)

    async def logs(self, worker_id: str | None) -> Sequence[Log]:
        return await self._all_logs.all(worker_id)

    async def log(self, worker_id: str | None, name: str) -> Path | str | None:
        return await self._all_logs.read(worker_id, name)

    # ---- orders

    async def cancel(self, job_id: str) -> None:
        job = self._job(job_id)
        # It waits for the epoch, and no thread of the loop's may be kept by that.
        threading.Thread(target=job.cancel, name="firesteel-cancel", daemon=True).start()

    async def savepoint(self, job_id: str, order: SavepointOrder) -> str:
        job = self._job(job_id)
        request = SavepointRequest(order.directory, stop=order.stop, drain=order.drain)
        path = await asyncio.wrap_future(job.savepoint(request))
        if order.cancel:
            await self.cancel(job_id)
        return path

    async def checkpoint(self, job_id: str) -> int:
        return await asyncio.wrap_future(self._job(job_id).checkpoint())

    async def rescale(self, job_id: str, wanted: Mapping[str, Bounds]) -> None:
        told = self._job(job_id).rescale(wanted)
        told.add_done_callback(lambda answer: answer.exception())  # the view of the job says what came of it

    async def accumulators(self, job_id: str) -> dict[str, str]:
        values = await asyncio.wrap_future(self._job(job_id).accumulators())
        return {name: shown_value(value) for name, value in values.items()}

    async def states(self, job_id: str) -> JobStates:
        return await asyncio.wrap_future(self._job(job_id).look(job_states))

    async def key_state(self, job_id: str, operator: str, state: str, key: str) -> KeyState:
        return await asyncio.wrap_future(self._job(job_id).look(key_state(operator, state, key)))

    async def dispose_savepoint(self, path: str) -> None:
        await asyncio.to_thread(dispose_savepoint, path)

    async def drop_data_set(self, data_set_id: str) -> None:
        await asyncio.to_thread(self._executor.data_sets.drop, data_set_id)

    def client_lives(self, job_id: str, until_ms: int) -> None:
        """Its client is this process."""

    async def shut_down(self) -> None:
        threading.Thread(target=self._executor.cancel_all, name="firesteel-shut-down", daemon=True).start()

    # ---- inside

    def _started(self, job: JobGateway) -> None:
        """Called in the thread that starts the job."""
        with self._lock:
            self._jobs[str(job.job_id)] = job

    def _job(self, job_id: str) -> JobGateway:
        found = self._jobs.get(job_id)
        if found is None:
            raise unknown_job(job_id)
        return found

    def _spark_log(self) -> Path | None:
        return self._executor.platform.log if self._jobs else None

    def _drop_old(self) -> None:
        """Forget ended jobs that are too many, or too old."""
        oldest_ms = self._clock.now_ms() - self._keep_ms
        with self._lock:
            ended = [(job_id, job) for job_id, job in self._jobs.items() if job.outcome is not None]
            excess = 0 if self._keep is None else len(ended) - self._keep
            for position, (job_id, job) in enumerate(ended):
                if position < excess or (job.view.ended_ms or oldest_ms) < oldest_ms:
                    del self._jobs[job_id]


def _view(job: JobGateway) -> JobView:
    """The newest view of a job. A thread that ended without one for that is a mistake of ours; it shows."""
    view, outcome = job.view, job.outcome
    if outcome is None or view.status.is_terminal_state():
        return view
    return replace(
        view, version=view.version + 1, status=outcome.status, ended_ms=view.ended_ms or view.published_ms
    )
