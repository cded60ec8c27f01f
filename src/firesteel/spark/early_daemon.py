"""Starting the process that forks the workers while the driver still plans the first Spark job.

Spark starts that process (``daemon.py``) for the first Python task of an application, when the plan of the
first job is made. Each takes a second of one processor, so they are done at the same time: a Spark job of one
empty task, without a plan, comes first.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any, Final

from pyspark.sql import SparkSession

from firesteel.spark.settings import DAEMON

_GROUP: Final = "firesteel-start"
# Spark has a process for each set of variables, and adds this one to those of a task of SQL.
_OF_SQL: Final = {"SPARK_SIMPLIFIED_TRACEBACK": "1"}


def start_daemon(session: SparkSession) -> None:
    """Start it, if it is one of ours; return at once."""
    context = session.sparkContext
    conf = context.getConf()
    if any(conf.get(key) != value for key, value in DAEMON.items()):
        return
    context.environment.update(_OF_SQL)
    threading.Thread(target=_run_a_task, args=(context,), name="firesteel-start", daemon=True).start()


def _run_a_task(context: Any) -> None:
    with suppress(Exception):  # the program has ended meanwhile; what else is wrong, the first job will say
        context.setJobGroup(_GROUP, "starts the process of the Python workers")
        context.parallelize((0,), 1).foreach(_nothing)


def _nothing(_: Any) -> None:
    return
