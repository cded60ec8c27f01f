"""Reads ranges of offsets in a task, directly from the brokers (Flink: ``KafkaPartitionSplitReader``)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from operator import methodcaller
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from firesteel.common.errors import ConnectorError
from firesteel.common.logs import logger
from firesteel.connectors.kafka.client import Complaints, describe, make_client
from firesteel.connectors.kafka.offsets import Partition, Reset
from firesteel.connectors.kafka.records import KafkaRecordDeserializationSchema, batch_decoder
from firesteel.connectors.kafka.settings import (
    API_TIMEOUT,
    CLIENT_ID_PREFIX,
    GROUP_ID,
    ISOLATION,
    ONE_MINUTE,
    client_settings,
    number,
)
from firesteel.connectors.kafka.source import PartitionSplit
from firesteel.program.sources import Chunk, PollingReader, ReadRange, SourceReader

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

log = logger(__name__)

AT_ONCE: Final = 1000  # offsets in a chunk
_CHUNK_BYTES: Final = 256 << 10  # of messages: the records made from them should also fit a CPU cache
_POLL_S: Final = 0.1
_ERROR: Final = methodcaller("error")

_DEFAULTS: Final = {
    ISOLATION: "read_committed",
    "fetch.wait.max.ms": 20,  # a range may end in offsets without a message, which only an empty fetch shows
    "fetch.queue.backoff.ms": 1,  # librdkafka pauses for a second when its queue is full
    "socket.timeout.ms": 10_000,  # a lost fetch is retried before the range is given up
    # What is fetched beyond the range is wasted, and what has to wait falls out of the CPU caches.
    "queued.min.messages": 20_000,
    "queued.max.messages.kbytes": 2 << 10,
}


def new_consumer(
    properties: Mapping[str, str],
    complaints: Complaints | None = None,
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Consumer:
    """Create a consumer with manual assignment: it joins no group and commits nothing.

    :param defaults: of its settings, before those of this module.
    """
    from confluent_kafka import Consumer

    group = properties.get(GROUP_ID, "firesteel")
    fixed = {
        GROUP_ID: group,
        "client.id": properties.get(CLIENT_ID_PREFIX, group),
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "error_cb": complaints or Complaints(),
    }
    return make_client(
        Consumer, {**_DEFAULTS, **defaults, **client_settings(properties, producer=False), **fixed}
    )


class KafkaReader(SourceReader):
    """Keeps its consumer, and so its connections, as long as the worker process keeps the reader."""

    def __init__(
        self, properties: Mapping[str, str], deserializer: KafkaRecordDeserializationSchema, reset: Reset
    ) -> None:
        self._properties = properties
        self._deserializer = deserializer
        self._reset = reset
        self._incoming: _Incoming | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_incoming": None}

    def open(self) -> None:
        self._deserializer.open()
        self._decode = batch_decoder(self._deserializer)

    def close(self) -> None:
        incoming, self._incoming = self._incoming, None
        if incoming is not None:
            incoming.close()

    polls = True

    def polling(self) -> PollingReader:
        from firesteel.connectors.kafka.polling import KafkaPolling

        return KafkaPolling(self._properties, self._decode, self._reset)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        split: PartitionSplit = range_.split.payload
        position: int = split.start if range_.position is None else range_.position
        stop = split.stop if range_.stop is None else range_.stop
        if stop is not None and position >= stop:
            yield Chunk([], None, position, end=_is_end(split, position))
            return
        if self._incoming is None:
            self._incoming = _Incoming(self._properties, self._reset)
        incoming = self._incoming  # it may be closed before this generator is
        records, size = range_.max_records, range_.max_bytes
        buffer = incoming.begin(split.partition, position)
        try:
            while (stop is None or position < stop) and records > 0 and size > 0:
                if not incoming.is_reading(split.partition, buffer):  # another range of it was started
                    buffer = incoming.begin(split.partition, position)
                limit = position + min(AT_ONCE, records)
                taken = incoming.take(split.partition, position, limit if stop is None else min(limit, stop))
                position = taken.position
                values, stamps, bad, ignored = self._decode(taken.messages)
                records -= len(taken.messages)
                size -= taken.size
                yield Chunk(values, stamps, position, _is_end(split, position), (), bad, ignored)
                if taken.at_end:
                    if stop is None:
                        return
                    buffer.at_end = (
                        False  # a leader may briefly not know the offset up to which the range was planned
                    )
        finally:
            incoming.end(split.partition, buffer)


def _is_end(split: PartitionSplit, position: int) -> bool:
    return split.stop is not None and position >= split.stop


class _Taken(NamedTuple):
    """Some messages, the position after them, and whether more are available now."""

    messages: list[Message]
    size: int
    position: int
    at_end: bool


@dataclass(slots=True)
class _Buffer:
    """The buffered messages of a partition and their size in bytes. All messages before offset ``known`` are
    in the buffer; with ``at_end`` there were none after it either when that was reported."""

    known: int
    messages: list[Message] = field(default_factory=list)
    size: int = 0
    at_end: bool = False

    def add(self, messages: list[Message]) -> None:
        self.messages += messages
        self.size += sum(map(len, messages))
        self.known = _offset(messages[-1]) + 1
        self.at_end = False

    def has_chunk(self, limit: int) -> bool:
        """Return true if no later message can belong to a chunk that ends at offset ``limit`` or before."""
        return self.known >= limit or self.size >= _CHUNK_BYTES or self.at_end

    def take(self, limit: int) -> _Taken:
        """Return the messages before ``limit``, or only the first of them if they are large."""
        found = self.messages
        count = (
            len(found) if not found or _offset(found[-1]) < limit else bisect_left(found, limit, key=_offset)
        )
        sizes = list(accumulate(map(len, found[:count]), initial=0))  # running total of the bytes
        if sizes[-1] >= _CHUNK_BYTES:
            count = bisect_left(sizes, _CHUNK_BYTES)
            limit = _offset(found[count - 1]) + 1
        size = sizes[count]
        taken, self.messages = found[:count], found[count:]
        self.size -= size
        if self.at_end and self.known < limit:
            return _Taken(taken, size, self.known, True)
        return _Taken(taken, size, limit, self.at_end and self.known <= limit)


class _Incoming:
    """The messages of all ranges being read, which one consumer delivers interleaved.

    Chunks are cut by offsets and sizes, never by arrival time, so that the order of records from several
    partitions does not depend on timing.
    """

    def __init__(self, properties: Mapping[str, str], reset: Reset) -> None:
        self._complaints = Complaints()
        self._consumer = new_consumer(properties, self._complaints)
        self._patience_s = number(properties, API_TIMEOUT, ONE_MINUTE) / 1000
        self._reset = reset
        self._buffers: dict[Partition, _Buffer] = {}
        self._at_once = AT_ONCE  # messages to take from the client: about a chunk

    def close(self) -> None:
        self._buffers.clear()
        self._consumer.close()

    def is_reading(self, partition: Partition, buffer: _Buffer) -> bool:
        return self._buffers.get(partition) is buffer

    def begin(self, partition: Partition, offset: int) -> _Buffer:
        """Start a range. An unfinished range of the same partition stops here."""
        from confluent_kafka import TopicPartition

        if partition in self._buffers:
            self.end(partition, self._buffers[partition])
        self._buffers[partition] = buffer = _Buffer(offset)
        self._consumer.incremental_assign([TopicPartition(partition.topic, partition.number, offset)])
        return buffer

    def end(self, partition: Partition, buffer: _Buffer) -> None:
        from confluent_kafka import TopicPartition

        if self._buffers.get(partition) is not buffer:
            return
        del self._buffers[partition]
        self._consumer.incremental_unassign([TopicPartition(partition.topic, partition.number)])

    def take(self, partition: Partition, position: int, limit: int) -> _Taken:
        """Return the available messages from ``position`` to ``limit``, or only the first of them if they are
        large."""
        buffer = self._buffers[partition]
        while not buffer.has_chunk(limit):
            self._fetch(partition, position)
        taken = buffer.take(limit)
        if taken.messages:
            self._at_once = fitting(len(taken.messages), taken.size)
        return taken

    def _fetch(self, partition: Partition, position: int) -> None:
        """Wait for messages of any partition, and distribute them."""
        messages = [self._wait(partition, position), *self._consumer.consume(self._at_once, 0)]
        if len(self._buffers) == 1 and not any(map(_ERROR, messages)):
            self._buffers[partition].add(messages)
            return
        mixed: dict[Partition, list[Message]] = {}
        for message in messages:
            error = message.error()
            source = Partition(message.topic() or "", message.partition() or 0)
            if error is None:
                mixed.setdefault(source, []).append(message)
            elif source in self._buffers:
                if source in mixed:
                    self._buffers[source].add(mixed.pop(source))
                self._heed(error, source, message)
            else:
                log.warning("Kafka: %s", describe(error))
        for source, those in mixed.items():
            if source in self._buffers:
                self._buffers[source].add(those)

    def _wait(self, partition: Partition, position: int) -> Message:
        """Wait for a message. Polls are counted instead of seconds, so that time in which the machine was
        suspended does not count."""
        for _ in range(max(1, int(self._patience_s / _POLL_S))):
            first = self._consumer.poll(_POLL_S)
            if first is not None:
                return first
        last = self._complaints.last
        raise ConnectorError(
            f"Kafka gives no more records of {partition}.",
            detail=f"waited {self._patience_s:.0f} s for offset {position}"
            + (f": {describe(last)}" if last is not None else ""),
            hint=f"see whether its leader runs; {API_TIMEOUT} says how long to wait",
        )

    def _heed(self, error: KafkaError, partition: Partition, message: Message) -> None:
        if error.code() == error._PARTITION_EOF:
            buffer = self._buffers[partition]
            buffer.known, buffer.at_end = max(buffer.known, _offset(message)), True
        elif is_gone(error):
            self._skip_what_is_gone(partition, error)
        else:
            complain(partition, error)

    def _skip_what_is_gone(self, partition: Partition, error: KafkaError) -> None:
        buffer = self._buffers[partition]
        buffer.known = skip_what_is_gone(self._consumer, partition, buffer.known, self._reset, error)


def fitting(messages: int, size: int) -> int:
    """How many messages a chunk should have, after so many of them had *size* bytes."""
    return min(AT_ONCE, 1 + _CHUNK_BYTES * messages // max(1, size))


def is_gone(error: KafkaError) -> bool:
    """Whether there is nothing at the offset that was asked for."""
    return error.code() in (error._AUTO_OFFSET_RESET, error.OFFSET_OUT_OF_RANGE)


def complain(partition: Partition, error: KafkaError) -> None:
    """Log what the client goes on after.

    :raises ConnectorError: it will not.
    """
    hopeless = (error.TOPIC_AUTHORIZATION_FAILED, error.UNKNOWN_TOPIC_OR_PART)
    if error.fatal() or error.code() in hopeless:
        raise ConnectorError(f"Kafka partition {partition} cannot be read.", detail=describe(error))
    log.warning("Kafka: partition=%s: %s", partition, describe(error))


def skip_what_is_gone(
    consumer: Consumer, partition: Partition, position: int, reset: Reset, error: KafkaError
) -> int:
    """Read a partition on from where the strategy says, and return that offset: there is nothing at
    *position*.

    :raises ConnectorError: there is no strategy, or the partition ends before *position*.
    """
    from confluent_kafka import TopicPartition

    place = TopicPartition(partition.topic, partition.number)
    first, end = consumer.get_watermark_offsets(place, timeout=10)
    if first <= position:
        raise ConnectorError(
            f"Kafka partition {partition} ends at offset {end}, before {position}, which is to be read.",
            detail=describe(error),
            hint="its last records were lost, or the topic was deleted and created again",
        )
    if reset is Reset.NONE:
        raise ConnectorError(
            f"Records of Kafka partition {partition} are gone before they were read.",
            detail=f"it begins at offset {first} now: {describe(error)}",
            hint="keep them longer (retention.ms), or give a KafkaOffsetResetStrategy to go on",
        )
    target: int = first if reset is Reset.EARLIEST else end
    log.warning("records are gone before they were read partition=%s next=%d", partition, target)
    consumer.incremental_unassign([place])
    place.offset = target
    consumer.incremental_assign([place])
    return target


def _offset(message: Message) -> int:
    offset: int = message.offset()
    return offset
