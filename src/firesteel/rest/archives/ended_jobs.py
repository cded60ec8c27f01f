"""Jobs that have ended, as a cluster: it is read, and nothing can be ordered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.rescale_view import Bounds
from firesteel.metrics.machines import Machines
from firesteel.rest.cluster import Log, SavepointOrder, Settings
from firesteel.rest.errors import RestError, unknown_job
from firesteel.rest.messages.additions import JobStates, KeyState


class EndedJobs:
    """Implements ``Cluster``.

    :param accumulators: as text, by job and name.
    :param machines: that have run them, as far as they are known.
    """

    def __init__(
        self,
        views: Mapping[str, JobView],
        accumulators: Mapping[str, Mapping[str, str]],
        settings: Settings = (),
        machines: Machines | None = None,
    ) -> None:
        self._views = views
        self._accumulators = accumulators
        self._settings = settings
        self._machines = machines or Machines()

    @property
    def takes_programs(self) -> bool:
        return False

    @property
    def configuration(self) -> Settings:
        return self._settings

    def jobs(self) -> Sequence[JobView]:
        return sorted(self._views.values(), key=lambda view: view.started_ms, reverse=True)

    def job(self, job_id: str) -> JobView | None:
        return self._views.get(job_id)

    async def newer(self, job_id: str, version: int, timeout_s: float) -> JobView | None:
        await asyncio.sleep(timeout_s)
        return None

    async def accumulators(self, job_id: str) -> dict[str, str]:
        return dict(self._accumulators.get(job_id, {}))

    async def machines(self) -> Machines:
        return self._machines

    async def data_sets(self) -> Sequence[str]:
        return ()

    async def logs(self, worker_id: str | None) -> Sequence[Log]:
        return ()

    async def log(self, worker_id: str | None, name: str) -> Path | str | None:
        return None

    # ---- orders

    async def cancel(self, job_id: str) -> None:
        self._refuse(job_id)

    async def savepoint(self, job_id: str, order: SavepointOrder) -> str:
        self._refuse(job_id)

    async def checkpoint(self, job_id: str) -> int:
        self._refuse(job_id)

    async def states(self, job_id: str) -> JobStates:
        self._refuse(job_id)

    async def key_state(self, job_id: str, operator: str, state: str, key: str) -> KeyState:
        self._refuse(job_id)

    async def rescale(self, job_id: str, wanted: Mapping[str, Bounds]) -> None:
        self._refuse(job_id)

    async def dispose_savepoint(self, path: str) -> None:
        raise _read_only()

    async def drop_data_set(self, data_set_id: str) -> None:
        raise _read_only()

    def client_lives(self, job_id: str, until_ms: int) -> None:
        self._refuse(job_id)

    async def shut_down(self) -> None:
        raise _read_only()

    def _refuse(self, job_id: str) -> NoReturn:
        raise unknown_job(job_id) if job_id not in self._views else _read_only()


def _read_only() -> RestError:
    return RestError(405, "A history server shows jobs that have ended. Ask the cluster that runs jobs.")
