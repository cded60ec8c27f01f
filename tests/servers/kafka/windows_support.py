"""What goes into the program ``windows.py``, and what must come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.servers.kafka.broker import KafkaBroker

PARTITIONS, KEYS = 3, 7
START_MS, STEP_MS = 1_700_000_000_000, 5


def records(partition: int, start: int, stop: int) -> Iterator[tuple[int, str]]:
    """(timestamp, text) in order."""
    for i in range(start, stop):
        yield START_MS + i * STEP_MS, f"key-{(i * 31 + partition) % KEYS} {i}"


def produce(broker: KafkaBroker, topic: str, start: int, stop: int) -> None:
    """These records of each partition."""
    producer = broker.producer(linger_ms=5)
    for partition in range(PARTITIONS):
        for timestamp, text in records(partition, start, stop):
            producer.produce(topic, text, None, partition, timestamp=timestamp)
    assert producer.flush(60) == 0


def expected(stop: int) -> list[str]:
    """The lines for so many records of each partition, sorted."""
    counts: Counter[tuple[str, int]] = Counter()
    sums: Counter[tuple[str, int]] = Counter()
    for partition in range(PARTITIONS):
        for timestamp, text in records(partition, 0, stop):
            key, number = text.split()
            place = key, timestamp // 1000 * 1000
            counts[place] += 1
            sums[place] += int(number)
    return sorted(f"{key} {start} {n} {sums[key, start]}" for (key, start), n in counts.items())
