"""Reads partitions for as long as a task lives (Flink: ``KafkaPartitionSplitReader.fetch``)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from firesteel.common.logs import logger
from firesteel.connectors.kafka.client import Complaints, describe, refusal
from firesteel.connectors.kafka.offsets import Partition, Reset
from firesteel.connectors.kafka.reader import (
    AT_ONCE,
    complain,
    fitting,
    is_gone,
    new_consumer,
    skip_what_is_gone,
)
from firesteel.connectors.kafka.records import Decode
from firesteel.connectors.kafka.source import PartitionSplit
from firesteel.program.sources import Chunk, PollingReader, Split

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

log = logger(__name__)

#: An idle partition is asked again after this time: the broker answers as soon as a message comes.
_WAIT: Final = {"fetch.wait.max.ms": 500}


class KafkaPolling(PollingReader):
    """One consumer for all partitions of a subtask.

    A position is the offset after the last record that was read.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        decode: Decode,
        reset: Reset,
    ) -> None:
        self._properties = properties
        self._decode = decode
        self._reset = reset
        self._complaints = Complaints()
        self._consumer: Consumer | None = None
        self._splits: dict[Partition, Split] = {}
        self._positions: dict[Partition, int] = {}
        self._held: frozenset[Partition] = frozenset()
        self._at_once = AT_ONCE
        self._at_end: list[tuple[str, Chunk]] = []  # of splits that end where they begin

    def add_splits(self, splits: Sequence[tuple[Split, Any]]) -> None:
        if self._consumer is None:
            self._consumer = new_consumer(self._properties, self._complaints, _WAIT)
        new = []
        for split, position in splits:
            payload: PartitionSplit = split.payload
            partition = payload.partition
            offset: int = payload.start if position is None else position
            if payload.stop is not None and offset >= payload.stop:
                self._at_end.append((split.id, Chunk([], None, offset, end=True)))
                continue
            self._splits[partition] = split
            self._positions[partition] = offset
            new.append(_place(partition, offset))
        self._consumer.incremental_assign(new)

    def poll(self, max_records: int, wait_ms: float, held: Collection[str]) -> Iterable[tuple[str, Chunk]]:
        if self._consumer is None:
            time.sleep(wait_ms / 1000)
            return ()
        self._hold(held)
        if self._at_end:
            found, self._at_end = self._at_end, []
            return found
        first = self._consumer.poll(wait_ms / 1000)
        if first is not None:
            return self._found(self._consumer, first, max_records)
        if self._complaints.refused is not None:  # the client goes on trying, and nothing would ever come
            raise refusal(self._properties["bootstrap.servers"], self._complaints.refused)
        return ()

    def _found(self, consumer: Consumer, first: Message | None, most: int) -> Iterator[tuple[str, Chunk]]:
        """*first* and what is there behind it, in pieces that fit a CPU cache."""
        while first is not None and most > 0:
            wanted = min(most, self._at_once)
            messages = [first, *consumer.consume(wanted - 1, 0)]
            self._at_once = fitting(len(messages), sum(map(len, messages)))
            yield from self._dealt(messages)
            most -= len(messages)
            is_all = len(messages) < wanted or most <= 0
            first = None if is_all else consumer.poll(0)

    def _dealt(self, messages: list[Message]) -> list[tuple[str, Chunk]]:
        mixed: dict[Partition, list[Message]] = {}
        news: list[tuple[Partition, Message]] = []
        for message in messages:
            partition = Partition(message.topic() or "", message.partition() or 0)
            if message.error() is None:
                mixed.setdefault(partition, []).append(message)
            else:
                news.append((partition, message))
        found = [self._chunk(p, messages) for p, messages in mixed.items() if p in self._splits]
        for partition, message in news:  # that a partition has ended comes behind its messages
            self._heed(partition, message)
        return found

    def _hold(self, held: Collection[str]) -> None:
        """Pause partitions that have to wait for others, and resume those that waited for long enough."""
        now = frozenset(p for p, split in self._splits.items() if split.id in held) if held else frozenset()
        if now != self._held:
            assert self._consumer is not None
            # What the client has fetched of a paused partition is dropped, and fetched again.
            self._consumer.pause([_place(p, self._positions[p]) for p in now - self._held])
            self._consumer.resume([_place(p, self._positions[p]) for p in self._held - now])
            self._held = now

    def _chunk(self, partition: Partition, messages: list[Message]) -> tuple[str, Chunk]:
        split = self._splits[partition]
        stop = split.payload.stop
        if stop is not None:
            messages = [message for message in messages if (message.offset() or 0) < stop]
        position = self._positions[partition]
        if messages:
            position = (messages[-1].offset() or 0) + 1
        self._positions[partition] = position
        ends = stop is not None and position >= stop
        values, stamps, bad, ignored = self._decode(messages)
        if ends:
            self._forget(partition)
        return split.id, Chunk(values, stamps, position, ends, (), bad, ignored)

    def _forget(self, partition: Partition) -> None:
        assert self._consumer is not None
        del self._splits[partition]
        self._consumer.incremental_unassign([_place(partition, self._positions.pop(partition))])

    def _heed(self, partition: Partition, message: Message) -> None:
        error = message.error()
        assert error is not None
        if partition not in self._splits:
            log.warning("Kafka: %s", describe(error))
        elif error.code() == error._PARTITION_EOF:
            self._at_end_of(partition, message.offset() or 0)
        elif is_gone(error):
            assert self._consumer is not None
            position = self._positions[partition]
            self._positions[partition] = skip_what_is_gone(
                self._consumer, partition, position, self._reset, error
            )
        else:
            complain(partition, error)

    def _at_end_of(self, partition: Partition, offset: int) -> None:
        """All that there is was read. The last offsets may have no message, so that no message shows that the
        end of a split has come."""
        split = self._splits[partition]
        stop = split.payload.stop
        if stop is not None and offset >= stop:
            self._at_end.append((split.id, Chunk([], None, offset, end=True)))
            self._positions[partition] = offset
            self._forget(partition)

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()


def _place(partition: Partition, offset: int) -> TopicPartition:
    from confluent_kafka import TopicPartition

    return TopicPartition(partition.topic, partition.number, offset)
