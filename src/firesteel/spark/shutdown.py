"""Ending a session of ours without noise from its Python workers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from firesteel.spark.processes import find_process, python_daemons

_PATIENCE_S: Final = 2.0
_JVM_PATIENCE_S: Final = 20.0


def stop_quietly(session: SparkSession) -> None:
    """End the Python workers, then the session.

    A session that is stopped closes the sockets of its idle workers before it ends them, and those print a
    BrokenPipeError each into the terminal. Asked first, their daemon ends them without a word.
    """
    for daemon in python_daemons(session):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(daemon, signal.SIGTERM)
            _await_end(daemon)
    session.stop()


def end_jvm() -> None:
    """End the JVM that the sessions of this process ran in; all of them must be stopped.

    Spark keeps it until Python ends, with the options it was started with. The next session starts another.
    """
    gateway = SparkContext._gateway
    if gateway is None:
        return
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is None:
        return
    if process.stdin is not None:
        process.stdin.close()  # that is what the JVM waits for
    try:
        process.wait(_JVM_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await_end(pid: int) -> None:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        process = find_process(pid)
        if process is None or process.state == "Z":
            return
        time.sleep(0.01)
