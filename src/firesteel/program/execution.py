"""What runs programs, as the packages see it that write them (Flink: ``PipelineExecutor``).

The doors know the protocol alone. The engine registers its executor when its module is imported, and that
happens at the first call of ``get_executor``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from firesteel.common.clock import Clock
from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.program.execution_mode import RuntimeExecutionMode
from firesteel.program.sinks import Committer, CommitterContext
from firesteel.program.spark_tables import SparkTables, SparkTarget, StagedFrame
from firesteel.program.transformations import SinkTransformation, Transformation

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_ENGINE: Final = "firesteel.jobmanager.executor"


AttachStaging: TypeAlias = "Callable[[str], pa.Schema]"


class Environment(Protocol):
    """What an executor uses of the environment that a program was built in."""

    @property
    def configuration(self) -> Configuration: ...

    @property
    def transformations(self) -> Sequence[Transformation]:
        """The program so far."""

    @property
    def clock(self) -> Clock | None:
        """The clock of its jobs; None: that of the machine."""

    @property
    def spark(self) -> SparkSession | None:
        """The session to run in; None: the active one, or a new one."""

    def get_parallelism(self) -> int: ...

    def get_max_parallelism(self) -> int:
        """Below 1: to be computed for each operator."""

    def get_runtime_mode(self) -> RuntimeExecutionMode: ...

    def is_chaining_enabled(self) -> bool: ...

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool: ...

    def _add(self, transformation: Transformation) -> None:
        """Add an operation to the program."""

    def _take_program(self) -> Sequence[Transformation]:
        """The whole program; that of the environment is empty from then on."""


class Executor(Protocol):
    """Runs programs. A job name of None stands for a name by the runtime mode."""

    def execute(
        self, env: Environment, transformations: Sequence[Transformation], job_name: str | None
    ) -> JobExecutionResult:
        """Run the program and wait for its end.

        :raises JobExecutionError: the job failed.
        """

    def execute_async(
        self, env: Environment, transformations: Sequence[Transformation], job_name: str | None
    ) -> JobClient:
        """Start the program."""

    def collect(
        self,
        env: Environment,
        transformations: Sequence[Transformation],
        job_name: str | None,
        sink: SinkTransformation,
    ) -> Iterator[object]:
        """Start the program and give the records that come to ``sink``, its last transformation. Closing the
        iterator ends the job. It may be ``Arriving``."""

    def stream_graph(self, env: Environment) -> object:
        """The program as a ``firesteel.graph`` stream graph. Starts nothing."""

    def execution_plan(self, env: Environment) -> str:
        """The program as JSON in the form of Flink's execution plan. Starts nothing."""

    def graph_svg(self, env: Environment, end: Transformation) -> str:
        """The job graph of what leads to ``end``, as SVG. Starts nothing.

        :raises ProgramError: a program with it cannot work.
        """

    def from_spark(self, env: Environment, frame: DataFrame) -> StagedFrame:
        """Have Spark write the rows of ``frame``, for sources to read."""

    def spark_tables(self, env: Environment) -> SparkTables:
        """The tables of the session that the program would run in, which is started if there is none."""

    def to_spark(self, env: Environment, attach: AttachStaging) -> DataFrame:
        """Run the program with what ``attach`` adds, and return the rows that it has written.

        :param attach: given a directory, adds a sink that writes Parquet files there; returns the columns of
            the files.
        """

    def table_committer(self, target: SparkTarget, context: CommitterContext) -> Committer:
        """What commits the batches of ``write_spark``; called on the driver while a job runs."""

    def add_bootstrap(self, pickled: bytes) -> None:
        """Add a pickled callable that each worker process calls before it unpacks the code of a job."""


class Arrived(NamedTuple):
    """
    :ivar records: what is to be read next.
    :ivar ended: there are no others.
    :ivar failure: what the job ended with, if it failed.
    """

    records: list[Any]
    ended: bool
    failure: BaseException | None = None


@runtime_checkable
class Arriving(Protocol):
    """Records of a job that can be looked at before they are read."""

    def arrived(self, count: int, wait_s: float | None) -> Arrived:
        """The next *count* records, or those that come within *wait_s* seconds (None: until there are so
        many, or the job has ended). They are still there to be read."""


@dataclass(frozen=True, slots=True)
class KnownJob:
    """A job as lists have it."""

    job_id: str
    name: str
    status: str
    started_ms: int


@runtime_checkable
class KnowsJobs(Protocol):
    """What an executor may be as well: one that knows the jobs that it, or its cluster, has started."""

    def known_jobs(self) -> Sequence[KnownJob]:
        """The jobs that run, and those that have ended of late, the youngest first."""

    def job_client(self, job_id: str) -> JobClient | None:
        """What controls a job; None: there is none of this id."""


_engine: Executor | None = None  # what the engine has registered
_chosen: Executor | None = None  # what runs programs instead of it


def register_engine(executor: Executor) -> None:
    """Make ``executor`` the one that runs programs unless another one is chosen."""
    global _engine
    _engine = executor


def get_executor() -> Executor:
    """The executor of this process: the chosen one, else that of the engine, which is imported now."""
    if _chosen is not None:
        return _chosen
    if _engine is None:
        importlib.import_module(_ENGINE)
    assert _engine is not None, f"{_ENGINE} has registered no executor"
    return _engine


def set_executor(executor: Executor | None) -> Executor | None:
    """Choose another executor (None: that of the engine); returns the one chosen before."""
    global _chosen
    previous, _chosen = _chosen, executor
    return previous
