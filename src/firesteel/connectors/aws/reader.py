"""Reads ranges of a shard in a task, directly from Kinesis (Flink: ``PollingRecordPublisher``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from firesteel.common.errors import ConnectorError
from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors._followed import FollowedSplits
from firesteel.connectors.aws.aggregation import Record, take_apart
from firesteel.connectors.aws.client import ask, client
from firesteel.connectors.aws.consumer_options import ConsumerOptions
from firesteel.connectors.aws.records import KinesisDeserializationSchema, batch_decoder
from firesteel.connectors.aws.shards import Place, ShardSplit, Stop, iterator_request
from firesteel.program.sources import Chunk, PollingReader, ReadRange, SourceReader, Split

_AT_ONCE: Final = 1000  # records per chunk
_CHUNK_BYTES: Final = 4 << 20
_PATIENCE_S: Final = 60.0


class KinesisReader(SourceReader):
    """Reads ranges that end after a record the driver has seen, so a range is the same on every read. Where
    chunks end depends only on the records, not on how Kinesis pages them."""

    def __init__(
        self,
        properties: Mapping[str, str],
        options: ConsumerOptions,
        schema: DeserializationSchema | KinesisDeserializationSchema,
    ) -> None:
        self._properties = properties
        self._options = options
        self._schema = schema
        self._iterators: dict[str, tuple[Place, str]] = {}  # by split, the end of the previous range

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_decode"}

    def open(self) -> None:
        self._schema.open()
        self._decode = batch_decoder(self._schema)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        split: ShardSplit = range_.split.payload
        place: Place | None = range_.position
        stop: Stop = range_.stop
        if stop.sequence is None or (place is not None and place.behind and place.sequence >= stop.sequence):
            yield Chunk([], None, place, end=stop.last)
            return
        left, room = range_.max_records, range_.max_bytes
        parts = taken_apart(self._records(range_.split.id, split, place, stop), split, place)
        while left > 0 and room > 0:
            taken, size, place = _take(parts, min(_AT_ONCE, left), min(_CHUNK_BYTES, room))
            if place is None:
                return
            left -= len(taken)
            room -= size
            is_over = place.behind and place.sequence == stop.sequence
            yield self._chunk(range_.split, taken, place, stop.last and is_over)
            if is_over:
                return

    def _records(self, name: str, split: ShardSplit, place: Place | None, stop: Stop) -> Iterator[Record]:
        """Yield records from ``place`` up to the record ``stop``, which must exist."""
        iterator = self._kept(name, place)
        end, left = stop.sequence or 0, stop.records or self._options.max_count
        while True:
            # If the last page ends with the range, the next range can use its iterator.
            limit = min(left, self._options.max_count) if left > 0 else self._options.max_count
            page = self._page(split, iterator or self._iterator(split, place), limit)
            if page is None:  # the iterator has expired
                iterator = None
                continue
            iterator, records = page.get("NextShardIterator"), page["Records"]
            if records:
                place = Place(int(records[-1]["SequenceNumber"]))
                if iterator is not None:
                    self._iterators[name] = place, iterator
            for record in records:
                sequence = int(record["SequenceNumber"])
                if sequence <= end:
                    yield record
                if sequence == end:
                    return
            left -= len(records)
            if iterator is None or (records and sequence > end):
                raise self._gone(split, end)

    def _kept(self, name: str, place: Place | None) -> str | None:
        """Return the iterator left by the previous range, if this one continues there."""
        kept = self._iterators.pop(name, None)
        return kept[1] if kept is not None and kept[0] == place else None

    polls = True

    def polling(self) -> PollingReader:
        from firesteel.connectors.aws.polling import follow

        return FollowedSplits("kinesis", partial(follow, self._properties, self._options), self._chunk)

    def _chunk(self, split: Split, records: list[Record], place: Place | None, ended: bool) -> Chunk:
        values, stamps, bad, ignored = self._decode(split.payload, records)
        return Chunk(values, stamps, place, ended, (), bad, ignored)

    def _iterator(self, split: ShardSplit, place: Place | None) -> str:
        kinesis = client("kinesis", self._properties)
        request = iterator_request(split, place)
        answer = self._ask(split, lambda: kinesis.get_shard_iterator(**request))
        found: str = answer["ShardIterator"]
        return found

    def _page(self, split: ShardSplit, iterator: str, limit: int) -> Record | None:
        kinesis = client("kinesis", self._properties)

        def get() -> Record | None:
            try:
                answer: Record = kinesis.get_records(ShardIterator=iterator, Limit=limit)
            except kinesis.exceptions.ExpiredIteratorException:
                return None
            return answer

        found: Record | None = self._ask(split, get)
        return found

    def _gone(self, split: ShardSplit, sequence: int) -> ConnectorError:
        return ConnectorError(
            f"Records of shard {split.shard} of the Kinesis stream {split.stream!r} are gone.",
            detail=f"record {sequence} was there when the epoch was planned",
            hint="lengthen the retention period of the stream",
        )

    def _ask(self, split: ShardSplit, call: Any) -> Any:
        what = f"Shard {split.shard} of the Kinesis stream {split.stream!r} cannot be read"
        return ask(call, what, self._properties, _PATIENCE_S, self._options.backoff)


def taken_apart(
    records: Iterable[Record], split: ShardSplit, place: Place | None
) -> Iterator[tuple[Record | None, Place]]:
    """Yield the records behind a place, de-aggregated, with the place after each; None if no part of a record
    belongs to this shard."""
    for record in records:  # hot
        sequence = int(record["SequenceNumber"])
        parts = take_apart(record, split.hashes)
        behind = Place(sequence)
        if len(parts) == 1:
            yield parts[0], behind
            continue
        done = place.parts if place is not None and place.sequence == sequence else 0
        for number in range(done + 1, len(parts)):
            yield parts[number - 1], Place(sequence, behind=False, parts=number)
        yield parts[-1] if parts else None, behind


def _take(
    parts: Iterator[tuple[Record | None, Place]], count: int, size: int
) -> tuple[list[Record], int, Place | None]:
    """Return some records, their size in bytes, and the place after them; None if there are no more."""
    taken: list[Record] = []
    total = 0
    place: Place | None = None
    for record, behind in parts:  # hot
        place = behind
        if record is not None:
            taken.append(record)
            total += len(record["Data"])
            if len(taken) >= count or total >= size:
                break
    return taken, total, place
