"""A job whose JVM dies in the middle, and a second job in the same process."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from firesteel.common import Configuration, Types
from firesteel.common.errors import FiresteelError
from firesteel.datastream import StreamExecutionEnvironment

RECORDS = 200


def kill_the_jvm(committed: Path) -> None:
    """SIGKILL, once some of the job has been done."""
    while not committed.exists():
        threading.Event().wait(0.05)
    (java,) = [p for p in psutil.Process().children(recursive=True) if "java" in p.name()]
    print("killing", java.pid, flush=True)
    os.kill(java.pid, signal.SIGKILL)


def environment(options: argparse.Namespace, session: SparkSession | None) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("firesteel.epoch.max-records", "20")
    configuration.set_string("firesteel.epoch.target", "100 ms")
    configuration.set_string("restart-strategy.exponential-delay.initial-backoff", "100 ms")
    if options.checkpoints:
        configuration.set_string("execution.checkpointing.interval", "200 ms")
        configuration.set_string("execution.checkpointing.dir", str(options.directory / "checkpoints"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=session)
    env.set_parallelism(2)
    return env


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--checkpoints", action="store_true")
    parser.add_argument("--handed-in", action="store_true")
    options = parser.parse_args()
    session = SparkSession.builder.master("local[2,4]").getOrCreate() if options.handed_in else None
    progress = options.directory / "some"

    def slow(value: int) -> int:
        threading.Event().wait(0.02)
        if value > RECORDS // 8:
            progress.touch()
        return value

    killer = threading.Thread(target=kill_the_jvm, args=(progress,), daemon=True)
    killer.start()
    failures = 0
    for records in (RECORDS, 10):
        try:
            numbers = environment(options, session).from_sequence(1, records).map(slow, Types.LONG())
            sums = numbers.key_by(lambda v: v % 3).sum()
            found = list(sums.execute_and_collect())
            print("result", records, len(found), max(found), flush=True)
        except FiresteelError as e:
            failures += 1
            print("failed", str(e).replace("\n", " | "), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
