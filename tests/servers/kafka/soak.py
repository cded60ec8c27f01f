"""Kafka to keyed windows to Kafka for half an hour at a fixed rate, while a worker dies, a partition is
added, the broker is slow, the broker is away and the driver dies; and a report.

    python -m tests.servers.kafka.soak [--mode epochs|real-time] [--minutes N] [--rate N] [--report FILE]

The exit status is 1 when a result is missing, doubled or wrong, or when memory has grown.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.servers.kafka.broker import KafkaBroker
from tests.waiting import patience, until

ROOT: Final = Path(__file__).parents[3]
PROGRAM: Final = Path(__file__).parent / "programs" / "soak.py"
KEYS: Final = 1000
SIZE: Final = 100  # bytes of a record
WINDOW_MS: Final = 10_000
START_MS: Final = 1_700_000_000_000
PARTITIONS: Final = 4
LOOK_S: Final = 10.0
KINDS: Final = ("driver", "JVM", "workers")  # of processes
# The JVM's heap has its full size from the beginning: how much of it the collector would like to use is not
# what is measured, but what grows beside it, and what is alive in it.
_WHOLE_HEAP: Final = {"SPARK_SUBMIT_OPTS": "-Xms1g -Xmx1g -XX:+AlwaysPreTouch"}
MAY_GROW: Final = 1.2  # of the memory of any kind of process, from the beginning to the end of the calm half


class Input:
    """The record ``i`` has event time ``i / rate`` and key ``i % KEYS``, so what a window holds is known.

    :param rate: records for each second, a multiple of 1,000.
    """

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self.per_window = rate * WINDOW_MS // 1000

    def timestamp(self, i: int) -> int:
        return START_MS + i * 1000 // self._rate

    def text(self, i: int) -> str:
        body = f'{{"id":{i},"key":"k{i % KEYS}","pad":"'
        return body + "x" * (SIZE - len(body) - 2) + '"}'

    def expected(self, there: bytes) -> Iterator[str]:
        """The lines for a whole number of windows.

        :param there: how often each record is in the topic.
        """
        per_key = range(0, self.per_window, KEYS)
        for first in range(0, len(there), self.per_window):
            for key in range(KEYS):
                times = there[first + key : first + self.per_window : KEYS]
                total = sum((first + key + at) * n for at, n in zip(per_key, times, strict=True))
                yield f"k{key} {self.timestamp(first)} {sum(times)} {total}"


def produce(address: str, topic: str, rate: int, partitions: Any, stop: Any, sent: Any, failed: Any) -> None:
    """In a process of its own. Whole windows, then what makes them fire.

    :param partitions: how many are used; ``sent``: how many records were handed over.
    """
    from confluent_kafka import Producer

    from tests.servers.kafka.programs.soak import DISORDER_S

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    input_ = Input(rate)
    producer = Producer(
        {
            "bootstrap.servers": address,
            "enable.idempotence": True,
            "linger.ms": 20,
            "queue.buffering.max.messages": 1_000_000,
            "message.timeout.ms": 600_000,
            "topic.metadata.refresh.interval.ms": 1_000,
            "log_level": 0,
        }
    )

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failed.value += 1

    def put(value: str, partition: int, timestamp: int) -> None:
        while True:
            try:
                producer.produce(
                    topic, value, partition=partition, timestamp=timestamp, on_delivery=delivered
                )
                return
            except BufferError:
                producer.poll(0.1)

    begun, i = time.monotonic(), 0
    while not (stop.is_set() and i % input_.per_window == 0):
        ahead_s = i / rate - (time.monotonic() - begun)
        if ahead_s > 0:
            producer.poll(min(ahead_s, 0.05))
            continue
        for _ in range(rate // 100):
            put(input_.text(i), i % partitions.value, input_.timestamp(i))
            i += 1
        producer.poll(0)
        sent.value = i
    for partition in range(partitions.value):
        put('{"id":0,"key":"end"}', partition, input_.timestamp(i) + DISORDER_S * 1000 + WINDOW_MS)
    producer.flush(600)


class Job:
    """The program on ``local[*]``; its drivers follow one another."""

    def __init__(self, broker: KafkaBroker, directory: Path, topic: str, target: str, mode: str) -> None:
        options = {
            "execution.mode": mode,
            "execution.checkpointing.interval": "5 s",
            "execution.checkpointing.dir": str(directory / "checkpoints"),
            "firesteel.state.dir": str(directory / "state"),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1000",
            "restart-strategy.fixed-delay.delay": "1 s",
        }
        definitions = [word for key, value in options.items() for word in ("-D", f"{key}={value}")]
        self._command = [
            *(sys.executable, "-c", "from firesteel.cli import main; main()"),
            *("run", "--quiet", "-p", "2", "--from-checkpoint", "latest", *definitions),
            *(str(PROGRAM), broker.address, topic, target),
        ]
        self.log = directory / "job.log"
        self._process = self._start()

    def _start(self) -> psutil.Popen:
        with self.log.open("ab") as log:
            return psutil.Popen(
                self._command,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | _WHOLE_HEAP | {"PYTHONPATH": f"{ROOT}/src{os.pathsep}{ROOT}"},
            )

    def kill_worker(self) -> None:
        found: list[psutil.Process] = []

        def look() -> bool:
            found[:] = [p for p in self._process.children(recursive=True) if _kind(p) == "workers"]
            return bool(found)

        until(look, "there is no Python worker", 120)
        found[-1].kill()

    def kill_driver(self) -> None:
        """With all that belongs to it; the next one goes on."""
        self.close()
        self._process = self._start()

    def close(self) -> None:
        family = self._process.children(recursive=True)
        os.killpg(self._process.pid, signal.SIGKILL)
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait(patience(20))

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def live_megabytes(self) -> float:
        """What is alive on the JVM's heap, after a full collection."""
        processes = self._process.children(recursive=True)
        jvm = next(p for p in processes if _kind(p) == "JVM" and "SparkSubmit" in " ".join(p.cmdline()))
        subprocess.run(["jcmd", str(jvm.pid), "GC.run"], check=True, capture_output=True)
        command = ["jcmd", str(jvm.pid), "GC.heap_info"]
        heap = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return sum(int(used) for used in re.findall(r"total \d+K, used (\d+)K", heap)) / 1024

    def megabytes(self) -> Counter[str]:
        """Of each kind of process, what is shared counted once."""
        found: Counter[str] = Counter()
        for process in [self._process, *self._process.children(recursive=True)]:
            with suppress(psutil.Error):
                found[_kind(process)] += process.memory_full_info().pss >> 20
        return found


