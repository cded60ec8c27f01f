"""Ending a session of ours without noise from its Python workers."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Final

from pyspark.sql import SparkSession

from firesteel.spark.jvm import DriverJvm
from firesteel.spark.processes import find_process, python_daemons

_PATIENCE_S: Final = 2.0


def stop_quietly(session: SparkSession) -> None:
    """End the Python workers, then the session.

    A session that is stopped closes the sockets of its idle workers before it ends them, and those print a
    BrokenPipeError each into the terminal. Asked first, their daemon ends them without a word.
    Of a session whose JVM has died nothing is left to end.
    """
    jvm = DriverJvm(session)
    if jvm.manner_of_death() is not None:
        jvm.forget()
        return
    _end_workers(session)
    try:
        session.stop()
    except Exception:
        if jvm.manner_of_death(_PATIENCE_S) is None:
            raise
        jvm.forget()


def leave_quietly(session: SparkSession) -> None:
    """As ``stop_quietly``, for the end of the program: a JVM that is all of Spark and was started by this
    process stops its session when this process is gone, so nobody waits for that."""
    is_all_of_spark = (session.sparkContext.master or "").startswith("local")
    if is_all_of_spark and DriverJvm(session).lives_with_this_process():
        _end_workers(session)
    else:
        stop_quietly(session)


def _end_workers(session: SparkSession) -> None:
    for daemon in python_daemons(session):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(daemon, signal.SIGTERM)
            _await_end(daemon)


def _await_end(pid: int) -> None:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        process = find_process(pid)
        if process is None or process.state == "Z":
            return
        time.sleep(0.01)
