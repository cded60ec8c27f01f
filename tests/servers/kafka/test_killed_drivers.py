"""Drivers that are killed at every point of a commit to Kafka, and a broker that dies meanwhile: each result
is there once.

``FIRESTEEL_KAFKA_KILLS`` says how often a driver dies at random points; 5 when it is not set.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.programs.killed import POINTS
from tests.servers.kafka.windows_support import PARTITIONS, expected, produce

ROOT = Path(__file__).parents[3]
KILLS = int(os.environ.get("FIRESTEEL_KAFKA_KILLS", "5"))
RECORDS = 800  # of each partition


class Job:
    def __init__(self, broker: KafkaBroker, directory: Path, *, broker_may_be_away: bool = False) -> None:
        self._broker_may_be_away = broker_may_be_away  # then a driver that begins is told so, and ends
        self._broker = broker
        self._directory = directory
        self._topic, self._target = broker.topic(PARTITIONS), broker.topic(2)
        produce(broker, self._topic, 0, RECORDS)

    def run(self, point: str = "none", count: int = 0) -> int:
        """The exit code of a driver that goes on with the job."""
        paths = [str(ROOT / "src"), str(ROOT)]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tests.servers.kafka.programs.killed"),
                *(str(self._directory / "checkpoints"), point, str(count)),
                *(self._broker.address, self._topic, str(PARTITIONS), str(RECORDS), self._target),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=240,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        )
        refused = self._broker_may_be_away and "ConnectorError" in done.stderr
        assert done.returncode in (0, -signal.SIGKILL) or refused, done.stderr[-3000:]
        return done.returncode

    def check(self, how: str = "") -> None:
        assert sorted(self._broker.values(self._target)) == expected(RECORDS), how


@pytest.mark.timeout(600)
@pytest.mark.row("S-CONN-02")
def test_a_driver_dies_at_each_point_in_turn(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    job = Job(kafka_broker, tmp_path)
    passed = [point for point in POINTS if job.run(point, 1) == 0]
    assert passed == [], "the points were passed by"
    assert job.run() == 0
    job.check()


@pytest.mark.timeout(300 + 60 * KILLS)
def test_drivers_and_the_broker_die_at_random(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    job = Job(kafka_broker, tmp_path, broker_may_be_away=True)
    deaths: list[tuple[str, int]] = []
    for number in range(KILLS):
        if number % 2 == 0:
            killer = threading.Thread(target=_kill_broker, args=(kafka_broker, 2 + 3 * chance.random()))
            killer.start()
        deaths.append((chance.choice(list(POINTS)), chance.randrange(1, 6)))
        code = job.run(*deaths[-1])
        killer.join()
        if code == 0:
            break
    else:
        assert job.run() == 0
    job.check(f"seed {seed}: {deaths}")


def _kill_broker(broker: KafkaBroker, delay_s: float) -> None:
    time.sleep(delay_s)
    broker.kill()
    broker.start()
