"""A cluster for tests of whole jobs: a Spark session of its own, or a stand-in in this process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self

from firesteel.common.clock import Clock
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.jobmanager.executor import Executor
from firesteel.program.checks import require_int
from firesteel.program.execution import set_executor
from firesteel.testing.local_platform import AlternatingEngine, LocalPlatform

__all__ = ["MiniCluster"]


class MiniCluster:
    """While it runs, every program of this process runs on it (Flink: ``MiniClusterWithClientResource``).

    :param master: ``local[2,4]`` (threads of one JVM, two at a time; a task is tried four times) or
        ``local-cluster[2,1,1024]`` (two executors of one core and 1024 MB each, as on a cluster).
    :param conf: further settings of the Spark session.

    Jobs without end run in epochs where there are too few threads or cores for real time, as by default, and
    the log says so. A cluster ``in_process`` runs them in epochs unless ``execution.mode`` is ``real-time``.

    There can be no other Spark session beside it; a cluster ``in_process`` takes its place until that one
    stops. When it stops, its jobs are cancelled, and its Python workers, executors and JVM end.

    >>> with MiniCluster.in_process() as cluster:
    ...     env = cluster.environment(parallelism=2)
    ...     sorted(env.from_sequence(1, 4).map(lambda n: n * n).execute_and_collect())
    [1, 4, 9, 16]
    """

    def __init__(self, master: str = "local[2,4]", *, conf: Mapping[str, str] | None = None) -> None:
        self._deploy: Callable[[], AbstractContextManager[Any]] = partial(_on_spark, master, dict(conf or {}))
        self._running: ExitStack | None = None
        self._platform: Any = None

    @classmethod
    def in_process(cls, processes: int = 2) -> MiniCluster:
        """The same tasks and rows without Spark, in this process: a job takes milliseconds.

        :param processes: how many worker processes it plays; they take the epochs in turn.
        """
        require_int(processes, "number of processes", 1)
        cluster = cls()
        cluster._deploy = partial(_here, processes)
        return cluster

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> Self:
        if self._running is not None:
            raise ProgramError("The cluster runs already.", hint="stop() it before it is started again")
        with ExitStack() as starting:
            self._platform = starting.enter_context(self._deploy())
            executor = Executor(lambda: self._platform)
            starting.callback(set_executor, set_executor(executor))
            starting.callback(executor.close)
            self._running = starting.pop_all()
        return self

    def stop(self) -> None:
        """Cancel what runs and end all processes; nothing happens when it does not run."""
        running, self._running = self._running, None
        self._platform = None
        if running is not None:
            running.close()

    def environment(
        self,
        configuration: Configuration | None = None,
        *,
        parallelism: int = 2,
        clock: Clock | None = None,
    ) -> StreamExecutionEnvironment:
        """A new environment; those that a program makes itself run on the cluster too.

        :param clock: the clock of its jobs, for example a ``ManualClock``.
        """
        self._require_running()
        env = StreamExecutionEnvironment.get_execution_environment(configuration, clock=clock)
        env.set_parallelism(parallelism)
        return env

    @property
    def spark(self) -> Any:
        """The SparkSession."""
        self._require_running()
        if isinstance(self._platform, LocalPlatform):
            raise ProgramError("A cluster in this process has no Spark session.", hint="use MiniCluster()")
        return self._platform.session

    def python_workers(self) -> list[int]:
        """The process ids of the Python workers. They start with the first epoch, and idle ones end after a
        minute. Empty where the system has no /proc."""
        from firesteel.spark.processes import python_workers

        return python_workers(self.spark)

    def kill_python_worker(self) -> int:
        """End a Python worker as the system does that is out of memory (SIGKILL); its process id.

        In epochs Spark runs the tasks of that worker again: results must be the same. A job in real time goes
        back to its last checkpoint.
        """
        workers = self.python_workers()
        if not workers:
            raise ProgramError(
                "There is no Python worker to kill.",
                hint="they start with the first epoch of a job, and are found where the system has /proc",
            )
        os.kill(workers[0], signal.SIGKILL)
        return workers[0]

    def _require_running(self) -> None:
        if self._running is None:
            raise ProgramError("The cluster does not run.", hint="with MiniCluster() as cluster: ...")


@contextmanager
def _here(processes: int) -> Iterator[LocalPlatform]:
    platform = LocalPlatform(lambda: AlternatingEngine(processes))
    try:
        yield platform
    finally:
        for engine in platform.engines:
            engine.close()


@contextmanager
def _on_spark(master: str, conf: dict[str, str]) -> Iterator[Any]:
    # Not before it is needed: a harness wants neither Spark nor Java.
    from firesteel.spark.jvm import end_jvm
    from firesteel.spark.platform import SparkPlatform
    from firesteel.spark.session import create_session, running_master
    from firesteel.spark.shutdown import stop_quietly

    running = running_master()
    if running is not None:
        raise ProgramError(
            "A Spark session runs in this process already.",
            detail=f"its master is {running}",
            hint="stop it first, or run jobs on it: get_execution_environment(spark=session)",
        )
    end_jvm()  # one that is left takes no new settings
    session = create_session(master, "firesteel-mini-cluster", conf)
    try:
        platform = SparkPlatform()
        platform.prepare(Configuration(), session)
        yield platform
    finally:
        stop_quietly(session)
        end_jvm()
