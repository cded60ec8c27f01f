"""A real standalone Spark, as docs/deployment.md starts it: a master and a worker, each its own process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil
import pyspark

from firesteel.spark.java import find_java
from tests.jvms import QUICK
from tests.waiting import patience, until

SPARK_HOME = Path(pyspark.__file__).parent
#: Of an application that leaves room for others.
SMALL: Final = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.cores.max": "1",
    "spark.network.timeout": "600s",
    "spark.rpc.askTimeout": "120s",
}
_ROOT = Path(__file__).parents[2]
_MASTER = "org.apache.spark.deploy.master.Master"
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_WORKER = "org.apache.spark.deploy.worker.Worker"
# On a busy machine nobody is taken for dead. And there is no second port, which would be the same for all.
_PATIENT = ("-Dspark.network.timeout=600s", "-Dspark.master.rest.enabled=false")


class StandaloneSpark:
    """:param directory: logs, and the directories of executors and drivers, are in it."""

    def __init__(self, directory: Path) -> None:
        self.work = directory / "work"
        self.url = ""
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, cores: int, memory: str) -> None:
        self.url = self._daemon(
            "master", r"Starting Spark master at (spark://\S+)", _MASTER, "--port", "0", "--webui-port", "0"
        )
        self._daemon(
            *("worker", r"Successfully registered with (master)", _WORKER, "--webui-port", "0"),
            *("--cores", str(cores), "--memory", memory, "--work-dir", str(self.work), self.url),
        )

    @property
    def variables(self) -> dict[str, str]:
        """What daemons, ``spark-submit`` and what those start have in their environment."""
        return {
            **os.environ,
            "JAVA_HOME": find_java(),
            "SPARK_HOME": str(SPARK_HOME),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([str(_ROOT / "src"), str(_ROOT)]),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": " ".join((QUICK, *_PATIENT)),
        }

    def submit(self, *words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run ``spark-submit`` to its end."""
        return subprocess.run(
            [str(SPARK_HOME / "bin" / "spark-submit"), "--master", self.url, *map(str, words)],
            cwd=cwd,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(120),
        )

    def executors(self) -> list[psutil.Process]:
        """The processes of the executors that live, of all applications."""
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if _EXECUTOR in (process.info["cmdline"] or []) and self._has(process.info["cmdline"])
        ]

    def _has(self, words: list[str]) -> bool:
        """Whether the command line is that of an executor of this Spark, not of another one."""
        return (self.work / words[words.index("--app-id") + 1]).exists()

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait(patience(30))

    def _daemon(self, name: str, ready: str, *words: str) -> str:
        """Start it; what it says of itself when it is ready."""
        log = self._directory / f"{name}.log"
        command = [str(SPARK_HOME / "bin" / "spark-class"), words[0], "--host", "127.0.0.1", *words[1:]]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env=self.variables, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self._processes.append(process)

        def said() -> re.Match[str] | None:
            assert process.poll() is None, log.read_text()
            return re.search(ready, log.read_text())

        found = until(said, log.read_text, 60)
        assert found is not None
        return found[1]


@contextmanager
def standalone_spark(directory: Path, cores: int, memory: str) -> Iterator[StandaloneSpark]:
    spark = StandaloneSpark(directory)
    try:
        spark.start(cores, memory)
        yield spark
    finally:
        spark.stop()
