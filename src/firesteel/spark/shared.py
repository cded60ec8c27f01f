"""One Spark application for several processes: one owns its JVM, each of the others runs a job in it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from firesteel.common.configuration import Configuration
from firesteel.common.errors import EngineLostError
from firesteel.common.exit_codes import ENGINE_LOST
from firesteel.common.logs import logger
from firesteel.metrics.machines import Machines
from firesteel.spark.jvm import CALLS, DriverJvm, end_jvm
from firesteel.spark.machines import machines
from firesteel.spark.modules import shares_files
from firesteel.spark.platform import SparkPlatform
from firesteel.spark.processes import python_processes_with
from firesteel.spark.session import quiet_py4j, start_session
from firesteel.spark.settings import log_file, session_settings, settings_of
from firesteel.spark.shutdown import stop_quietly
from firesteel.storage.process_directory import new_directory

log = logger(__name__)

#: In the environment of the Python workers of a job: each job has workers of its own.
JOB_VARIABLE: Final = "FIRESTEEL_JOB"
_PORT: Final = "PYSPARK_GATEWAY_PORT"
_SECRET: Final = "PYSPARK_GATEWAY_SECRET"
_OF_THE_OWNER: Final = {"spark.scheduler.mode": "FAIR"}  # a pool for each job


class OwnedSpark:
    """The application as its owner has it, which runs no job itself.

    :param configuration: of the cluster.
    """

    platform = "firesteel.spark.shared:JobOnSharedSpark"

    def __init__(self, configuration: Configuration) -> None:
        self._settings = session_settings({**_OF_THE_OWNER, **settings_of(configuration)})
        self._session: SparkSession | None = None
        self._jvm: DriverJvm | None = None
        # Not while another JVM is started: what a call meets then is half of a session.
        self._changing = threading.Lock()

    def start(self) -> None:
        """Start it, anew if its JVM has died.

        :raises EngineError: Spark does not start.
        """
        with self._changing:
            if self._jvm is not None:
                self._jvm.forget()
                self._session = None
            handler = signal.getsignal(signal.SIGINT)
            self._session = start_session(self._settings)
            _restore(handler)
            self._jvm = DriverJvm(self._session)

    def variables(self) -> dict[str, str]:
        """What a process must have in its environment to run a job in it."""
        gateway: Any = SparkContext._gateway
        parameters = gateway.gateway_parameters
        return {_PORT: str(parameters.port), _SECRET: str(parameters.auth_token)}

    def manner_of_death(self) -> str | None:
        """How its JVM has died, as the rest of a sentence; None while it lives."""
        return None if self._jvm is None else self._jvm.manner_of_death()

    @property
    def log(self) -> Path | None:
        file = log_file()
        return file if file.is_file() else None

    def machines(self) -> Machines:
        return Machines() if self._session is None else machines(self._session)

    def end_job(self, job_id: str) -> None:
        """Nothing of a job whose process has gone runs on: neither tasks nor workers."""
        with self._changing:
            if self._session is not None:
                with suppress(*CALLS):  # the JVM is ending, and with it the tasks
                    self._session.sparkContext.cancelJobGroup(job_id)
                    forget_files(self._session, f"{job_id}-")
        for pid in python_processes_with(f"{JOB_VARIABLE}={job_id}"):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)

    def stop(self) -> None:
        with self._changing:
            if self._session is not None:
                stop_quietly(self._session)
                end_jvm()


def forget_files(session: SparkSession, prefix: str) -> None:
    """Give the added files whose names begin like that to no further task.

    Spark gives all added files to the tasks of all jobs, and has no call to take one back. Those of a job are
    gone with its process: an executor that has not fetched them yet could run no task any more.
    """
    context: Any = session.sparkContext._jsc.sc()
    sets = context.addedFiles().values().iterator()
    while sets.hasNext():
        files = sets.next()
        for url in (files.keySet().mkString("\n") or "").split("\n"):
            if url.rpartition("/")[2].startswith(prefix):
                files.remove(url)


class JobOnSharedSpark(SparkPlatform):
    """The platform of a process that runs one job in the application of another process.

    :param modules: directories and archives that workers elsewhere import from.
    """

    def __init__(self, job_id: str, modules: Sequence[str]) -> None:
        super().__init__()
        self._job_id = job_id
        try:
            session = _attached(job_id)
        except EngineLostError as e:
            self._leave(e)
        self._take(session)
        if not shares_files(session):
            for path in modules:
                session.sparkContext.addPyFile(_uniquely_named(path, job_id))

    def loss(self) -> EngineLostError | None:
        """None: it does not return otherwise."""
        loss = super().loss()
        if loss is not None:
            self._leave(loss)
        return None

    def _replace(self, dead: DriverJvm) -> None:
        self._leave(dead.loss(replaceable=True))

    def _leave(self, loss: EngineLostError | None) -> NoReturn:
        """The owner starts another JVM, and there this job in another process. This one ends as if it were
        killed: for the job to end would mean to remove what it goes on from."""
        log.warning("the process ends with the JVM job=%s: %s", self._job_id, loss)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ENGINE_LOST)


def _attached(job_id: str) -> SparkSession:
    """A session in the application that the environment names.

    :raises EngineLostError: it does not answer.
    """
    quiet_py4j()
    handler = signal.getsignal(signal.SIGINT)
    try:
        gateway: Any = launch_gateway()
        SparkContext._gateway, SparkContext._jvm = gateway, gateway.jvm
        jvm: Any = gateway.jvm
        context = jvm.JavaSparkContext.fromSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
        conf = SparkConf(_jconf=context.sc().conf())
        return SparkSession(SparkContext(conf=conf, jsc=context, environment={JOB_VARIABLE: job_id}))
    except (Py4JError, OSError) as error:
        raise EngineLostError(
            "The Spark application of the cluster does not answer", detail=str(error)
        ) from error
    finally:
        _restore(handler)


def _restore(handler: Any) -> None:
    """PySpark's own handler of Ctrl-C would cancel the jobs of everybody; it sets it in the main thread."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def _uniquely_named(path: str, job_id: str) -> str:
    """An archive with a name that no other job has: Spark has one place for the files of all."""
    target = new_directory() / f"{job_id}-{os.urandom(4).hex()}.zip"
    if os.path.isdir(path):
        with zipfile.ZipFile(target, "w") as archive:
            for file in sorted(Path(path).rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, file.relative_to(path))
    else:
        shutil.copyfile(path, target)
    return str(target)
