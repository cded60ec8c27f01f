"""Source of a RabbitMQ queue (Flink: ``RMQSource``).

RabbitMQ has no positions to return to, only unacknowledged messages. Arriving messages are therefore written
to a log of the job before they are read, if epochs may have to be read again. A message is acknowledged when
a checkpoint that covers it is complete. After a failure, unacknowledged messages are redelivered. Those that
the checkpoint covers are recognised by their correlation id and dropped. In real-time mode nothing has to be
read again, so a task consumes the queue itself, without a log (``polling.py``).
"""

from __future__ import annotations

import contextlib
import pickle
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from firesteel.common.errors import ConfigurationError, ConnectorError
from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors.rabbitmq.receiver import Delivery, Receiver
from firesteel.connectors.rabbitmq.settings import RabbitSettings, check
from firesteel.program.bad_records import bad_record, message_decoder
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    PollingReader,
    ReadRange,
    Source,
    SourcePromise,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.storage.filesystems import join, resolve
from firesteel.storage.records import record

_CHUNK: Final = 1024
_SPLIT: Final = Split("queue")


@dataclass(frozen=True, slots=True)
class RabbitSource(Source):
    """Reads the messages of a queue in order, with one subtask. Unbounded.

    :param use_correlation_id: whether messages have unique correlation ids, so that redelivered ones are
        recognised (exactly once); otherwise a message may be repeated after a failure (at least once).
        Without checkpoints the server deletes a message when it has sent it.
    """

    settings: RabbitSettings
    queue: str
    use_correlation_id: bool
    schema: DeserializationSchema

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def max_parallelism(self) -> int | None:
        return 1

    @property
    def description(self) -> str:
        return f"RabbitMQ {self.queue}"

    def promise(self, checkpointing: bool) -> SourcePromise:
        if not checkpointing:  # acknowledged as they are sent
            return SourcePromise.AT_MOST_ONCE
        return SourcePromise.EXACTLY_ONCE if self.use_correlation_id else SourcePromise.AT_LEAST_ONCE

    def validate(self) -> None:
        if type(self.schema).is_end_of_stream is not DeserializationSchema.is_end_of_stream:
            raise ConfigurationError(
                "A queue has no end: is_end_of_stream of its schema would never be asked.",
                detail=f"the schema is {type(self.schema).__name__}",
                hint="stop the job with a savepoint instead",
            )
        check(self.settings, self.queue)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _QueueEnumerator(self, context)

    def create_reader(self) -> SourceReader:
        return _QueueReader(self)

    def receiver(self, *, auto_ack: bool) -> Receiver:
        """Return what consumes the queue, not connected yet.

        :param auto_ack: the server deletes a message when it has sent it.
        """
        return Receiver(self.settings, self.queue, auto_ack)

    def id_of(self, delivery: Delivery) -> str:
        """Return the id by which a message is recognised that comes again.

        :raises ConnectorError: it has none.
        """
        if delivery.correlation_id is None:
            raise ConnectorError(
                f"A message of {self.queue!r} has no correlation id.",
                hint="let its producer set one, or set use_correlation_id to False",
            )
        return delivery.correlation_id


@record("rabbitmq place")
class Place(NamedTuple):
    """The position of a task that consumes the queue itself: it is to read the message ``number`` next.

    :ivar names: the numbers of messages that it has read in the last epoch, by correlation id.
    :ivar gone: the ids of messages that were acknowledged in it.
    """

    number: int
    names: dict[str, int] = {}
    gone: tuple[str, ...] = ()


def place_of(position: Any) -> Place:
    """Return a position as a place. Where the driver consumes the queue it is a number."""
    if position is None:
        return Place(0)
    return position if isinstance(position, Place) else Place(position)


class KnownMessages(NamedTuple):
    """What a task has to know that consumes the queue.

    :ivar names: the numbers of messages that were read and may come again, by correlation id.
    :ivar acknowledges: whether it acknowledges messages; otherwise the server deletes what it has sent.
    """

    names: dict[str, int]
    acknowledges: bool


class _Segment(NamedTuple):
    """A file with the messages from number ``first`` to before number ``end``."""

    first: int
    end: int
    path: str


