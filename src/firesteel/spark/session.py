"""The Spark session that jobs run on: one of ours with the settings that matter, or one handed in."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from firesteel.common.errors import EngineError
from firesteel.common.java import find_java

DEFAULT_MASTER: Final = "local[*,4]"  # in plain local[n] a killed Python worker fails the job

# Static settings that only a new session can take, each with what is lost without it.
_STATIC: Final = {
    "spark.python.unix.domain.socket.enabled": (
        "true",
        "each Python task waits about 40 ms for a TCP acknowledgement",
    ),
}
_OWN: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.python.worker.reuse": "true",
    # What Spark remembers of jobs that have ended, for its own pages: each epoch is some of them.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
}
_LOG4J: Final = "-Dlog4j2.configurationFile=file:{}"
# Set in the child session in which epochs run; the user's own session keeps its values.
_EPOCH: Final = {
    "spark.sql.adaptive.enabled": "false",  # it would coalesce and split the subtasks
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",  # rows are buffers of about 64 kB
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.codegen.wholeStage": "false",  # a plan of four operators: compiling costs more than it saves
}


def create_session(master: str | None, app_name: str, conf: dict[str, str]) -> SparkSession:
    """A session with everything that section 1 of the design measured. ``conf`` wins over our defaults."""
    java_home = find_java()
    os.environ["JAVA_HOME"] = java_home
    # Without it the workers may start another Python than the one that runs the program.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    quiet = _LOG4J.format(Path(__file__).with_name("log4j2.properties"))
    py4j = logging.getLogger("py4j")
    if py4j.level == logging.NOTSET:  # it logs each closed connection as news
        py4j.setLevel(logging.WARNING)
    builder = SparkSession.builder.appName(app_name).master(master or DEFAULT_MASTER)
    settings = {**{k: v for k, (v, _) in _STATIC.items()}, **_OWN, **conf}
    java_options = settings.get("spark.driver.extraJavaOptions", "")
    if "log4j" not in java_options:
        settings["spark.driver.extraJavaOptions"] = f"{java_options} {quiet}".strip()
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as e:
        raise EngineError(
            f"Spark could not start on master {master or DEFAULT_MASTER!r}",
            detail="\n".join(_telling_lines(str(e)) or [type(e).__name__]),
            hint="check the master's address, and that Java 17 or newer is found (JAVA_HOME)",
        ) from e


def running_master() -> str | None:
    """The master of the Spark application that runs in this process; None when there is none."""
    context = SparkContext._active_spark_context
    return None if context is None else context.master


def _telling_lines(text: str) -> list[str]:
    """The first lines of a Java error without its stack."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(("at ", "... "))][:4]


def use_this_python(session: SparkSession) -> None:
    """Let the workers of a local session run the Python that runs the program, unless one was chosen.

    Spark takes ``python3`` of the PATH otherwise, which need not have firesteel.
    """
    context = session.sparkContext
    if "PYSPARK_PYTHON" not in os.environ and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable


def epoch_session(session: SparkSession) -> SparkSession:
    """A child of ``session`` with the settings that epochs need."""
    child = session.newSession()
    for key, value in _EPOCH.items():
        child.conf.set(key, value)
    return child


def losses(session: SparkSession) -> list[str]:
    """What a session that was handed in gives away, one sentence for each setting."""
    found = []
    for key, (wanted, loss) in _STATIC.items():
        if (session.conf.get(key, None) or "false").lower() != wanted:
            found.append(f"{key} is not {wanted}: {loss} (set it when the session is created)")
    return found
