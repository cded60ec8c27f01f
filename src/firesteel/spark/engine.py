"""Spark as the engine of a job: runs its epochs, and takes their failures apart."""

from __future__ import annotations

import logging
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from firesteel.common.errors import EngineError
from firesteel.runtime.program import Answer, LevelDescriptor
from firesteel.spark.epoch import run_epoch
from firesteel.spark.parts import do_parts
from firesteel.spark.session import epoch_session

log = logging.getLogger(__name__)


class SparkEngine:
    """Runs the epochs of one job in a child session of ``session``."""

    def __init__(self, session: SparkSession, job_id: str, job_name: str) -> None:
        self._session = epoch_session(session)
        self._job_id = job_id
        self._job_name = job_name

    def run(self, levels: list[LevelDescriptor], parallelism: list[int]) -> list[Answer]:
        context = self._session.sparkContext
        description = f"{self._job_name}: epoch {levels[0].epoch}"
        context.setJobGroup(self._job_id, description, interruptOnCancel=False)
        try:
            return run_epoch(self._session, levels, parallelism)
        except (PySparkException, Py4JError, ConnectionError, OSError) as e:
            raise EngineError(
                "Spark could not run an epoch",
                detail=_first_cause(str(e)),
                hint="the epoch is discarded and run again a few times; if that does not help, "
                "see Spark's log",
            ) from e

    def do(self, parts: int, work: Callable[[int], bytes], what: str) -> list[bytes]:
        """Each part is a task."""
        description = f"{self._job_name}: {what}"
        self._session.sparkContext.setJobGroup(self._job_id, description, interruptOnCancel=False)
        try:
            return do_parts(self._session, parts, work)
        except (PySparkException, Py4JError, ConnectionError, OSError) as e:
            raise EngineError(f"Spark could not do all of {what}", detail=_first_cause(str(e))) from e

    def cancel(self) -> None:
        """Stop the Spark job of the epoch under way."""
        self._session.sparkContext.cancelJobGroup(self._job_id)


def _first_cause(text: str) -> str:
    """The lines of a Spark error that say something: without the Java stack."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return "\n".join(lines[:12])[:4000]
