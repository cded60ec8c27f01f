"""Spark as the engine of a job: runs its epochs, and takes their failures apart."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from pyspark.sql import SparkSession

from firesteel.common.errors import EngineError, EngineLostError, FiresteelError
from firesteel.runtime.program import Answer, LevelDescriptor
from firesteel.runtime.stretch import RunningLevel
from firesteel.spark.epoch import Epochs
from firesteel.spark.jvm import CALLS, FAILURES
from firesteel.spark.parts import do_parts
from firesteel.spark.pinning import JOB_OF_SUBTASKS
from firesteel.spark.pipelined import OWN_TAG, PIPELINED, TAG, when_slots_are_free
from firesteel.spark.realtime import SparkStretch, run_levels
from firesteel.spark.reports import Reports
from firesteel.spark.session import child_session
from firesteel.spark.settings import log_file
from firesteel.storage.process_directory import keep, keep_no_longer

#: What PySpark does at a Ctrl-C, before the program hears of it: Spark's log tells of no failure then.
_ALL_CANCELLED: Final = "as part of cancellation of all jobs"


class Sessions(Protocol):
    """Where an engine has its session from."""

    @property
    def session(self) -> SparkSession:
        """The one that there is. Another one than before: its JVM has died."""

    @property
    def epochs(self) -> Epochs:
        """Runs the epochs of all jobs beside that session."""

    def loss(self) -> EngineLostError | None:
        """What the death of the session's JVM is as an error; None while it lives."""


class SparkEngine:
    """Runs the epochs of one job."""

    def __init__(self, sessions: Sessions, job_id: str, job_name: str) -> None:
        self._sessions = sessions
        self._epochs = sessions.epochs
        self._job_id = job_id
        self._job_name = job_name
        self._is_cancelled = False
        self._reports = Reports(self._epochs.session.sparkContext)
        weakref.finalize(self, self._reports.close)
        self._kept_log: Path | None = None  # since the last failure

    def _session(self, work: str, *, of_subtasks: bool = False) -> SparkSession:
        """The session for the next work, which is called ``work`` where Spark shows it.

        :param of_subtasks: each of its tasks is of a subtask, which stays with its worker process.
        """
        self._epochs = self._sessions.epochs
        session = self._epochs.session
        description = f"{self._job_name}: {work}"
        session.sparkContext.setJobGroup(self._job_id, description, interruptOnCancel=False)
        # Of each thread. Without FAIR scheduling it makes no difference.
        session.sparkContext.setLocalProperty("spark.scheduler.pool", self._job_id)
        session.sparkContext.setLocalProperty(JOB_OF_SUBTASKS, self._job_id if of_subtasks else "")
        return session

    def run(self, levels: list[LevelDescriptor], parallelism: list[int]) -> list[Answer]:
        with self._failures_of("an epoch", "the epoch is discarded and run again a few times"):
            self._session(f"epoch {levels[0].epoch}", of_subtasks=True)
            answers = self._epochs.run(levels, parallelism, self._reports)
        if self._kept_log is not None:  # what it tells is over
            keep_no_longer(self._kept_log)
            self._kept_log = None
        return answers

    def start(self, levels: list[RunningLevel], on_end: Callable[[], None]) -> SparkStretch:
        """All levels run at once, as one Spark job."""

        def run(is_given_up: Callable[[], bool]) -> None:
            with self._failures_of("the tasks of the job"):
                beside = self._session(f"real time from epoch {levels[0].descriptor.epoch}")
                session = child_session(beside, PIPELINED)
                for tag in (TAG, OWN_TAG):  # of this thread
                    session.sparkContext.addJobTag(tag)
                when_slots_are_free(
                    lambda: run_levels(session, levels), lambda: is_given_up() or self._is_cancelled
                )

        return SparkStretch(run, self._end_spark_job, on_end)

    def do(self, parts: int, work: Callable[[int], bytes], what: str) -> list[bytes]:
        """Each part is a task."""
        with self._failures_of(what):
            return do_parts(self._session(what), parts, work)

    @contextmanager
    def _failures_of(self, what: str, hint: str | None = None) -> Iterator[None]:
        """Whatever a JVM does that dies, its death is what is told."""
        try:
            yield
        except FiresteelError:
            raise
        except Exception as e:
            if isinstance(e, CALLS) and (loss := self._sessions.loss()) is not None:
                raise loss from e
            if not isinstance(e, FAILURES):
                raise
            text = str(e)
            hint = hint if _ALL_CANCELLED in text else self._hint(hint)
            raise EngineError(f"Spark could not run {what}", detail=_first_cause(text), hint=hint) from e

    def _hint(self, hint: str | None) -> str | None:
        """With the place of Spark's log, which stays until an epoch succeeds."""
        file = log_file()
        if self._is_cancelled or not file.exists():  # it goes elsewhere, or says nothing
            return hint
        keep(file)
        self._kept_log = file
        return "; ".join(filter(None, [hint, f"Spark's own log is {file}"]))

    def cancel(self) -> None:
        """Stop what runs: the job is cancelled."""
        self._is_cancelled = True
        self._end_spark_job()

    def _end_spark_job(self) -> None:
        try:
            self._epochs.session.sparkContext.cancelJobGroup(self._job_id)
        except CALLS:
            if self._sessions.loss() is None:  # with its JVM the Spark job has ended
                raise


def _first_cause(text: str) -> str:
    """The lines of a Spark error that say something: without the Java stack."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return "\n".join(lines[:12])[:4000]
