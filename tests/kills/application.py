"""A driver: one Spark application that runs the job as often as it is told to.

    python -m tests.kills.application WORK HOSTS MODE

HOSTS is 1 for ``local-cluster``, 2 for two workers at two addresses: Spark runs no copy of a task on the host
of the original. MODE is ``epochs`` or ``real-time``. Each line of standard input is a run, as JSON:
``place``, ``kind``, ``seed``, and ``dies``, the fault point that kills this driver with its count, or null.
Each line of standard output says what has happened. A run that another driver has begun is gone on with; one
that has finished is not run again.
"""

from __future__ import annotations

import faulthandler
import hashlib
import json
import pickle
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from firesteel.common import Configuration
from firesteel.common.errors import JobExecutionError
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.jobmanager.checkpoints.storage import SupersededError
from firesteel.program.execution import get_executor
from firesteel.spark.session import create_session
from tests.jobmanager.programs.fault_points import die_at
from tests.kills import faulty_files, job, tables
from tests.kills.strikes import SQL, strike_of, struck
from tests.spark.programs.straggler import SPECULATION, start_cluster

# What is dead is not waited for, and comes back as often as it dies; what is only slow is not taken for dead.
_PATIENCE: Final = {
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "100ms",
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.network.timeout": "600s",
    "spark.worker.timeout": "600",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
}

#: Has a driver write to standard error where each of its threads is.
SAY_WHERE: Final = signal.SIGUSR1
_RATE: Final = 1_000.0  # in real time, where records that are there are read in no time


def main(work: str, hosts: int, mode: str) -> None:
    cores = 1 if mode == "epochs" else 5
    master = f"local-cluster[2,{cores},1024]" if hosts == 1 else start_cluster(Path(work))
    own = SPECULATION if hosts == 2 else {}
    session = create_session(master, "kills", {**_PATIENCE, **own, "spark.local.dir": work})
    faulthandler.register(SAY_WHERE)
    _say(event="ready")
    for line in sys.stdin:
        _run(session, mode, **json.loads(line))
    session.stop()


def _run(
    session: SparkSession, mode: str, place: str, kind: str, seed: int, dies: tuple[str, int] | None
) -> None:
    where = Path(place)
    if strike_of(kind) == "failing write":
        faulty_files.install(place)
        get_executor().add_bootstrap(pickle.dumps(partial(faulty_files.install, place)))
    (where / "output").mkdir(exist_ok=True)
    env = _environment(session, where)
    env.set_execution_mode(mode)
    program = tables if kind.startswith(SQL) else job
    program.build(env, where / "output", rate=None if mode == "epochs" else _RATE)
    if dies is not None:
        die_at(*dies)
    _say(event="begin")
    begun = time.monotonic()
    try:
        with struck(kind, session, seed, where) as strikes:
            env.execute("kills")
    except JobExecutionError as error:
        if not isinstance(error.__cause__, SupersededError):
            raise
        _say(event="superseded")
        return
    seconds = time.monotonic() - begun
    _say(
        event="end",
        seconds=seconds,
        strikes=sum(strikes),
        differences=program.differences(where / "output", may_leave="driver" in kind),
    )


def _environment(session: SparkSession, where: Path) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict(
        {
            "$internal.pipeline.job-id": hashlib.md5(str(where).encode()).hexdigest(),
            "execution.checkpointing.interval": "100 ms",
            "execution.checkpointing.dir": str(where / "checkpoints"),
            "execution.checkpointing.num-retained": "2",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1000",
            "restart-strategy.fixed-delay.delay": "100 ms",
            "firesteel.epoch.max-records": str(job.PER_EPOCH),
            "firesteel.local-dir": str(where / "local"),
        }
    )
    return StreamExecutionEnvironment.get_execution_environment(configuration, spark=session)


def _say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
