"""The program ``windows.py``, Kafka to keyed windows to Kafka exactly once, while what takes part in it is
killed: on Spark (`SparkJob`), and with drivers that die at chosen points, without Spark (`DyingJob`)."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import psutil
from confluent_kafka import KafkaException

from tests.kills.outcomes import ROOT, Outcome
from tests.servers.kafka.broker import JARS, KafkaBroker
from tests.servers.kafka.programs.killed import POINTS
from tests.servers.kafka.windows_support import PARTITIONS, expected, produce
from tests.waiting import patience, until

PROGRAM: Final = Path(__file__).parent / "programs" / "windows.py"
PORTION: Final = 600  # records of one partition between two kills of a job on Spark
RECORDS: Final = 800  # of each partition of a job without
VICTIMS: Final = ("worker", "executor", "broker", "driver")  # of a job on Spark
_PATHS: Final = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


class SparkJob:
    """The program on a cluster of two executors; its drivers follow one another.

    :param portions: of input, after which it ends.
    """

    def __init__(self, broker: KafkaBroker, directory: Path, portions: int) -> None:
        self.broker = broker
        self.topic, self.target = broker.topic(PARTITIONS), broker.topic(2)
        self._directory = directory
        self._log = (directory / "job.log").open("ab")
        produce(broker, self.topic, 0, PORTION)
        self._command = self._program(directory, portions * PORTION)
        self._process = self._start()

    def _program(self, directory: Path, stop: int) -> list[str]:
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
        return [
            *(sys.executable, "-c", "from firesteel.cli import main; main()"),
            *("run", "--quiet", "--master", "local-cluster[2,1,1024]", "-p", "2"),
            *("--from-checkpoint", "latest", *definitions, str(PROGRAM)),
            *(self.broker.address, self.topic, str(PARTITIONS), str(stop), self.target),
        ]

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            cwd=self._directory,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | _PATHS,
        )

    @property
    def log(self) -> str:
        return (self._directory / "job.log").read_text(errors="replace")[-5000:]

    def kill(self, victim: str, chance: random.Random) -> None:
        match victim:
            case "driver":
                self._kill_all()
                self._process = self._start()
            case "broker":
                self.broker.kill()
                time.sleep(chance.random() * 2)
                self.broker.start()
            case "executor":
                self._kill_one("CoarseGrainedExecutorBackend")
            case "worker":
                self._kill_one("pyspark.worker")
            case _:
                raise ValueError(victim)

    def _kill_all(self) -> None:
        """The driver with all that belongs to it, as when its machine is gone."""
        processes = self._processes()
        os.killpg(self._process.pid, signal.SIGKILL)
        for process in processes:
            if process.is_running():
                process.kill()
        self._process.wait(patience(20))

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

        until(look, f"no {what} is there: {self.log}", 60)
        found[-1].kill()

    def await_progress(self, portion: int, chance: random.Random) -> None:
        """A checkpoint in the present portion, and a moment more."""
        group = f"group-of-{self.topic}"

        def is_there() -> bool:
            assert self._process.poll() is None, f"the job has ended: {self.log}"
            try:
                return self.broker.committed_offset(group, self.topic) > portion * PORTION
            except KafkaException:  # a broker that has just come back may not answer yet
                return False

        until(is_there, f"nothing moves on: {self.log}", 300)
        time.sleep(chance.random())

    def wait(self, timeout_s: float) -> int:
        return self._process.wait(timeout_s)

    def close(self) -> None:
        if self._process.poll() is None:
            self._kill_all()
        self._log.close()


def kill_each(broker: KafkaBroker, directory: Path, victims: Sequence[str], chance: random.Random) -> int:
    """Kill *victims* of a job in turn and compare what it wrote; return how many there were."""
    job = SparkJob(broker, directory, len(victims) + 1)
    try:
        for number, victim in enumerate(victims):
            job.await_progress(number, chance)
            job.kill(victim, chance)
            produce(broker, job.topic, (number + 1) * PORTION, (number + 2) * PORTION)
        assert job.wait(300) == 0, job.log
    finally:
        job.close()
    compare(broker, job.target, (len(victims) + 1) * PORTION)
    return len(victims)


class DyingJob:
    """The program without Spark; its drivers kill themselves.

    :param broker_may_be_away: then a driver that begins may end with an error that says so.
    """

    def __init__(self, broker: KafkaBroker, directory: Path, *, broker_may_be_away: bool = False) -> None:
        self._broker_may_be_away = broker_may_be_away
        self._broker = broker
        self._directory = directory
        self._topic, self._target = broker.topic(PARTITIONS), broker.topic(2)
        produce(broker, self._topic, 0, RECORDS)

    def run(self, point: str = "none", count: int = 0) -> int:
        """The exit code of a driver that goes on with the job."""
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tests.servers.kafka.programs.killed"),
                *(str(self._directory / "checkpoints"), point, str(count)),
                *(self._broker.address, self._topic, str(PARTITIONS), str(RECORDS), self._target),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=patience(240),
            env=os.environ | _PATHS,
        )
        refused = self._broker_may_be_away and "ConnectorError" in done.stderr
        assert done.returncode in (0, -signal.SIGKILL) or refused, done.stderr[-3000:]
        return done.returncode

    def run_to_end(self, deaths: Sequence[tuple[str, int]]) -> int:
        """Drivers that die so, one after the other, and one that does not; return how many have died."""
        died = 0
        for death in deaths:
            code = self.run(*death)
            died += code == -signal.SIGKILL
            if code == 0:
                return died
        assert self.run() == 0
        return died

    def compare(self) -> None:
        compare(self._broker, self._target, RECORDS)


def die_at_a_point(broker: KafkaBroker, directory: Path, seed: int, chance: random.Random) -> int:
    """All points come in turn, each followed by up to one more; return how many drivers have died."""
    job = DyingJob(broker, directory)
    points = list(POINTS)
    deaths = [(points[seed % len(points)], chance.randrange(1, 4))]
    deaths += [(chance.choice(points), chance.randrange(1, 4))] * chance.randrange(2)
    died = job.run_to_end(deaths)
    job.compare()
    return died


def die_with_the_broker(broker: KafkaBroker, directory: Path, deaths: int, chance: random.Random) -> int:
    """Drivers die at random points, and the broker dies under each other one of them; return how often one
    of them has died."""
    job = DyingJob(broker, directory, broker_may_be_away=True)
    died = 0
    for number in range(deaths):
        away = threading.Event()
        killer = threading.Thread(target=_kill_later, args=(broker, 2 + 3 * chance.random(), away))
        if number % 2 == 0:
            killer.start()
        code = job.run(chance.choice(list(POINTS)), chance.randrange(1, 6))
        died += (code == -signal.SIGKILL) + away.is_set()
        if number % 2 == 0:
            killer.join()
        if code == 0:
            break
    else:
        assert job.run() == 0
    job.compare()
    return died


def _kill_later(broker: KafkaBroker, delay_s: float, away: threading.Event) -> None:
    time.sleep(delay_s)
    away.set()
    broker.kill()
    broker.start()


def compare(broker: KafkaBroker, target: str, records: int) -> None:
    """Check that each result for *records* of each partition is in *target* once."""
    assert sorted(broker.values(target)) == expected(records)


# ---- runs of the kinds

KINDS: Final = (
    *(f"kafka: {victim}" for victim in VICTIMS),
    "kafka: fault points",
    "kafka: driver and broker",
)


def hindrance() -> str:
    """Why these kinds cannot run on this machine; empty: they can."""
    if not (JARS / ".complete").exists():
        return f"there is no Kafka in {JARS}: run scripts/fetch-kafka"
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "there is no Java to run Kafka with: set JAVA_HOME"
    return ""


class KafkaCampaign:
    """Runs with one broker, each with topics of its own.

    :param work: an empty directory for everything.
    """

    def __init__(self, work: Path) -> None:
        self._work = work
        place = work / "broker"
        place.mkdir()
        self._broker = KafkaBroker(place)

    def __enter__(self) -> KafkaCampaign:
        self._broker.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._broker.stop()

    def runs_of(self, kind: str, runs: int, seed: int) -> Iterator[Outcome]:
        for number in range(runs):
            yield self._outcome(kind, seed + number)

    def _outcome(self, kind: str, seed: int) -> Outcome:
        place = self._work / f"{KINDS.index(kind)}-{seed}-{time.monotonic_ns()}"
        place.mkdir()
        begun, strikes, failure = time.monotonic(), 0, ""
        try:
            strikes = self._run_of(kind, seed)(self._broker, place)
        except Exception:
            failure = traceback.format_exc()[-6000:]
        return Outcome(kind, seed, strikes, time.monotonic() - begun, failure)

    def _run_of(self, kind: str, seed: int) -> Callable[[KafkaBroker, Path], int]:
        chance = random.Random(seed)
        name = kind.removeprefix("kafka: ")
        if name in VICTIMS:
            return lambda broker, place: kill_each(broker, place, [name], chance)
        if name == "fault points":
            return lambda broker, place: die_at_a_point(broker, place, seed, chance)
        return lambda broker, place: die_with_the_broker(broker, place, 3, chance)
