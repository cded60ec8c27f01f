"""Source of a RabbitMQ queue (Flink: ``RMQSource``).

RabbitMQ has no positions to return to, only unacknowledged messages. Arriving messages are therefore written
to a log of the job before they are read, if epochs may have to be read again. A message is acknowledged when
a checkpoint that covers it is complete. After a failure, unacknowledged messages are redelivered. Those that
the checkpoint covers are recognised by their correlation id and dropped.
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
    ReadRange,
    Source,
    SourcePromise,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.storage.filesystems import join, resolve

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
        return _QueueReader(self.queue, self.schema)


class _Segment(NamedTuple):
    """A file with the messages from number ``first`` to before number ``end``."""

    first: int
    end: int
    path: str


class _QueueEnumerator(SplitEnumerator):
    """Numbers messages in the order of arrival; a position is the number of the next message."""

    def __init__(self, source: RabbitSource, context: EnumeratorContext) -> None:
        self._source = source
        self._receiver = Receiver(source.settings, source.queue, auto_ack=not context.checkpointing)
        self._acknowledges = context.checkpointing
        self._directory = join(context.work_dir, f"rabbitmq-{uuid.uuid4().hex}")
        self._segments: list[_Segment] = []
        self._end: int | None = None  # after the last message of the log; None: before the first plan
        self._waiting: dict[int, Delivery] = {}  # unacknowledged messages, by number
        self._numbers: dict[str, int] = {}  # of messages that may be redelivered, by correlation id
        self._reported = False

    def open(self) -> None:
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
        start = position or 0
        if self._end is None:
            # Messages numbered after the checkpoint are unacknowledged: they will be redelivered.
            self._numbers = {name: n for name, n in self._numbers.items() if n < start}
            self._end = start
        self._append(self._receiver.take())
        if self._end <= start:
            return None
        segments = [s for s in self._segments if s.end > start and s.first < start + max_records]
        return ReadRange(split, start, max_records, max_bytes, tuple(segments))

    def _append(self, deliveries: list[Delivery]) -> None:
        assert self._end is not None
        first = self._end
        bodies: list[bytes] = []
        for delivery in deliveries:
            name = delivery.correlation_id
            if self._source.use_correlation_id:
                if name is None:
                    raise ConnectorError(
                        f"A message of {self._source.queue!r} has no correlation id.",
                        hint="let its producer set one, or set use_correlation_id to False",
                    )
                known = self._numbers.get(name)
                if known is not None:
                    self._waiting[known] = delivery
                    continue
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
        if covered is None:
            return
        done = [number for number in self._waiting if number < covered]
        if done:
            self._receiver.acknowledge([self._waiting[number] for number in done])
        for number in done:
            del self._waiting[number]
        self._numbers = {n: at for n, at in self._numbers.items() if at >= covered or at in self._waiting}
        while self._segments and self._segments[0].end <= covered:
            storage, path = resolve(self._segments.pop(0).path)
            with contextlib.suppress(OSError):  # a file that stays only takes up space
                storage.delete(path)

    def snapshot(self) -> Any:
        return dict(self._numbers)

    def restore(self, state: Any) -> None:
        self._numbers = dict(state)


class _QueueReader(SourceReader):
    def __init__(self, queue: str, schema: DeserializationSchema) -> None:
        self._queue = queue
        self._schema = schema
        self._decode = message_decoder(schema)

    def open(self) -> None:
        self._schema.open()

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        position: int = range_.position
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
                yield self._chunk(segment.first + at, part)
                position += len(part)
                records -= len(part)
                room -= sum(map(len, part))

    def _chunk(self, first: int, bodies: list[bytes]) -> Chunk:
        decoded = self._decode(bodies)
        bad = [
            bad_record({"queue": self._queue, "message": first + i}, bodies[i], error)
            for i, error in decoded.bad
        ]
        after = first + len(bodies)
        return Chunk(decoded.values, None, after, bad=bad, ignored=decoded.ignored)