def _kind(process: psutil.Process) -> str:
    try:
        command = process.cmdline()
    except psutil.Error:  # it has ended meanwhile
        return ""
    if any("pyspark.worker" in word for word in command):
        return "workers"
    return "JVM" if command and "java" in command[0] else "driver"


def _some(lines: Counter[str]) -> str:
    """The first and the last ones, and how many there are of each window."""
    windows = Counter(line.split()[1] for line in lines)
    return f"{sorted(lines)[:20]} ... {sorted(lines)[-3:]} in windows {dict(windows.most_common(5))}"


@dataclass
class Look:
    """What is seen every ten seconds. ``lag``: records that no checkpoint covers; None: nobody knows."""

    second: float
    sent: int
    lag: int | None
    megabytes: Counter[str]
    events: list[str] = field(default_factory=list)


class Soak:
    def __init__(self, directory: Path, minutes: float, rate: int, mode: str) -> None:
        self._mode = mode
        self._seconds = minutes * 60
        self._input = Input(rate)
        self._rate = rate
        self._broker = KafkaBroker(directory).start()
        self._topic = self._broker.topic(PARTITIONS, "in")
        self._target = self._broker.topic(2, "out")
        self._partitions = multiprocessing.Value("i", PARTITIONS)
        self._sent = multiprocessing.Value("q", 0)
        self._failed = multiprocessing.Value("q", 0)
        self._stop = multiprocessing.Event()
        self._producer = multiprocessing.Process(
            target=produce,
            args=(
                *(self._broker.address, self._topic, rate),
                *(self._partitions, self._stop, self._sent, self._failed),
            ),
        )
        self.job = Job(self._broker, directory, self._topic, self._target, mode)
        self.looks: list[Look] = []
        self._events: list[str] = []
        self._live: list[float] = []  # megabytes on the JVM's heap, after the disturbances and in the end
        self.results = ""

    # ---- what happens

    def run(self) -> str:
        """What is wrong; empty: nothing."""
        begun = time.monotonic()
        self._producer.start()
        events = ThreadPoolExecutor(1).submit(self._disturb, begun)
        while time.monotonic() - begun < self._seconds:
            time.sleep(LOOK_S)
            self._look(time.monotonic() - begun)
            if self.job.has_ended:
                return f"the job has ended: {self.job.log.read_text(errors='replace')[-3000:]}"
        events.result(patience(60))
        self._live.append(self.job.live_megabytes())
        self._stop.set()
        self._producer.join(600)
        wrong = self._await_results()
        self._look(time.monotonic() - begun)
        return "; ".join(filter(None, [wrong, *self._growth()]))

    def _disturb(self, begun: float) -> None:
        plan: list[tuple[float, str, Callable[[], None]]] = [
            (0.10, "a worker is killed", self.job.kill_worker),
            (0.17, "a partition is added", self._add_partition),
            (0.27, "the broker is slow", self._slow_broker),
            (0.37, "the broker is away", self._absent_broker),
            (0.47, "the driver is killed", self.job.kill_driver),
        ]
        for share, name, event in plan:
            time.sleep(max(0.0, begun + share * self._seconds - time.monotonic()))
            self._events.append(name)
            event()
        time.sleep(max(0.0, begun + 0.57 * self._seconds - time.monotonic()))
        self._live.append(self.job.live_megabytes())

    def _add_partition(self) -> None:
        self._broker.add_partitions(self._topic, PARTITIONS + 1)
        time.sleep(3)  # until the producer knows it
        self._partitions.value = PARTITIONS + 1

    def _slow_broker(self) -> None:
        until = time.monotonic() + self._seconds / 30
        while time.monotonic() < until:
            self._broker.pause()
            time.sleep(0.8)
            self._broker.resume()
            time.sleep(0.2)

    def _absent_broker(self) -> None:
        self._broker.kill()
        time.sleep(self._seconds / 60)
        self._broker.start()

    # ---- what is seen

    def _look(self, second: float) -> None:
        events, self._events = self._events, []
        megabytes = Counter[str]()
        with suppress(psutil.Error):
            megabytes = self.job.megabytes()
        self.looks.append(Look(second, self._sent.value, self._lag(), megabytes, events))

    def _lag(self) -> int | None:
        group = {"bootstrap.servers": self._broker.address, "group.id": f"group-of-{self._topic}"}
        consumer = Consumer({**group, "log_level": 0})
        try:
            places = [TopicPartition(self._topic, n) for n in range(self._partitions.value)]
            covered = sum(max(0, p.offset) for p in consumer.committed(places, timeout=5))
            return sum(consumer.get_watermark_offsets(p, timeout=5)[1] for p in places) - covered
        except KafkaException:
            return None
        finally:
            consumer.close()

    def _await_results(self) -> str:
        if self._failed.value:
            return f"{self._failed.value} records were not delivered by the producer"
        results = self._sent.value // self._input.per_window * KEYS
        deadline = time.monotonic() + 300
        while sum(self._broker.end_offsets(self._target)) < results and time.monotonic() < deadline:
            time.sleep(2)
        time.sleep(15)  # a checkpoint more, and what should not be there
        there = self._read_input()
        expected = Counter(self._input.expected(there))
        found = Counter(line for line in self._broker.values(self._target) if not line.startswith("end "))
        lost, more = expected - found, found - expected
        self.results = (
            f"{found.total():,} results of {len(expected):,} expected, {lost.total()} missing, "
            f"{more.total()} too many. Of {len(there):,} records {there.count(0):,} did not reach the topic, "
            f"and {len(there) - there.count(0) - there.count(1):,} are in it more than once."
        )
        if lost or more:
            self.results += f" Missing: {_some(lost)}; too many: {_some(more)}."
        return self.results if lost or more else ""

    def _read_input(self) -> bytes:
        """How often each record is in the topic: a producer that was cut off may have sent some again."""
        number = re.compile(rb'\{"id":(\d+),"key":"k')
        there = bytearray(self._sent.value)
        consumer = Consumer({"bootstrap.servers": self._broker.address, "group.id": "input"})
        for partition in range(self._partitions.value):
            place = TopicPartition(self._topic, partition, 0)
            _, end = consumer.get_watermark_offsets(place, timeout=10)
            consumer.assign([place])
            while place.offset < end:
                for message in consumer.consume(10_000, 1):
                    place.offset = message.offset() + 1
                    found = number.match(message.value())
                    if found:
                        there[int(found[1])] += 1
        consumer.close()
        return bytes(there)

    def _growth(self) -> list[str]:
        return [
            f"memory of {kind} has grown from {before:.0f} to {after:.0f} MB"
            for kind, (before, after) in self.calm().items()
            if after > before * MAY_GROW
        ]

    def calm(self) -> dict[str, tuple[float, float]]:
        """Megabytes of each kind in the first and the last fifth of what comes after the last disturbance."""
        looks = [look for look in self.looks if 0.57 * self._seconds < look.second < self._seconds]
        fifth = max(1, len(looks) // 5)
        processes = {
            kind: (
                statistics.mean(look.megabytes[kind] for look in looks[:fifth]),
                statistics.mean(look.megabytes[kind] for look in looks[-fifth:]),
            )
            for kind in KINDS
        }
        return processes | {"alive on the JVM's heap": (self._live[0], self._live[-1])}

    # ---- the report

    def report(self, wrong: str) -> str:
        verdict = f"Failed: {wrong}" if wrong else "Passed"
        minutes = f"{self._seconds / 60:.0f}"
        parts = [
            "# A soak: Kafka to keyed windows to Kafka\n",
            f"Mode {self._mode}; {minutes} minutes at {self._rate:,} records of {SIZE} bytes each second,",
            f"{self._sent.value:,} in all: JSON is parsed, counted and summed for each of {KEYS:,} keys in",
            "windows of ten seconds, and the results are written exactly once, with a checkpoint every 5 s.",
            f"Parallelism 2 on {os.cpu_count()} hardware threads, which the broker and the producer share.",
            f"`python -m tests.servers.kafka.soak --mode {self._mode} --minutes {minutes}` repeats it.\n",
            f"**{verdict}.** {self.results}\n",
            f"Lag: records that no checkpoint covers yet; {self._rate:,} are a second. Memory: proportional",
            "set size in MB, the most in the minute; the JVM has its heap of 1 GB from the beginning.\n",
            *self._minutes(),
            "\n| memory, MB | after the last disturbance | in the end |\n|---|---|---|",
            *(f"| {kind} | {a:,.0f} | {b:,.0f} |" for kind, (a, b) in self.calm().items()),
        ]
        return "\n".join(parts) + "\n"

    def _minutes(self) -> Iterator[str]:
        yield f"| minute | records/s | lag | {' | '.join(KINDS)} | what happened |"
        yield "|---|---|---|" + "---|" * len(KINDS) + "---|"
        before = Look(0, 0, None, Counter())
        for minute in range(1 + int(self.looks[-1].second // 60)):
            looks = [look for look in self.looks if look.second // 60 == minute]
            if not looks:
                continue
            rate = (looks[-1].sent - before.sent) / (looks[-1].second - before.second)
            lag = max((look.lag for look in looks if look.lag is not None), default=None)
            cells = [
                f"{minute + 1}",
                f"{rate:,.0f}",
                "unknown" if lag is None else f"{lag:,}",
                *(f"{max(look.megabytes[kind] for look in looks):,}" for kind in KINDS),
                ", ".join(event for look in looks for event in look.events),
            ]
            yield f"| {' | '.join(cells)} |"
            before = looks[-1]

    def close(self) -> None:
        self._producer.kill()
        with suppress(psutil.Error, ProcessLookupError):
            self.job.close()
        self._broker.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mode", choices=["epochs", "real-time"], default="epochs")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--report", type=Path, default=Path("kafka-soak.md"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="firesteel-soak-") as directory:
        soak = Soak(Path(directory), arguments.minutes, arguments.rate, arguments.mode)
        try:
            wrong = soak.run()
            arguments.report.write_text(soak.report(wrong))
            if wrong:
                arguments.report.with_suffix(".log").write_bytes(soak.job.log.read_bytes())
        finally:
            soak.close()
    print(arguments.report.read_text())
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
