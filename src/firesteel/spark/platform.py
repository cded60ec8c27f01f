"""Spark as the platform that jobs are deployed on: one session for all jobs of this process."""

from __future__ import annotations

import atexit
import logging
import threading
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from firesteel.common.configuration import Configuration
from firesteel.spark.engine import SparkEngine
from firesteel.spark.modules import distribute_files, distribute_modules, shares_files
from firesteel.spark.session import create_session, losses, use_this_python
from firesteel.spark.shutdown import stop_quietly

log = logging.getLogger(__name__)


class SparkPlatform:
    """Takes the session that was handed in, the one there is, or makes one of ours."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: SparkSession | None = None

    def prepare(self, configuration: Configuration, handed_in: Any = None) -> SparkSession:
        with self._lock:
            if handed_in is not None and handed_in is not self._session:
                for loss in losses(handed_in):
                    log.warning("the Spark session that was handed in is slower than it could be: %s", loss)
                self._session = handed_in
                if shares_files(handed_in):
                    use_this_python(handed_in)
            if self._session is None:
                conf = {k: v for k, v in configuration.to_dict().items() if k.startswith("spark.")}
                self._session = create_session(conf.pop("spark.master", None), "firesteel", conf)
                atexit.register(stop_quietly, self._session)  # so that no worker outlives the program
            return self._session

    @property
    def session(self) -> SparkSession:
        assert self._session is not None, "prepare() comes first"
        return self._session

    @property
    def shares_files(self) -> bool:
        """Whether the workers see the files of this machine."""
        return shares_files(self.session)

    def engine(self, job_id: str, job_name: str, script_dir: str) -> SparkEngine:
        distribute_modules(self.session, script_dir)
        return SparkEngine(self.session, job_id, job_name)

    def distribute(self, configuration: Configuration) -> None:
        """Give the workers what the program names: modules, archives, cached files."""
        distribute_files(self.session, configuration)

    def adopt(self, frame: DataFrame) -> None:
        """A DataFrame of the user's brings its session with it."""
        with self._lock:
            if self._session is None:
                self._session = frame.sparkSession
                if shares_files(self._session):
                    use_this_python(self._session)
