"""What a reader of Kafka makes one chunk of: that must depend on offsets and sizes alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.serialization import SimpleStringSchema
from firesteel.connectors.base import Chunk, ReadRange, Split
from firesteel.connectors.kafka import reader as reader_module
from firesteel.connectors.kafka.offsets import Reset
from firesteel.connectors.kafka.reader import KafkaReader
from firesteel.connectors.kafka.records import KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.source import PartitionSplit

MEBI = 1 << 20
QUARTER = 256 << 10


class Sent(NamedTuple):
    """A message as the client hands it out."""

    number: int
    at: int
    body: bytes

    def __len__(self) -> int:
        return len(self.body)

    def topic(self) -> str:
        return "in"

    def partition(self) -> int:
        return self.number

    def offset(self) -> int:
        return self.at

    def value(self) -> bytes:
        return self.body

    def timestamp(self) -> tuple[int, int]:
        return 1, self.at

    def error(self) -> None:
        return None


class Consumer:
    """Gives the messages of the partitions that are assigned to it, one of each in turn, in portions of
    these sizes, again and again."""

    def __init__(self, sizes: list[list[int]], portions: list[int], gap: int = 1) -> None:
        self.log = [
            [Sent(n, i * gap, b"x" * s) for i, s in enumerate(those)] for n, those in enumerate(sizes)
        ]
        self.portions = portions
        self.coming: deque[tuple[int, deque[Sent]]] = deque()
        self.polls = 0
        self.asked: list[int] = []

    def incremental_assign(self, places: list[Any]) -> None:
        for place in places:
            messages = deque(m for m in self.log[place.partition] if m.at >= place.offset)
            self.coming.append((place.partition, messages))

    def incremental_unassign(self, places: list[Any]) -> None:
        gone = {place.partition for place in places}
        self.coming = deque(entry for entry in self.coming if entry[0] not in gone)

    def poll(self, timeout: float) -> Sent | None:
        self.polls += 1
        return next(iter(self._take(1)), None)

    def consume(self, count: int, timeout: float) -> list[Sent]:
        self.asked.append(count)
        return list(self._take(min(count, self.portions[self.polls % len(self.portions)])))

    def _take(self, count: int) -> Iterator[Sent]:
        for _ in range(count):
            self.coming.rotate(-1)
            for _, messages in self.coming:
                if messages:
                    yield messages.popleft()
                    break

    def close(self) -> None: ...


def read(consumer: Consumer, stops: list[int], max_bytes: int, monkeypatch: Any) -> list[list[Chunk]]:
    """The chunks of each partition, read in turn as the operator of a source does."""
    monkeypatch.setattr(reader_module, "new_consumer", lambda properties, complaints: consumer)
    schema = KafkaRecordDeserializationSchema.value_only(SimpleStringSchema())
    reader = KafkaReader({"default.api.timeout.ms": "100"}, schema, Reset.NONE)
    reader.open()
    ranges = [
        ReadRange(Split(f"in-{n}", PartitionSplit("in", n, 0, stop)), 0, 1_000_000, max_bytes, stop)
        for n, stop in enumerate(stops)
    ]
    reading: list[tuple[int, Iterator[Chunk]]] = [(n, reader.read(r)) for n, r in enumerate(ranges)]
    found: list[list[Chunk]] = [[] for _ in stops]
    while reading:
        for n, chunks in list(reading):
            chunk = next(chunks, None)
            if chunk is None:
                reading.remove((n, chunks))
            else:
                found[n].append(chunk)
    reader.close()
    return found


@given(
    sizes=st.lists(
        st.lists(st.sampled_from([0, 10, 50_000, QUARTER, 300_000]), min_size=1, max_size=40),
        min_size=1,
        max_size=2,
    ),
    gap=st.sampled_from([1, 3, 700]),
    portions=st.lists(st.integers(0, 60), min_size=1, max_size=5),
    max_bytes=st.sampled_from([1, MEBI, 1 << 40]),
)
@settings(max_examples=150, deadline=None)
def test_chunks_do_not_depend_on_what_comes_together(
    sizes: list[list[int]], gap: int, portions: list[int], max_bytes: int
) -> None:
    stops = [(len(those) - 1) * gap + 1 for those in sizes]
    with pytest.MonkeyPatch.context() as patch:
        one_by_one = read(Consumer(sizes, [0], gap), stops, max_bytes, patch)
        together = read(Consumer(sizes, portions, gap), stops, max_bytes, patch)
    assert together == one_by_one
    for those, chunks in zip(sizes, one_by_one, strict=True):
        lengths = [len(value) for chunk in chunks for value in chunk.values]
        assert lengths == those[: len(lengths)]
        assert len(lengths) == len(those) or max_bytes <= sum(lengths)


def test_a_chunk_of_large_messages_ends_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = Consumer([[1024] * 1000], [1000])
    [chunks] = read(consumer, [1000], 1 << 40, monkeypatch)
    assert [len(c.values) for c in chunks] == [256, 256, 256, 232]
    assert [c.position for c in chunks] == [256, 512, 768, 1000]
    assert [c.end for c in chunks] == [False, False, False, True]


def test_no_more_is_taken_from_the_client_than_about_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = Consumer([[4096] * 2000], [1000])
    read(consumer, [2000], 1 << 40, monkeypatch)
    assert consumer.asked[0] == 1000  # nobody knows yet how large they are
    assert all(count <= 65 for count in consumer.asked[1:])


def test_small_messages_come_a_thousand_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    [chunks] = read(Consumer([[100] * 2500], [999]), [2500], 1 << 40, monkeypatch)
    assert [len(c.values) for c in islice(chunks, 3)] == [1000, 1000, 500]
