"""The JVM that a Spark session runs in, and what becomes of this process when it dies."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from firesteel.common.errors import EngineLostError
from firesteel.spark.launch import StartedJvm, manner_of_end
from firesteel.spark.settings import log_file
from firesteel.storage.process_directory import keep

FAILURES: Final = (PySparkException, Py4JError, OSError)
#: What a call of a JVM may end in that dies, within its answer or before.
CALLS: Final = (*FAILURES, EOFError, struct.error, pa.ArrowException, AttributeError)

_JVM_PATIENCE_S: Final = 20.0
_REAPED_S: Final = 2.0  # one that ends in order fails its jobs first; the system takes a moment for any
_LOOK_S: Final = 0.05
_environment = threading.Lock()


def connect(jvm: StartedJvm) -> None:
    """Make a JVM the one that the sessions of this process run in."""
    port, secret = jvm.address()
    with _variables(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret):
        gateway: Any = launch_gateway()
    gateway.proc = jvm.process
    SparkContext._gateway = gateway
    SparkContext._jvm = gateway.jvm


@contextmanager
def _variables(**values: str) -> Iterator[None]:
    with _environment:
        os.environ.update(values)
        try:
            yield
        finally:
            for name in values:
                del os.environ[name]


class DriverJvm:
    """The JVM that ``session`` runs in, also when PySpark uses another one by now."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._gateway: Any = SparkContext._gateway
        # None: it has started Python, or somebody else has started it
        self._process: subprocess.Popen[bytes] | None = getattr(self._gateway, "proc", None)

    def has_ended(self) -> bool:
        """Whether it is certain that it has died; costs nothing, and cannot tell of a process of others'."""
        return self._process is not None and self._process.poll() is not None

    def lives_with_this_process(self) -> bool:
        """Whether it lives, and ends when this process does."""
        return self._process is not None and self._process.poll() is None

    def manner_of_death(self, patience_s: float = 0.0) -> str | None:
        """How it has died, as the rest of a sentence; None while it lives."""
        if self._process is None:
            return self._manner_of_silence(patience_s)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_s)
        return None if self._process.returncode is None else manner_of_end(self._process.returncode)

    def _manner_of_silence(self, patience_s: float) -> str | None:
        """Of a process of others'. The system closes the port of one that was killed when it has taken back
        its memory: until then it seems to listen."""
        until_s = time.monotonic() + patience_s
        while self._listens():
            if time.monotonic() >= until_s:
                return None
            time.sleep(_LOOK_S)
        return "does not answer any more"

    def _is_well(self) -> bool:
        """Whether it answers and is not about to end: what it fails with is not its own death then."""
        if self.has_ended():
            return False
        try:
            return not self._session.sparkContext._jsc.sc().isStopped()
        except Exception:  # of whatever kind: it does not answer as it should
            return False

    def loss(self, replaceable: bool, patience_s: float = _REAPED_S) -> EngineLostError | None:
        """The error that its death is; None while it lives."""
        if self._is_well():
            return None
        manner = self.manner_of_death(patience_s)
        if manner is None:
            return None
        hint = "where it was out of memory, give it more (spark.driver.memory) or the job smaller records"
        if not replaceable:
            hint += "; a session that was handed in cannot be replaced: start the program again"
        elif (file := log_file()).exists():
            keep(file)
            hint += f"; Spark's own log is {file}"
        return EngineLostError(
            "The JVM of Spark's driver has died",
            detail=f"the process {manner}",
            hint=hint,
            replaceable=replaceable,
        )

    def forget(self) -> None:
        """Let PySpark forget the session of a JVM that has died: the next one starts another."""
        context = self._session.sparkContext
        if SparkContext._gateway is not self._gateway:
            return
        context._jsc = None  # there is nothing left to stop
        with suppress(Exception):  # it may speak to the JVM again
            context.stop()
        SparkContext._active_spark_context = None
        SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = None
        SparkSession._activeSession = None
        if self._gateway is not None:
            with suppress(Exception):
                self._gateway.close()

    def _listens(self) -> bool:
        if self._gateway is None:  # this process has ended it already
            return False
        parameters = self._gateway.java_parameters
        try:
            socket.create_connection((parameters.address, parameters.port), timeout=5).close()
        except OSError:
            return False
        return True


def end_jvm(patience_s: float = _JVM_PATIENCE_S) -> None:
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
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
