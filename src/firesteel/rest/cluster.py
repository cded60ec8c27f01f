"""What handlers know of a cluster. They read immutable views and give orders; they never touch a job.

``LocalCluster`` (``local.py``) has the jobs of this process. A dispatcher whose jobs are processes of their
own implements the same: views and orders are plain data, which can be sent as msgpack.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from firesteel.jobmanager.job_view import JobView
from firesteel.metrics.machines import Machines

Settings = tuple[tuple[str, str], ...]


class SavepointOrder(msgspec.Struct, frozen=True):
    """Take a savepoint.

    :param directory: None: the configured one.
    :param stop: the job ends with it; ``drain``: before that its sources end.
    :param cancel: the job is cancelled when the savepoint is there.
    """

    directory: str | None = None
    stop: bool = False
    drain: bool = False
    cancel: bool = False


class Log(msgspec.Struct, frozen=True):
    """A text that grows: a file, or what a process keeps in memory."""

    name: str
    size: int
    modified_ms: int


class Cluster(Protocol):
    """All methods are called in the event loop of the server. Those that are not ``async`` answer at once.

    What a job refuses, or fails with, the methods raise.
    """

    @property
    def takes_programs(self) -> bool:
        """Whether programs can be handed in; if not, it has the jobs of one program."""

    @property
    def configuration(self) -> Settings:
        """The settings of the cluster as sorted pairs, without secrets."""

    def jobs(self) -> Sequence[JobView]:
        """The newest view of each job that is known, ended ones too, the youngest job first."""

    def job(self, job_id: str) -> JobView | None:
        """The newest view of a job; None: there is none of that id."""

    async def newer(self, job_id: str, version: int, timeout_s: float) -> JobView | None:
        """A view that is newer than ``version``; None: there was none in time."""

    async def cancel(self, job_id: str) -> None:
        """Tell a job to stop where it is. Returns when it has been told, not when it has ended."""

    async def savepoint(self, job_id: str, order: SavepointOrder) -> str:
        """The path of the savepoint, when it is there."""

    async def checkpoint(self, job_id: str) -> int:
        """The number of the checkpoint, when it is there."""

    async def accumulators(self, job_id: str) -> dict[str, str]:
        """The values of all accumulators as text, as of the last committed epoch."""

    async def dispose_savepoint(self, path: str) -> None: ...

    async def machines(self) -> Machines:
        """The processes that run tasks; may be some seconds old."""

    async def data_sets(self) -> Sequence[str]:
        """The ids of the kept streams."""

    async def drop_data_set(self, data_set_id: str) -> None: ...

    async def logs(self, worker_id: str | None) -> Sequence[Log]:
        """The logs of the driver (None), or of a worker."""

    async def log(self, worker_id: str | None, name: str) -> Path | str | None:
        """The file, or the text, of a log; None: ``logs`` has none of that name."""

    async def shut_down(self) -> None:
        """Stop all jobs, and the cluster."""
