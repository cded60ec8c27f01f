"""The Spark session that jobs run on: one of ours with the settings that matter, or one handed in."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from firesteel.common.errors import EngineError
from firesteel.common.options.execution import SPARK_MASTER
from firesteel.spark.jvm import connect
from firesteel.spark.launch import drop_early, prepare_environment, start, was_started_by_spark
from firesteel.spark.settings import STATIC, session_settings

_NOT_SENT: Final = "Exception while sending command."  # py4j, on the root logger
_SHOWN: Final = 4  # lines of an error of Java
#: Of the child session in which epochs run.
EPOCHS: Final[Mapping[str, str]] = {
    "spark.sql.adaptive.enabled": "false",  # it would coalesce and split the subtasks
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",  # rows are buffers of about 64 kB
    "spark.sql.execution.arrow.maxBytesPerBatch": str(4 << 20),  # some may be as large as a record can be
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.codegen.wholeStage": "false",  # a plan of four operators: compiling costs more than it saves
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # the same of its expressions: rows are few and large
}


def create_session(master: str | None, app_name: str, conf: dict[str, str]) -> SparkSession:
    """A session with everything that matters for epochs. ``conf`` wins over our defaults."""
    if master is not None:
        conf = {**conf, SPARK_MASTER.key: master}
    return start_session(session_settings({"spark.app.name": app_name, **conf}))


def submitted_settings() -> dict[str, str]:
    """What ``spark-submit``, which runs this program, was told: master, ``--conf``, its files. Nothing where
    the program runs on its own."""
    if not was_started_by_spark():
        return {}
    SparkContext._ensure_initialized()  # connects to the JVM of spark-submit, whose properties they are
    return dict(SparkConf().getAll())


def start_session(settings: dict[str, str]) -> SparkSession:
    """A session with just these settings, in a JVM of its own unless there is one in this process.

    :raises EngineError: Spark does not start.
    """
    prepare_environment()
    quiet_py4j()
    if SparkContext._gateway is None and not was_started_by_spark():
        connect(start(settings))
    else:
        drop_early()
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except Exception as e:
        raise EngineError(
            f"Spark could not start on master {settings[SPARK_MASTER.key]!r}",
            detail="\n".join(_telling_lines(str(e)) or [type(e).__name__]),
            hint="check the master's address, and that Java 17 or newer is found (JAVA_HOME)",
        ) from e
    _quiet_accumulators(session)
    return session


def _quiet_accumulators(session: SparkSession) -> None:
    """Let PySpark's server of accumulators be silent about a JVM that has died: others say so."""
    server: Any = session.sparkContext._accumulatorServer
    inner = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            inner(request, address)

    server.handle_error = handle_error


def quiet_py4j() -> None:
    """Let py4j log only what nobody is told otherwise: it logs each closed connection as news, and on the
    root logger each call that a dead JVM does not answer, beside the exception that it raises."""
    py4j = logging.getLogger("py4j")
    if py4j.level == logging.NOTSET:
        py4j.setLevel(logging.WARNING)
    root = logging.getLogger()
    if _is_news not in root.filters:
        root.addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    return not (record.msg == _NOT_SENT and record.filename == "java_gateway.py")


def running_master() -> str | None:
    """The master of the Spark application that runs in this process; None when there is none."""
    context = SparkContext._active_spark_context
    return None if context is None else context.master


def _telling_lines(text: str) -> list[str]:
    """The first lines of a Java error without its stack, and the cause of all."""
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith(("at ", "... "))]
    causes = [line for line in said[_SHOWN:] if line.startswith("Caused by: ")]
    return said[:_SHOWN] + causes[-1:]


def use_this_python(session: SparkSession) -> None:
    """Let the workers of a local session run the Python that runs the program, unless one was chosen.

    Spark takes ``python3`` of the PATH otherwise, which need not have firesteel.
    """
    context = session.sparkContext
    if "PYSPARK_PYTHON" not in os.environ and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable


def child_session(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A session beside *session*, which keeps its values, with settings of its own."""
    child = session.newSession()
    for key, value in settings.items():
        child.conf.set(key, value)
    return child


def losses(session: SparkSession, settings: Mapping[str, tuple[str, str]] = STATIC) -> list[str]:
    """What a session gives away, a sentence for each setting that it does not have.

    :param settings: key -> the value that is wanted, and what is lost without it.
    """
    return [
        f"{key} is not {wanted}: {loss} (set it when the session is created)"
        for key, (wanted, loss) in settings.items()
        if (session.conf.get(key, None) or "false").lower() != wanted.lower()
    ]
