"""Session clusters for tests, and programs that are handed in."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firesteel.cluster.client import Address, ClusterUnreachableError, RequestRefusedError, RestClient
from tests import waiting
from tests.spark.support import firesteel

ROOT = Path(__file__).parents[2]
JOB_ID = re.compile(r"Job has been submitted with JobID ([0-9a-f]{32})")
PREAMBLE = """
import os, sys, time
from pathlib import Path
from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors import DataGeneratorSource, RateLimiterStrategy
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
def endless():
    source = DataGeneratorSource(lambda i: i, None, RateLimiterStrategy.per_second(200), Types.LONG())
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "ticks")
"""


def environment(**variables: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, **variables}


class SessionCluster:
    """A dispatcher in a process of its own, with the engine of the tests."""

    def __init__(self, directory: Path, **settings: str) -> None:
        self.directory = directory
        self.port = 0
        self._settings = settings
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self, **variables: str) -> SessionCluster:
        """Returns when it answers; after the first time at the same port."""
        options = {
            "firesteel.cluster.dir": str(self.directory / "cluster"),
            "rest.port": str(self.port),
            **self._settings,
        }
        self.directory.mkdir(exist_ok=True)
        with (self.directory / "dispatcher.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cluster.dispatcher", *(f"{k}={v}" for k, v in options.items())],
                cwd=ROOT,
                env=environment(TMPDIR=str(self.directory), **variables),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        assert self.url, (self.directory / "dispatcher.log").read_text()[-4000:]
        self.port = int(self.url.rpartition(":")[2])
        return self

    @property
    def client(self) -> RestClient:
        return RestClient(Address("127.0.0.1", self.port), patience=1)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self.wait()

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    @property
    def leads(self) -> bool:
        """Whether it answers by itself, and not that another dispatcher leads."""
        try:
            with urllib.request.urlopen(f"{self.url}/v1/overview", timeout=10) as answer:
                return bool(answer.status == 200)
        except OSError:  # of HTTP too
            return False

    def wait(self) -> int:
        assert self._process is not None
        code = self._process.wait(waiting.patience(60))
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
        return code

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self.wait()

    # ---- jobs

    def program(self, text: str, name: str = "program.py") -> Path:
        path = self.directory / f"program-{time.monotonic_ns()}"
        path.mkdir()
        (path / name).write_text(PREAMBLE + text)
        return path / name

    def start_client(
        self, program: Path, *words: str, options: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            firesteel("run", "-m", self.address, *options, program.name, *words),
            cwd=program.parent,
            env=environment(TMPDIR=str(self.directory)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, text: str, *words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run a program to the end of its client."""
        client = self.start_client(self.program(text), *words, options=options)
        out, err = client.communicate(timeout=waiting.patience(120))
        return subprocess.CompletedProcess(client.args, client.returncode, out, err)

    def info(self, text: str) -> Any:
        """The graphs of a program as ``firesteel info`` shows them, which asks no cluster."""
        program = self.program(text)
        done = subprocess.run(
            firesteel("info", "--json", program.name),
            cwd=program.parent,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=waiting.patience(60),
            check=True,
        )
        return json.loads(done.stdout)

    def submit(self, text: str, *words: str) -> list[str]:
        """The ids of the jobs of a program that nobody waits for."""
        done = self.run(text, *words, options=("-d",))
        assert done.returncode == 0, done.stderr
        return JOB_ID.findall(done.stdout)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            firesteel(*words, "-m", self.address),
            cwd=self.directory,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=waiting.patience(60),
        )

    def status(self, job: str) -> str:
        return str(self.client.get(f"/v1/jobs/{job}/status")["status"])

    def await_status(self, job: str, *wanted: str, seconds: float = 60) -> str:
        def status() -> str | None:
            found = self.status(job)
            assert found in wanted or found not in ("FINISHED", "FAILED", "CANCELED"), (
                found,
                self.log_of(job),
            )
            return found if found in wanted else None

        return str(until(status, seconds))

    def await_epoch(self, job: str, epoch: int = 1) -> None:
        until(lambda: self.client.get(f"/firesteel/v1/jobs/{job}/epochs")["epoch"] >= epoch, 60)

    def failure_of(self, job: str) -> str:
        found = self.client.get(f"/v1/jobs/{job}/exceptions")
        return "\n".join(entry["stacktrace"] for entry in found["exceptionHistory"]["entries"])

    def log_of(self, job: str, kind: str = "log") -> str:
        path = self.directory / "cluster" / "logs" / f"job-{job}.{kind}"
        return path.read_text() if path.exists() else ""


def until(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """The first value of ``condition`` that is true; a cluster that is being started may be asked."""

    def asked() -> Any:
        try:
            return condition()
        except (ClusterUnreachableError, RequestRefusedError):
            return None

    return waiting.until(asked, seconds=seconds, look_s=0.05)
