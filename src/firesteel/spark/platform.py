"""Spark as the platform that jobs are deployed on: one session for all jobs of this process."""

from __future__ import annotations

import atexit
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from firesteel.common.configuration import Configuration
from firesteel.common.errors import EngineLostError
from firesteel.common.logs import logger
from firesteel.common.memory_budget import unmet
from firesteel.metrics.machines import Machines
from firesteel.runtime.program import WorkerFiles
from firesteel.spark.archive import make_later
from firesteel.spark.early_daemon import start_daemon
from firesteel.spark.engine import SparkEngine
from firesteel.spark.epoch import Epochs
from firesteel.spark.jvm import DriverJvm
from firesteel.spark.launch import drop_early, spark_package
from firesteel.spark.machines import machines
from firesteel.spark.modules import (
    KEYS_OF_FILES,
    distribute_files,
    distribute_modules,
    shares_files,
    worker_files,
)
from firesteel.spark.pipelined import why_not
from firesteel.spark.session import (
    losses,
    quiet_py4j,
    start_session,
    submitted_settings,
    use_this_python,
)
from firesteel.spark.settings import log_file, session_settings, settings_of
from firesteel.spark.shutdown import leave_quietly

log = logger(__name__)


class SparkPlatform:
    """Takes the session that was handed in, the one there is, or makes one of ours."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._session: SparkSession | None = None
        self._jvm: DriverJvm | None = None
        self._epochs: Epochs | None = None  # beside the session
        self._settings: dict[str, str] | None = None  # of a session of ours
        self._modules_of: set[str] = set()  # directories of scripts whose modules the workers were given
        self._files_of: dict[tuple[Any, ...], Configuration] = {}  # and files, by what names them

    def prepare(self, configuration: Configuration, handed_in: Any = None, slots: int = 0) -> SparkSession:
        with self._lock:
            if handed_in is not None and handed_in is not self._session:
                drop_early()
                for loss in losses(handed_in):
                    log.warning("the Spark session that was handed in is slower than it could be: %s", loss)
                self._take(handed_in)
            if self._session is None:
                self._settings = session_settings(settings_of(configuration, slots, submitted_settings()))
                self._start(self._settings)
                atexit.register(self._stop)  # so that no worker outlives the program
            else:
                if self._jvm is not None and self._jvm.manner_of_death() is not None:
                    self._replace(self._jvm)
                for difference in unmet(configuration, dict(self.session.sparkContext.getConf().getAll())):
                    log.warning("the Spark session that there is has other executors: %s", difference)
            return self.session

    def why_not_real_time(self, slots: int, taken: int, *, must: bool) -> list[str]:
        """Why a job that needs so many slots cannot run in real time, a sentence for each reason."""
        return why_not(self.session, slots, taken, must=must)

    def _start(self, settings: dict[str, str]) -> None:
        self._session = start_session(settings)
        self._jvm = DriverJvm(self._session)
        start_daemon(self._session)

    def _take(self, session: SparkSession) -> None:
        """Use a session of the user's."""
        quiet_py4j()
        self._settings = None
        self._modules_of.clear()
        self._files_of.clear()
        self._session = session
        self._jvm = DriverJvm(session)
        if shares_files(session):
            use_this_python(session)

    def _stop(self) -> None:
        if self._session is not None and self._settings is not None:
            leave_quietly(self._session)
            make_later(spark_package())

    def loss(self) -> EngineLostError | None:
        """What the death of the session's JVM is as an error; None while it lives."""
        assert self._jvm is not None, "prepare() comes first"
        return self._jvm.loss(replaceable=self._settings is not None)

    @property
    def session(self) -> SparkSession:
        """The session that there is; a new one when it was ours and its JVM has died.

        :raises EngineLostError: its JVM has died, and the session is not ours to replace.
        """
        with self._lock:
            assert self._session is not None, "prepare() comes first"
            assert self._jvm is not None
            if self._jvm.has_ended():
                self._replace(self._jvm)
            return self._session

    @property
    def epochs(self) -> Epochs:
        """Runs the epochs of all jobs beside the session that there is."""
        with self._lock:
            session = self.session
            if self._epochs is None or self._epochs.parent is not session:
                self._epochs = Epochs(session)
            return self._epochs

    def _replace(self, dead: DriverJvm) -> None:
        loss = dead.loss(replaceable=self._settings is not None)
        if self._settings is None:
            assert loss is not None
            raise loss
        log.warning("a new JVM of Spark is started")
        dead.forget()
        self._start(self._settings)
        assert self._session is not None
        for directory in self._modules_of:
            distribute_modules(self._session, directory)
        for configuration in self._files_of.values():
            distribute_files(self._session, configuration)

    @property
    def log(self) -> Path | None:
        """The file of Spark's own log; None where it goes elsewhere."""
        return log_file() if f"-Dfiresteel.log.file={log_file()}" in self._java_options() else None

    def _java_options(self) -> str:
        return (self._settings or {}).get("spark.driver.extraJavaOptions", "")

    @property
    def shares_files(self) -> bool:
        """Whether the workers see the files of this machine."""
        return shares_files(self.session)

    def machines(self) -> Machines:
        """The executors, and the driver's JVM; nothing while there is none. It starts none either."""
        if self._session is None or self._jvm is None or self._jvm.has_ended():
            return Machines()
        return machines(self._session)

    def engine(self, job_id: str, job_name: str, script_dir: str) -> SparkEngine:
        distribute_modules(self.session, script_dir)
        self._modules_of.add(script_dir)
        return SparkEngine(self, job_id, job_name)

    def distribute(self, configuration: Configuration) -> WorkerFiles:
        """Give the workers what the program names: modules, archives, packages, cached files."""
        placed = worker_files(self.session, configuration)
        distribute_files(self.session, configuration)
        self._files_of[tuple(map(configuration.get, KEYS_OF_FILES))] = configuration
        return placed

    def adopt(self, frame: DataFrame) -> None:
        """A DataFrame of the user's brings its session with it."""
        with self._lock:
            if self._session is None:
                self._take(frame.sparkSession)
