"""A stretch on Spark: all levels run at once, as one Spark job with a pipelined plan."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from pyspark import TaskContext
from pyspark.sql import SparkSession

from firesteel.common.errors import EngineError
from firesteel.runtime.stretch import RunningLevel, run_task
from firesteel.runtime.task_loop import Rows
from firesteel.runtime.task_name import in_task
from firesteel.runtime.waited_for import begin_task
from firesteel.runtime.worker import dedicate_process
from firesteel.spark.bursts import SCHEMA, BurstInbox, first_pushes, to_burst
from firesteel.spark.connection import Connection, TaskFunction, is_waited_for
from firesteel.spark.levels import frame_of
from firesteel.spark.pipelined import pipelined

#: Between threads of Python: a record does not wait longer for one that compacts state.
_SWITCH_S: Final = 0.001


def run_levels(session: SparkSession, levels: Sequence[RunningLevel]) -> None:
    """Run until all tasks have ended; what they have to say is in files.

    :raises PySparkException: a task failed, or the job was cancelled.
    """
    widths = [level.parallelism for level in levels]
    frame = frame_of(session, [_level(level) for level in levels], widths, SCHEMA)
    (pipelined(frame) if len(levels) > 1 else frame).toArrow()


def _level(level: RunningLevel) -> TaskFunction:
    return TaskFunction(partial(_run_level, pickle.dumps(level, 5)))


def _run_level(payload: bytes, connection: Connection) -> None:
    context = TaskContext.get()
    assert context is not None
    if context.attemptNumber():
        # Spark does so where no exchange is pipelined. The orders that the first attempt had are gone.
        raise EngineError("A task in real time is not run again: its job goes back to its last checkpoint.")
    dedicate_process()
    begin_task(is_waited_for())
    sys.setswitchinterval(_SWITCH_S)
    level: RunningLevel = pickle.loads(payload)
    inbox = BurstInbox(connection)
    subtask, width = context.partitionId(), level.settings.consumers
    if level.descriptor.level == 0:
        connection.read_to_end()  # what Spark gives it only makes the task
    if subtask == 0 and width:
        connection.send(first_pushes(width))

    def send(rows: Rows) -> None:
        connection.send(to_burst(rows, width))

    job_id, number = level.descriptor.job_id, level.descriptor.level
    in_task(job_id, number, lambda: run_task(level, subtask, inbox, send))


class SparkStretch:
    """A stretch in a thread of its own.

    :param run: runs the Spark job, and raises what it ends in. Its argument says whether it was given up.
    :param cancel: ends the Spark job.
    :param on_end: called in that thread when it is over.
    """

    def __init__(
        self,
        run: Callable[[Callable[[], bool]], None],
        cancel: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        self._run = run
        self._cancel = cancel
        self._on_end = on_end
        self._error: Exception | None = None
        self._given_up = threading.Event()
        self._over = threading.Event()
        threading.Thread(target=self._body, name="firesteel-stretch", daemon=True).start()

    def _body(self) -> None:
        try:
            self._run(self._given_up.is_set)
        except Exception as e:  # for the job's own thread
            self._error = e
        finally:
            self._over.set()  # before somebody is told, who would look, and wait again
            self._on_end()

    @property
    def has_ended(self) -> bool:
        return self._over.is_set()

    @property
    def error(self) -> Exception | None:
        """What it has ended in."""
        return self._error

    def go_on(self) -> None:
        """Nothing is to be done here: the tasks move themselves."""

    def cancel(self) -> None:
        """End the tasks, whatever they do."""
        self._given_up.set()
        self._cancel()

    def wait_for_end(self, timeout_s: float) -> bool:
        """Whether it has ended within the time."""
        return self._over.wait(timeout_s)
