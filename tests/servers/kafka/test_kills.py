"""Kafka to keyed windows to Kafka, exactly once, while whatever takes part in it is killed.

``FIRESTEEL_KAFKA_KILLS`` says how often; 2 when it is not set, a worker and an executor: drivers and the
broker are in ``test_killed_drivers.py``, without Spark.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.support import eventually
from tests.servers.kafka.windows_support import PARTITIONS, expected, produce

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).parent / "programs" / "windows.py"
KILLS = int(os.environ.get("FIRESTEEL_KAFKA_KILLS", "2"))
PORTION = 600  # records of one partition between two kills


class Job:
    """The program on a cluster of two executors; its drivers follow one another."""

    def __init__(self, broker: KafkaBroker, directory: Path, topic: str, target: str) -> None:
        options = {
            "execution.checkpointing.interval": "300 ms",
            "execution.checkpointing.dir": str(directory / "checkpoints"),
            "firesteel.state.dir": str(directory / "state"),
            "firesteel.epoch.max-records": "150",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1000",
            "restart-strategy.fixed-delay.delay": "200 ms",
        }
        definitions = [word for key, value in options.items() for word in ("-D", f"{key}={value}")]
        stop = (KILLS + 1) * PORTION
        self._command = [
            *(sys.executable, "-c", "from firesteel.cli import main; main()"),
            *("run", "--quiet", "--master", "local-cluster[2,1,1024]", "-p", "2"),
            *("--from-checkpoint", "latest", *definitions, str(PROGRAM)),
            *(broker.address, topic, str(PARTITIONS), str(stop), target),
        ]
        self._directory = directory
        self._log = (directory / "job.log").open("ab")
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            cwd=self._directory,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        )

    @property
    def log(self) -> str:
        return (self._directory / "job.log").read_text(errors="replace")[-5000:]

    def kill_driver(self) -> None:
        """With all that belongs to it, as when its machine is gone; the next one goes on."""
        self._kill_all()
        self._process = self._start()

    def _kill_all(self) -> None:
        processes = self._processes()
        os.killpg(self._process.pid, signal.SIGKILL)
        for process in processes:
            if process.is_running():
                process.kill()
        self._process.wait(20)

    def kill_executor(self) -> None:
        self._kill_one("CoarseGrainedExecutorBackend")

    def kill_worker(self) -> None:
        self._kill_one("pyspark.daemon")

    def _processes(self) -> list[psutil.Process]:
        return psutil.Process(self._process.pid).children(recursive=True)

    def _kill_one(self, what: str) -> None:
        found: list[psutil.Process] = []

        def look() -> bool:
            for process in self._processes():
                try:
                    if any(what in word for word in process.cmdline()):
                        found.append(process)
                except psutil.NoSuchProcess:
                    continue
            return bool(found)

        eventually(look, f"no {what} is there: {self.log}", 60)
        found[-1].kill()

    def wait(self, timeout_s: float) -> int:
        return self._process.wait(timeout_s)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        if not self.has_ended:
            self._kill_all()
        self._log.close()


@pytest.mark.timeout(600 + 60 * KILLS)
@pytest.mark.row("S-CONN-02")
def test_every_result_is_there_once(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic, target = kafka_broker.topic(PARTITIONS), kafka_broker.topic(2)
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    produce(kafka_broker, topic, 0, PORTION)
    job = Job(kafka_broker, tmp_path, topic, target)

    def kill_broker() -> None:
        kafka_broker.kill()
        time.sleep(chance.random() * 2)
        kafka_broker.start()

    kinds = [job.kill_worker, job.kill_executor, kill_broker, job.kill_driver]
    order = [*kinds, *(chance.choice(kinds) for _ in range(KILLS))][:KILLS]
    names = f"seed {seed}: {[kill.__name__ for kill in order]}"
    try:
        for number, kill in enumerate(order):
            _await_progress(kafka_broker, job, topic, number, chance, names)
            kill()
            produce(kafka_broker, topic, (number + 1) * PORTION, (number + 2) * PORTION)
        assert job.wait(180) == 0, f"{names} {job.log}"
    finally:
        job.close()
    assert sorted(kafka_broker.values(target)) == expected((KILLS + 1) * PORTION), names


def _await_progress(
    broker: KafkaBroker, job: Job, topic: str, portion: int, chance: random.Random, names: str
) -> None:
    """A checkpoint in the present portion, and a moment more."""
    group = f"group-of-{topic}"

    def is_there() -> bool:
        assert not job.has_ended, f"{names} {job.log}"
        return broker.committed_offset(group, topic) > portion * PORTION

    eventually(is_there, f"nothing moves on: {names} {job.log}", 300)
    time.sleep(chance.random())
