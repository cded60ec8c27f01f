"""Kills an executor after the first result task of the first epoch, then goes on: ``deterministic`` routes by
the record, ``random`` by ``random()``; in ``silent`` the executor is stopped instead, so that
nothing but its silence tells that it is lost. Prints what came out of each, as JSON."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession

from firesteel.common import Configuration, Types
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.program.execution import get_executor
from firesteel.spark.machines import machines
from firesteel.spark.session import create_session

RECORDS = 20_000
EPOCH = 5_000  # records of one of the three splits: two epochs
KEYS = 61
PARALLELISM = 3  # on two cores: when the first result task has ended, one has yet to begin
DEADLINE_S = 120.0
SILENCE_S = 30
SILENCE = ("spark.network.timeout", "spark.storage.blockManagerHeartbeatTimeoutMs")
ROUTINGS = ("deterministic", "random", "silent")


class Counts(KeyedProcessFunction):
    """(value, count of the key, sum of the key). Subtask 0 of the first epoch tells where it runs; the others
    wait until that executor has been killed."""

    def __init__(self, folder: Path) -> None:
        self.executor_file = folder / "executor"
        self.killed = folder / "killed"

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: tuple[Any, ...], ctx: Any) -> Iterator[tuple[int, int, int]]:
        if not self.killed.exists():
            self._first_epoch()
        count, total = (self.count.value() or 0) + 1, (self.sum.value() or 0) + value[1]
        self.count.update(count)
        self.sum.update(total)
        yield value[1], count, total

    def _first_epoch(self) -> None:
        if self.subtask == 0:  # worker -> Spark's daemon -> executor
            self.executor_file.write_text(str(psutil.Process(os.getppid()).ppid()))
            return
        deadline = time.monotonic() + DEADLINE_S
        while not self.killed.exists() and time.monotonic() < deadline:
            time.sleep(0.02)


def kill_after_first_result(session: SparkSession, folder: Path, silently: bool) -> None:
    """The result stage has ended one task: it was that of subtask 0, for the others wait."""
    status = session.sparkContext.statusTracker()
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        infos = [status.getStageInfo(stage) for stage in status.getActiveStageIds()]
        if (folder / "executor").exists() and any(i is not None and i.numCompletedTasks >= 1 for i in infos):
            executor = psutil.Process(int((folder / "executor").read_text()))
            before = set(ids_of_executors(session))
            executor.suspend() if silently else executor.kill()
            while before <= set(ids_of_executors(session)) and time.monotonic() < deadline:
                time.sleep(0.05)  # until Spark has seen it
            if silently:
                executor.kill()
            (folder / "killed").touch()
            return
        time.sleep(0.01)


def ids_of_executors(session: SparkSession) -> list[str]:
    """As the REST API has them."""
    return [worker.id for worker in machines(session).workers]


def await_executors(session: SparkSession, count: int) -> list[str]:
    """They come one after the other."""
    deadline = time.monotonic() + DEADLINE_S
    while len(found := ids_of_executors(session)) < count and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def run(session: SparkSession, folder: Path, routing: str) -> dict[str, Any]:
    folder.mkdir()
    configuration = Configuration()
    configuration.set_string("firesteel.epoch.max-records", str(EPOCH))
    configuration.set_string("firesteel.epoch.time-limit", "false")  # functions wait for the kill
    configuration.set_string("firesteel.state.dir", str(folder / "state"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=session)
    env.set_parallelism(PARALLELISM)
    if routing == "random":
        keyed = env.from_sequence(0, RECORDS - 1).map(lambda v: (random.randrange(KEYS), v))
    else:
        keyed = env.from_sequence(0, RECORDS - 1).map(lambda v: (v % KEYS, v))
    before = await_executors(session, 2)
    begun = time.monotonic()
    results = keyed.key_by(lambda v: v[0]).process(Counts(folder)).execute_and_collect()
    (job,) = get_executor().running_jobs
    killer = threading.Thread(target=kill_after_first_result, args=(session, folder, routing == "silent"))
    killer.start()
    found = list(results)
    killer.join()
    return {
        "executors": [before, await_executors(session, 2)],
        "elapsed_s": time.monotonic() - begun,
        "killed": (folder / "killed").exists(),
        "status": job.status.name,
        "attempts": [report.attempts for report in job.view.reports],
        "values": sorted(value for value, _, _ in found),
        "first": sum(count == 1 for _, count, _ in found),
        "last": sorted({v % KEYS: (c, t) for v, c, t in sorted(found, key=lambda r: r[1])}.items()),
    }


if __name__ == "__main__":
    work = Path(sys.argv[1])
    # The files of a dead executor are not asked for again and again.
    fast = {"spark.shuffle.io.maxRetries": "1", "spark.shuffle.io.retryWait": "100ms"}
    # What counts as silence is far longer than machines of tests stand still: after eight seconds Spark took
    # executors for lost that lived, as soon as it went on itself.
    fast |= {"spark.executor.heartbeatInterval": "1s", "spark.network.timeoutInterval": "1s"}
    fast |= dict.fromkeys(SILENCE, f"{SILENCE_S}s")
    spark = create_session("local-cluster[2,1,1024]", "kill", fast)
    outcome = {routing: run(spark, work / routing, routing) for routing in ROUTINGS}
    spark.stop()
    print(json.dumps(outcome))
