"""Spark jobs whose stages all run at once: their exchanges are Spark's streaming shuffle.

Spark 4.3 runs two stages together when the dependency between them is a ``PipelinedShuffleDependency``, and
an exchange makes one when it is marked as pipelined. Structured Streaming's real-time mode marks its
exchanges by a rule of its planner; this module marks those of a plain batch job, through py4j. The names that
it uses are internal to Spark; of the operators of plans, ``level_plan.py`` knows, too.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from firesteel.common.errors import EngineError, NoSlotsError
from firesteel.spark.bursts import ROWS
from firesteel.spark.machines import slots_of
from firesteel.spark.session import losses
from firesteel.spark.settings import PUSH_BYTES, REAL_TIME

#: Of the Spark jobs: their tasks hold slots until the end.
TAG: Final = "firesteel-real-time"
#: Of those of this process.
OWN_TAG: Final = f"{TAG}-of-{uuid.uuid4().hex}"
#: Of the child session in which such jobs run.
PIPELINED: Final[Mapping[str, str]] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    # See ``bursts.py``. The JVM collects batches for Python up to the size of its buffer.
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS),
    "spark.sql.execution.pandas.udf.buffer.size": str(PUSH_BYTES),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # A pipelined stage cannot be repeated, and Spark refuses what would have to.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled": "false",
}
# What Spark itself refuses a pipelined job for, or what would leave its output open to others.
_REFUSED: Final[Mapping[str, str]] = {
    "spark.dynamicAllocation.enabled": "all tasks of the job have to run at the same time",
    "spark.speculation": "a task cannot run twice beside itself",
    "spark.authenticate": "the connections of the streaming shuffle take no part in it: anyone could connect",
}
_PATIENCE_S: Final = 30.0  # for executors that are started, and for tasks that are still ending
_PAUSE_S: Final = 0.1
_LOCAL_CLUSTER: Final = re.compile(
    r"local-cluster\[\s*(?P<executors>\d+)\s*,\s*(?P<cores>\d+)\s*,\s*\d+\s*\]"
)
_NO_SLOTS: Final = "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"
_EXCHANGE: Final = "ShuffleExchangeExec"


def why_not(session: SparkSession, slots: int, taken: int = 0, *, must: bool = True) -> list[str]:
    """Why *session* cannot run a job of that many slots, a sentence for each reason; empty: it can.

    :param taken: slots of jobs of this process, some of which may not have begun yet.
    :param must: the job runs in no other way, so executors that may come are waited for, and jobs that hold
        slots may end.
    """
    if not hasattr(session, "_jsparkSession"):
        return ["the session is one of Spark Connect, which gives no access to a plan"]
    lost = losses(session, REAL_TIME)
    if lost and not must:
        key = lost[0].partition(" ")[0]
        lost = [f"the Spark session was created without the settings of real time, as {key}"]
    reasons = lost + [
        f"{key} is true: {why}"
        for key, why in _REFUSED.items()
        if (session.conf.get(key, None) or "").lower() == "true"
    ]
    if reasons and not must:
        return reasons
    held = 0 if must else taken + _held_by_others(session)
    there = _slots(session, held + slots, must=must)
    if there - held < slots:
        reasons.append(
            f"it needs {slots} slots at the same time, one for each subtask of all levels and some for "
            f"commits, and {session.sparkContext.master} has {there}"
            + (f", {held} of which other jobs in real time hold" if held else "")
        )
    return reasons


def _slots(session: SparkSession, wanted: int, *, must: bool) -> int:
    """How many there are. Executors of a cluster come one after the other, and are waited for."""
    context = session.sparkContext
    until = time.monotonic() + _patience_s(context, wanted, must=must)
    while (there := slots_of(context)) < wanted and time.monotonic() < until:
        time.sleep(_PAUSE_S)
    return there


def _patience_s(context: SparkContext, wanted: int, *, must: bool) -> float:
    """How long executors are waited for: by a job that has another way only in the first seconds of an
    application that may get so many."""
    if (_most_slots(context) or wanted) < wanted:
        return 0.0
    if must:
        return _PATIENCE_S
    return _PATIENCE_S - (time.time() - context.startTime / 1000)


def _most_slots(context: SparkContext) -> int | None:
    """How many there will ever be; None: that is not known."""
    conf, master = context.getConf(), context.master or ""
    cpus = int(conf.get("spark.task.cpus", "1"))
    if (local := _LOCAL_CLUSTER.fullmatch(master)) is not None:
        return int(local["executors"]) * int(local["cores"]) // cpus
    if master.startswith("local"):
        return slots_of(context)
    executors, cores = conf.get("spark.executor.instances", None), conf.get("spark.cores.max", None)
    if executors is not None:
        return int(executors) * (int(conf.get("spark.executor.cores", "1")) // cpus)
    return None if cores is None else int(cores) // cpus


def _held_by_others(session: SparkSession) -> int:
    """The slots of jobs in real time that other processes run which share the session."""
    context: Any = session.sparkContext
    running = context._jvm.java.util.List.of(context._jvm.org.apache.spark.JobExecutionStatus.RUNNING)
    jobs = context._jsc.sc().statusStore().jobsList(running)
    found = [(job, job.jobTags()) for job in (jobs.apply(number) for number in range(jobs.size()))]
    return sum(
        job.numTasks() - job.numCompletedTasks()
        for job, tags in found
        if tags.contains(TAG) and not tags.contains(OWN_TAG)
    )


def when_slots_are_free(run: Callable[[], None], is_given_up: Callable[[], bool]) -> None:
    """Run a pipelined job as soon as Spark has room for it.

    A job that failed has ended for its driver while some of its tasks still run: the one that follows it may
    find their slots taken. Spark refuses it before any task has begun.

    :raises NoSlotsError: there was none for half a minute.
    """
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return run()
        except Exception as e:
            if _NO_SLOTS not in str(e) or is_given_up():
                raise
            if time.monotonic() > until:
                raise NoSlotsError(
                    "Spark has no room for the tasks of the job at the same time",
                    detail=f"for {_PATIENCE_S:.0f} s",
                    hint="other jobs hold its slots, or an executor was lost",
                ) from e
        time.sleep(_PAUSE_S)


def pipelined(frame: DataFrame) -> DataFrame:
    """The same rows, by a job whose stages all run at once.

    Each of its tasks takes a slot for as long as the job runs. A sort or anything else that waits for the end
    of its input waits for the end of the job.

    :raises EngineError: there is no exchange in the plan.
    """
    session: Any = frame.sparkSession
    jvm, own = session._jvm, session._jsparkSession
    # ``withNewChildren`` asks for the session of the thread, and this thread may have none.
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(own)
    java: Any = frame._jdf
    plan, exchanges = _marked(jvm, java.queryExecution().executedPlan())
    if not exchanges:
        raise EngineError("A job of one stage has nothing to hand on.", detail=plan.toString())
    rows = plan.execute()
    return DataFrame(own.internalCreateDataFrame(rows, java.schema(), False), session)


def _marked(jvm: Any, plan: Any) -> tuple[Any, int]:
    """*plan* with all its exchanges marked, and how many there are."""
    children = plan.children()
    done = [_marked(jvm, children.apply(i)) for i in range(children.size())]
    exchanges = sum(count for _, count in done)
    if done:
        new = jvm.java.util.ArrayList()
        for child, _ in done:
            new.add(child)
        plan = plan.withNewChildren(jvm.scala.jdk.javaapi.CollectionConverters.asScala(new).toSeq())
    if plan.getClass().getSimpleName() == _EXCHANGE:
        plan = plan.copy(
            plan.outputPartitioning(), plan.child(), plan.shuffleOrigin(), plan.advisoryPartitionSize(), True
        )
        exchanges += 1
    return plan, exchanges
