"""What handlers know of a cluster. They read immutable views and give orders; they never touch a job.

``LocalCluster`` (``local.py``) has the jobs of this process. A dispatcher whose jobs are processes of their
own implements the same: views and orders are plain data, which can be sent as msgpack.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from firesteel.jobmanager.job_view import JobInfo, JobView
from firesteel.jobmanager.rescale_view import Bounds
from firesteel.metrics.machines import Machines
from firesteel.rest.messages.additions import JobStates, KeyState
from firesteel.rest.messages.submission import Collected, JobEnd, Submission

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


class UploadedProgram(msgspec.Struct, frozen=True):
    """:param entries: what of it can be run."""

    id: str
    name: str
    uploaded_ms: int
    entries: tuple[str, ...] = ()


class ProgramRun(msgspec.Struct, frozen=True):
    """How to run a program that was handed in.

    :param entry: a module, ``module:function``, or a file of an archive; None: what it is made for.
    """

    entry: str | None = None
    arguments: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    job_id: str | None = None


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

    async def rescale(self, job_id: str, wanted: Mapping[str, Bounds]) -> None:
        """Tell a job which parallelism its vertices are to have. Returns when it has been told."""

    async def accumulators(self, job_id: str) -> dict[str, str]:
        """The values of all accumulators as text, as of the last committed epoch."""

    async def states(self, job_id: str) -> JobStates:
        """The states of a job, as of the last committed epoch."""

    async def key_state(self, job_id: str, operator: str, state: str, key: str) -> KeyState:
        """What a state holds for a key.

        :raises FiresteelError: the operator has no such state, or the job does not run.
        """

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

    def client_lives(self, job_id: str, until_ms: int) -> None:
        """The client of a job says that it lives, and will say so again before ``until_ms``."""

    async def shut_down(self) -> None:
        """Stop all jobs, and the cluster."""


class Submissions(Protocol):
    """Takes jobs. Called as ``Cluster`` is."""

    def missing(self, digests: Sequence[str]) -> list[str]:
        """Those of the blobs that are not there; the others stay for a while."""

    async def receive(self, digest: str, parts: AsyncIterator[bytes]) -> None:
        """Keep a blob."""

    async def submit(self, submission: Submission) -> None:
        """Returns when the job is on disk. The same submission again is the same job."""

    def end_of(self, job_id: str) -> JobEnd:
        """How a job has ended."""

    async def collected(
        self, job_id: str, sink: str, generation: int, first: int, timeout_s: float
    ) -> Collected:
        """What a sink has collected: of a process of the job from the batch ``first`` on; all, if another one
        has the job now."""


class Programs(Protocol):
    """Keeps programs that were handed in, and runs them. Called as ``Cluster`` is."""

    def all(self) -> Sequence[UploadedProgram]: ...

    async def upload(self, name: str, parts: AsyncIterator[bytes]) -> str:
        """The id of the program."""

    def delete(self, program_id: str) -> None: ...

    async def plan(self, program_id: str, run: ProgramRun) -> JobInfo:
        """The first job of a program, which does not run."""

    async def run(self, program_id: str, run: ProgramRun) -> str:
        """The id of the first job of a program, when it has been submitted."""


class SqlGateway(Protocol):
    """Sessions of SQL. Called as ``Cluster`` is; raises RestError where there is no such session."""

    async def open(self, name: str | None, properties: Mapping[str, str]) -> str:
        """A new session; its handle."""

    async def close(self, handle: str) -> None: ...

    def touch(self, handle: str) -> None:
        """Somebody uses the session."""

    async def ask(self, handle: str, what: str, **given: Any) -> Any:
        """The answer of a session.

        :raises ReportedError: what it has failed with.
        """
