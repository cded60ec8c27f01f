"""A session cluster with an engine: Spark."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import psutil

from tests.cluster.support import SessionCluster, environment
from tests.spark.support import firesteel
from tests.waiting import patience


class SparkCluster(SessionCluster):
    """Started and stopped by the command line."""

    def __init__(self, directory: Path, master: str = "local[2,4]", **settings: str) -> None:
        super().__init__(directory, **settings)
        self._master = master

    def start(self, **variables: str) -> SparkCluster:
        self.directory.mkdir(exist_ok=True)
        own = (word for key, value in self._settings.items() for word in ("-D", f"{key}={value}"))
        said = self.ours("start", "--spark-master", self._master, *own)
        assert said.startswith("The cluster is at http://127.0.0.1:"), said
        self.url = said.split()[4].rstrip(",")
        self.port = int(self.url.rpartition(":")[2])
        return self

    def ours(self, *words: str) -> str:
        command = firesteel(
            "cluster",
            *words,
            "--port",
            str(self.port),
            "-D",
            f"firesteel.cluster.dir={self.directory}/cluster",
        )
        done = subprocess.run(
            command,
            env=environment(TMPDIR=str(self.directory)),
            capture_output=True,
            text=True,
            timeout=patience(150),
        )
        return done.stdout + done.stderr

    @property
    def dispatcher(self) -> psutil.Process:
        return psutil.Process(json.loads((self.directory / "cluster" / "dispatcher.json").read_text())["pid"])

    @property
    def jvm(self) -> psutil.Process:
        (found,) = [child for child in self.dispatcher.children() if child.name() == "java"]
        return found

    def workers_of(self, job: str) -> list[int]:
        found = []
        for process in psutil.process_iter(["cmdline"]):
            try:
                if (
                    "pyspark.worker" in process.info["cmdline"]
                    and process.environ().get("FIRESTEEL_JOB") == job
                ):
                    found.append(process.pid)
            except (psutil.Error, TypeError):
                continue
        return found
