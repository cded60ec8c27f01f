"""What the programs on Kafka need: a broker, topics full of records, the jars of the peers."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.environments import ROOT
from tests.servers.kafka.broker import KafkaBroker

PARTITIONS = 2
# A page of memory that a virtual machine has not used of late may have to come from its host: 2 us for 1 kB
# here, half of the broker's CPU. A broker that has run for long writes to pages that it has used before; so
# does this one, which keeps the last 64 MB of each partition of the output.
_OUTPUT = {"retention_bytes": "67108864", "segment_bytes": "33554432", "file_delete_delay_ms": "0"}
_JARS = {
    "pyflink": (("org.apache.flink", "flink-sql-connector-kafka", "4.0.1-2.0"),),
    # There is no 4.3.0 of Spark's connector; this one works with PySpark 4.3, and so does the token provider.
    "pyspark": (
        ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
        ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
        ("org.apache.kafka", "kafka-clients", "3.9.1"),
        ("org.apache.commons", "commons-pool2", "2.12.0"),
    ),
}


@contextmanager
def broker() -> Iterator[KafkaBroker]:
    with tempfile.TemporaryDirectory(prefix="firesteel-bench-kafka-") as directory:
        started = KafkaBroker(Path(directory), is_measured=True).start()
        try:
            yield started
        finally:
            started.stop()


def fill(running: KafkaBroker, size: int, records: int) -> None:
    """A topic ``in-<size>-<records>`` with so many JSON objects of ``size`` bytes, and where they go."""
    name = f"in-{size}-{records}"
    if name in running.admin.list_topics(timeout=10).topics:
        return
    running.topic(PARTITIONS, name)
    running.topic(PARTITIONS, f"out-{size}-{records}", **_OUTPUT)
    producer = running.producer(linger_ms=20, queue_buffering_max_messages=1_000_000)
    for i in range(records):
        body = f'{{"id":{i},"name":"name-{i % 1000}","value":{i % 97},"pad":"'
        text = body + "x" * (size - len(body) - 2) + '"}'
        while True:
            try:
                producer.produce(name, text, None, i % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0


def jars(environment: str, python: Path) -> list[str]:
    """The jars that a peer's connector needs, fetched once.

    :param python: one that has PySpark, which brings the client of the Maven repositories.
    """
    code = (
        "import glob, os, pyspark; print(glob.glob(os.path.dirname(pyspark.__file__) + '/jars/ivy-*.jar')[0])"
    )
    ivy = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    found = []
    for organisation, name, version in _JARS[environment]:
        path = ROOT / "jars" / f"{name}-{version}.jar"
        if not path.exists():
            target = f"{path.parent}/[artifact]-[revision].[ext]"
            module = ["-dependency", organisation, name, version, "-retrieve", target]
            options = ["-warn", "-cache", str(ROOT / "ivy"), "-notransitive", "-confs", "master"]
            subprocess.run([java, "-jar", ivy, *options, *module], check=True, capture_output=True)
        found.append(str(path))
    return found
