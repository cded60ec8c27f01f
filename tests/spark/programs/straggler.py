"""A job with speculation on and a task that stands still when it is run first: its copy wins. Prints JSON.

When the job is over the process of the task goes on. It must not write what it has: to a target that keeps
the last row of a key that would be an old one.

Spark never runs the copy on the host of the original, so the cluster has two hosts: a standalone master and
two workers in the JVM of the driver, at two loopback addresses.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from firesteel.common import Configuration, Encoder, Types
from firesteel.connectors import Sink, SinkWriter
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.connectors import FileSink
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.spark.java import find_java
from firesteel.spark.processes import find_process
from firesteel.spark.session import create_session

RECORDS = 6_000
KEYS = 31
HANGS_S = 300.0  # longer than the test waits for the program, however busy the machine
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "500ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.2",
    "spark.python.task.killTimeout": "600s",  # the process of a task that is given up stays
}


class Sums(KeyedProcessFunction):
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[tuple[int, int]]:
        if value == RECORDS // 2:
            self._hang_once()
        total = (self.sum.value() or 0) + value
        self.sum.update(total)
        yield value, total

    def _hang_once(self) -> None:
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            self.marker.with_suffix(".copied").touch()
            return
        self.marker.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)


class Latest(SinkWriter):
    """Writes at once, as to a table by key: of the lines of a key the last one counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []

    def write(self, element: tuple[int, int], context: Any) -> None:
        self.lines.append(f"{element[0] % KEYS} {element[1]}\n")

    def flush(self, end_of_input: bool) -> None:
        with self.path.open("a") as file:
            file.write("".join(self.lines))


class LatestSink(Sink):
    def __init__(self, path: Path) -> None:
        self.path = path

    def create_writer(self, context: Any) -> SinkWriter:
        return Latest(self.path)


def go_on(process: int) -> bool:
    """Whether the process that stood still has come to its end."""
    os.kill(process, signal.SIGCONT)
    until_s = time.monotonic() + HANGS_S
    while time.monotonic() < until_s:
        found = find_process(process)
        if found is None or found.state == "Z":
            return True
        time.sleep(0.05)
    return False


def start_cluster(work: Path) -> str:
    """The address of a cluster of two workers with a core each."""
    os.environ["JAVA_HOME"] = find_java()
    SparkContext._ensure_initialized()  # the JVM, without a Spark context
    jvm, gateway = SparkContext._jvm, SparkContext._gateway
    assert jvm is not None
    assert gateway is not None
    conf = jvm.org.apache.spark.SparkConf(False)
    deploy = jvm.org.apache.spark.deploy
    master = deploy.master.Master.startRpcEnvAndEndpoint("127.0.0.1", 0, 0, conf)
    address = f"spark://{master._1().address().hostPort()}"
    masters = gateway.new_array(jvm.java.lang.String, 1)
    masters[0] = address
    none = jvm.scala.Option.empty()
    for number, host in enumerate(("127.0.0.1", "127.0.0.2")):
        deploy.worker.Worker.startRpcEnvAndEndpoint(
            host, 0, 0, 1, 1024, masters, str(work / "workers"), jvm.scala.Option.apply(number), conf, none
        )
    return address


if __name__ == "__main__":
    work = Path(sys.argv[1])
    settings = {**SPECULATION, "spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m"}
    spark = create_session(start_cluster(work), "straggler", settings)
    configuration = Configuration()
    configuration.set_string("firesteel.epoch.max-records", "2000")
    configuration.set_string("firesteel.state.dir", str(work / "state"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(2)
    stream = (
        env.from_collection(range(RECORDS), Types.LONG())
        .key_by(lambda v: v % KEYS)
        .process(Sums(work / "hung"))
    )
    stream.sink_to(LatestSink(work / "latest"))
    stream.map(str, Types.STRING()).sink_to(
        FileSink.for_row_format(str(work / "out"), Encoder.simple_string_encoder()).build()
    )
    begun = time.monotonic()
    env.execute("straggler")
    elapsed_s = time.monotonic() - begun
    stood_still = int((work / "hung").read_text())
    outcome = {
        "elapsed_s": elapsed_s,
        "is_copied": (work / "hung.copied").exists(),
        "has_ended": go_on(stood_still),
    }
    spark.stop()
    print(json.dumps(outcome))
