"""Starting the process that forks the workers while the driver still plans the first Spark job.

Spark starts that process (``daemon.py``) for the first Python task of an application, when the plan of the
first job is made. Each takes a second of one processor, so they are done at the same time: a Spark job of one
empty task, without a plan, comes first.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from pyspark.sql import SparkSession

from firesteel.spark.own_thread import THREAD
from firesteel.spark.settings import DAEMON

_GROUP: Final = "firesteel-start"
# Spark has a process for each set of variables, and adds these to those of a task of SQL.
_OF_SQL: Final = {"SPARK_SIMPLIFIED_TRACEBACK": "1"}
_PIPELINED: Final = "spark.python.udf.pipelined.enabled"
_DEPTH: Final = "spark.python.udf.pipelined.queueDepth"


def start_daemon(session: SparkSession) -> None:
    """Start it, if it is one of ours; return at once."""
    context = session.sparkContext
    conf = context.getConf()
    if any(conf.get(key) != value for key, value in DAEMON.items()):
        return
    threading.Thread(target=_run_a_task, args=(context, conf), name="firesteel-start", daemon=True).start()


def _run_a_task(context: Any, conf: Any) -> None:
    variables = dict(_OF_SQL)
    if conf.get(_PIPELINED, "false") == "true":
        variables |= {THREAD: "1", f"{THREAD}_QUEUE_DEPTH": conf.get(_DEPTH, "2")}
    before = dict(context.environment)
    context.environment.update(variables)
    try:
        context.setJobGroup(_GROUP, "starts the process of the Python workers")
        context.parallelize((0,), 1).foreach(_nothing)
    except Exception:  # the program has ended meanwhile; what else is wrong, the first job will say
        pass
    finally:  # not for the program's own tasks
        for name in variables.keys() - before.keys():
            context.environment.pop(name, None)


def _nothing(_: Any) -> None:
    return