class _QueueEnumerator(SplitEnumerator):
    """Numbers messages in the order of arrival; a position is the number of the next message."""

    def __init__(self, source: RabbitSource, context: EnumeratorContext) -> None:
        self._source = source
        self._receiver = source.receiver(auto_ack=not context.checkpointing)
        self._acknowledges = context.checkpointing
        self._is_polled = context.polled
        self._directory = join(context.work_dir, f"rabbitmq-{uuid.uuid4().hex}")
        self._segments: list[_Segment] = []
        self._end: int | None = None  # after the last message of the log; None: before the first plan
        self._waiting: dict[int, Delivery] = {}  # unacknowledged messages, by number
        self._numbers: dict[str, int] = {}  # of messages that may be redelivered, by correlation id
        self._reported = False

    def open(self) -> None:
        if not self._is_polled:
            self._receiver.start()

    def close(self) -> None:
        self._receiver.close()

    def discover(self, now_ms: int) -> list[Split]:
        found = [] if self._reported else [_SPLIT]
        self._reported = True
        return found

    @property
    def finished(self) -> bool:
        return self._reported

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        start = place_of(position).number
        if self._end is None:
            self._forget_after(start)
            self._end = start
        self._append(self._receiver.take())
        if self._end <= start:
            return None
        segments = [s for s in self._segments if s.end > start and s.first < start + max_records]
        return ReadRange(split, start, max_records, max_bytes, tuple(segments))

    def _forget_after(self, start: int) -> None:
        """Messages numbered after the checkpoint are unacknowledged: they will be redelivered."""
        self._numbers = {name: n for name, n in self._numbers.items() if n < start}

    def hand_out(self, split: Split, position: Any) -> Split:
        self._forget_after(place_of(position).number)
        return Split(split.id, KnownMessages(dict(self._numbers), self._acknowledges))

    def came_to(self, split: Split, position: Any) -> None:
        if self._is_polled:
            place = place_of(position)
            self._numbers.update(place.names)
            for name in place.gone:
                self._numbers.pop(name, None)

    def _append(self, deliveries: list[Delivery]) -> None:
        assert self._end is not None
        first = self._end
        bodies: list[bytes] = []
        for delivery in deliveries:
            if self._source.use_correlation_id:
                name = self._source.id_of(delivery)
                known = self._numbers.get(name)
                if known is not None:
                    self._waiting[known] = delivery
                    continue
                if self._acknowledges:
                    self._numbers[name] = first + len(bodies)
            if self._acknowledges:
                self._waiting[first + len(bodies)] = delivery._replace(body=b"")
            bodies.append(delivery.body)
        if bodies:
            segment = _Segment(first, first + len(bodies), join(self._directory, f"{first:016d}.log"))
            storage, path = resolve(segment.path)
            storage.write(path, pickle.dumps(bodies, 5))
            self._segments.append(segment)
            self._end = segment.end

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        covered = positions.get(_SPLIT.id)
        if covered is None or self._is_polled:
            return
        covered = place_of(covered).number
        done = {number: delivery for number, delivery in self._waiting.items() if number < covered}
        gone = set(self._receiver.acknowledge(done) if done else ())
        for number in gone:
            del self._waiting[number]
        # The names of all others are kept: what was not acknowledged may come again, much later than this.
        self._numbers = {name: number for name, number in self._numbers.items() if number not in gone}
        while self._segments and self._segments[0].end <= covered:
            storage, path = resolve(self._segments.pop(0).path)
            with contextlib.suppress(OSError):  # a file that stays only takes up space
                storage.delete(path)

    def snapshot(self) -> Any:
        return dict(self._numbers)

    def restore(self, state: Any) -> None:
        self._numbers = dict(state)


class _QueueReader(SourceReader):
    polls = acknowledges = True

    def __init__(self, source: RabbitSource) -> None:
        self._source = source
        self._queue = source.queue
        self._decode = message_decoder(source.schema)

    def open(self) -> None:
        self._source.schema.open()

    def polling(self) -> PollingReader:
        from firesteel.connectors.rabbitmq.polling import QueuePolling

        return QueuePolling(self._source, self.chunk)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        position = place_of(range_.position).number
        records, room = range_.max_records, range_.max_bytes
        for segment in range_.stop:
            if segment.end <= position:  # read, and it may be gone
                continue
            storage, path = resolve(segment.path)
            with storage.open_input(path) as file:
                bodies: list[bytes] = pickle.loads(file.read())
            for at in range(position - segment.first, len(bodies), _CHUNK):
                if records <= 0 or room <= 0:
                    return
                part = bodies[at : at + min(_CHUNK, records)]
                yield self.chunk(segment.first + at, part)
                position += len(part)
                records -= len(part)
                room -= sum(map(len, part))

    def chunk(self, first: int, bodies: list[bytes]) -> Chunk:
        """Return the records of messages, the first of which has this number."""
        decoded = self._decode(bodies)
        bad = [
            bad_record({"queue": self._queue, "message": first + i}, bodies[i], error)
            for i, error in decoded.bad
        ]
        after = first + len(bodies)
        return Chunk(decoded.values, None, after, bad=bad, ignored=decoded.ignored)
