"""Case m: how long a record takes from Kafka through keyed state to Kafka, at a steady rate.

A record's time begins when it was *due*, not when a busy machine came to send it. The first half of each run
warms up and does not count. CPU is that of the system with all its processes, without Kafka's and the load's.

All systems have the same broker, which has run for a while before: the Java of a new one compiles for a
minute, and where that and a system take all cores, records wait for it before they are in a topic.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import psutil
from confluent_kafka import Consumer

from benchmarks.cases import THREAD, progress
from benchmarks.environments import OURS, Environments
from benchmarks.kafka import broker, jars
from benchmarks.measure import PROGRAMS, Comparison, ProgramFailed, System, end
from tests.servers.kafka.broker import KafkaBroker

PATIENCE_S: Final = 60.0
TOPICS: Final = ("latency-in", "latency-out", "latency-between")
WARM_UP_S: Final = 60.0  # of the broker
_FLOOR: Final = "two processes, no engine"
QUANTILES: Final = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True, slots=True)
class Latencies:
    """:param ms: sorted, of the second half.
    :param cores: of CPU while they came.
    """

    ms: list[float]
    cores: float

    def quantile(self, share: float) -> float:
        return self.ms[min(len(self.ms) - 1, int(len(self.ms) * share))]


def latencies(
    commands: list[tuple[list[str], dict[str, str]]], running: KafkaBroker, rate: float, seconds: float
) -> Latencies:
    """Run a system, made of these commands with their environments, under load.

    :raises ProgramFailed: a record did not come out.
    """
    records = int(rate * seconds)
    _empty(running)
    consumer = Consumer(
        {"bootstrap.servers": running.address, "group.id": "measures", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["latency-out"])
    with _processes(commands) as system:
        first = _send(running, 10, 1)
        _received(consumer, 1, system, PATIENCE_S)
        first.wait()
        _received(consumer, 9, system, PATIENCE_S)
        load = _send(running, rate, records)
        half = records // 2
        _received(consumer, half, system, seconds + PATIENCE_S)
        cpu_s, since = _cpu_s(system), time.monotonic()
        found = _received(consumer, records - half, system, seconds + PATIENCE_S)
        cores = (_cpu_s(system) - cpu_s) / (time.monotonic() - since)
        load.wait(10)
    consumer.close()
    return Latencies(sorted(found), cores)


def _empty(running: KafkaBroker) -> None:
    """Make the topics anew; with them go the offsets of who has read them."""
    there = [name for name in TOPICS if name in running.admin.list_topics(timeout=10).topics]
    for deleted in running.admin.delete_topics(there).values() if there else ():
        deleted.result(PATIENCE_S)
    until = time.monotonic() + PATIENCE_S
    while there and not set(there).isdisjoint(running.admin.list_topics(timeout=10).topics):
        if time.monotonic() > until:
            raise ProgramFailed(f"Kafka does not remove {', '.join(there)}")
        time.sleep(0.1)
    for topic in TOPICS:
        running.topic(2, topic)


def _send(running: KafkaBroker, rate: float, records: int) -> subprocess.Popen[bytes]:
    more = ["--brokers", running.address, "--rate", str(rate), "--records", str(max(10, records))]
    return subprocess.Popen([sys.executable, "paced_load.py", *more], cwd=PROGRAMS)


@contextmanager
def _processes(commands: list[tuple[list[str], dict[str, str]]]) -> Iterator[list[psutil.Process]]:
    started = [
        subprocess.Popen(command, cwd=PROGRAMS, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for command, env in commands
    ]
    try:
        yield [psutil.Process(process.pid) for process in started]
    finally:
        for process in started:
            end(process)


def _received(consumer: Any, count: int, system: list[psutil.Process], within_s: float) -> list[float]:
    """The times of the next records, in milliseconds."""
    found: list[float] = []
    until = time.monotonic() + within_s
    while len(found) < count:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            found.append((time.time() - json.loads(message.value())[-1]) * 1000)
        elif time.monotonic() > until or not all(process.is_running() for process in system):
            raise ProgramFailed(f"{len(found):,} of {count:,} records came out")
    return found


def _cpu_s(system: list[psutil.Process]) -> float:
    total = 0.0
    for root in system:
        for process in (root, *root.children(recursive=True)):
            try:
                used = process.cpu_times()
            except psutil.Error:
                continue
            total += used.user + used.system
    return total


def latency(
    environments: Environments, rounds: int, rate: float, seconds: float, systems: str = ""
) -> list[Comparison]:
    """:param systems: parts of the names of those that are measured, with commas between them; empty: all."""
    parts = systems.split(",")
    known = _systems(environments)
    chosen = {n: c for n, c in known.items() if any(part in n for part in parts)}
    collected: dict[str, list[Latencies]] = {}
    with broker() as running:
        latencies(known[_FLOOR](running.address), running, rate, WARM_UP_S)
        for turn in range(1, rounds + 1):
            for name, command in chosen.items():
                try:
                    found = latencies(command(running.address), running, rate, seconds)
                except ProgramFailed as failure:
                    progress(f"  {name} failed: {failure}")
                    continue
                collected.setdefault(name, []).append(found)
                said = ", ".join(f"{q} {found.quantile(share):,.1f}" for q, share in QUANTILES.items())
                progress(f"  round {turn}, {name}: {said} ms, {found.cores:.2f} cores")
    return _comparisons(collected, rate)


def _systems(environments: Environments) -> dict[str, Any]:
    spark = environments.python(OURS)

    def of_engine(system: System, address: str) -> list[tuple[list[str], dict[str, str]]]:
        command = system.command(environments, [])
        return [([*command, "--brokers", address], environments.variables(system.environment))]

    def relays(address: str) -> list[tuple[list[str], dict[str, str]]]:
        python = str(environments.python(OURS))
        pairs = [("latency-in", "latency-between"), ("latency-between", "latency-out")]
        return [
            (
                [python, "kafka_relay.py", "--brokers", address, "--source", a, "--target", b],
                environments.variables(OURS),
            )
            for a, b in pairs
        ]

    def ours(mode: str) -> System:
        config = ("--config", f"execution.mode={mode}")
        return System(f"firesteel, {mode}", OURS, "kafka_latency.py", 0, config, pyflink_text=True)

    flink = ("--jars", ",".join(jars("pyflink", spark)))
    spark_jars = ("--jars", ",".join(jars("pyspark", spark)))
    systems = [
        ours("real-time"),
        ours("epochs"),
        System("PyFlink process", "pyflink", "kafka_latency.py", 0, flink),
        System("PyFlink thread", "pyflink", "kafka_latency.py", 0, (*flink, *THREAD)),
        System("Bytewax", "bytewax", "bytewax_kafka_latency.py"),
        System("Quix Streams", "quix", "quix_kafka_latency.py"),
        System(
            "Structured Streaming in real time, SQL without state",
            "pyspark",
            "rtm_kafka_latency.py",
            0,
            spark_jars,
        ),
    ]
    found: dict[str, Any] = {system.name: partial(of_engine, system) for system in systems}
    return found | {_FLOOR: relays}


def _comparisons(collected: dict[str, list[Latencies]], rate: float) -> list[Comparison]:
    ours = collected.get("firesteel, real-time", [])
    return [
        Comparison(
            f"m: latency at {rate:,.0f} rec/s, {name}",
            "firesteel, real-time",
            peer,
            "ms",
            [one.quantile(share) for one in ours],
            [one.quantile(share) for one in others],
            1.0,
            at_least=False,
        )
        for peer, others in collected.items()
        if others is not ours
        for name, share in QUANTILES.items()
    ]
