"""Source of Kinesis streams: shards are splits, sequence numbers are positions (Flink:
``FlinkKinesisConsumer``).

Kinesis reports neither how many records a shard has nor where it currently ends, and sequence numbers have
gaps. The driver therefore looks ahead: it fetches records itself, notes their sequence numbers, and ends a
range after a record that it has seen. Tasks fetch the records again, directly from Kinesis. What they read is
determined by two sequence numbers, so nothing has to be logged, and a range can be read anywhere and
repeatedly while the stream retains it. The price is that a record is fetched twice while the job keeps up.
When the lag is large, the driver looks at a single record near the end instead of all before it
(``tails.py``). In real-time mode nothing has to be repeatable, so tasks follow their shards themselves
(``polling.py``), and each record is fetched once.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.common.errors import ConfigurationError, ConnectorError
from firesteel.common.logs import logger
from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors.aws.client import PATIENCE_S
from firesteel.connectors.aws.consumer_options import ConsumerOptions, parse_options
from firesteel.connectors.aws.reader import KinesisReader
from firesteel.connectors.aws.records import KinesisDeserializationSchema
from firesteel.connectors.aws.shards import Shard, ShardSplit, Start, StartKind, list_shards
from firesteel.connectors.aws.tails import ShardTail
from firesteel.program.sources import (
    Boundedness,
    EnumeratorContext,
    ReadRange,
    Source,
    SourcePromise,
    SourceReader,
    Split,
    SplitEnumerator,
)

log = logger(__name__)

_WAIT_FOR_ANSWERS_S: Final = 0.25  # late answers are used the next time
_THREADS: Final = 32
_LOOK_AHEAD: Final = 10_000  # records, until an epoch has set a limit
_BEGINNING: Final = Start(StartKind.TRIM_HORIZON)


@dataclass(frozen=True)
class KinesisSource(Source):
    """Reads streams of one region. Unbounded: shards may end, but a stream does not.

    :param by_hash: assign shards to subtasks in the order of their hash keys instead of their ids.
    """

    streams: tuple[str, ...]
    schema: DeserializationSchema | KinesisDeserializationSchema
    properties: Mapping[str, str] = field(repr=False)
    by_hash: bool = False

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def description(self) -> str:
        return f"Kinesis {', '.join(self.streams)}"

    @property
    def options(self) -> ConsumerOptions:
        return parse_options(self.properties)

    def validate(self) -> None:
        """Check that Kinesis answers, grants access and has the streams."""
        self._check_schema()
        for stream in self.streams:
            list_shards(stream, self.properties, patience_s=PATIENCE_S / 2)

    def _check_schema(self) -> None:
        if not isinstance(self.schema, DeserializationSchema):
            return
        if type(self.schema).is_end_of_stream is not DeserializationSchema.is_end_of_stream:
            raise ConfigurationError(
                "A Kinesis stream has no end: is_end_of_stream of its schema would never be asked.",
                detail=f"the schema is {type(self.schema).__name__}",
                hint="stop the job with a savepoint instead",
            )

    def promise(self, checkpointing: bool) -> SourcePromise:
        latest = self.options.start.kind is StartKind.LATEST
        return SourcePromise.from_start(latest=latest and not checkpointing)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _ShardEnumerator(self)

    def create_reader(self) -> SourceReader:
        return KinesisReader(self.properties, self.options, self.schema)


class _ShardEnumerator(SplitEnumerator):
    """Reports a shard once all its parents have been read to the end, so that records with the same partition
    key stay in order across a reshard."""

    def __init__(self, source: KinesisSource) -> None:
        self._source = source
        self._options = source.options
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="kinesis")
        self._tails: dict[str, ShardTail] = {}
        self._wanted = _LOOK_AHEAD
        self._handed_out: set[str] = set()  # to tasks that poll
        self._next_discovery_ms: int | None = None
        self._restored = False
        # What is in the snapshot:
        self._reported: set[str] = set()
        self._ended: set[str] = set()
        self._later: dict[str, Start] = {}  # by stream, where later shards start
        self._begun_ms = 0  # on Kinesis's clock; LATEST means from then on

    # ---- shards

    def discover(self, now_ms: int) -> list[Split]:
        self._collect(now_ms)
        if self._next_discovery_ms is not None and now_ms < self._next_discovery_ms:
            return []
        is_first = self._next_discovery_ms is None and not self._restored
        self._next_discovery_ms = now_ms + self._options.discovery_ms
        splits: list[Split] = []
        for stream in self._source.streams:
            try:
                shards, kinesis_ms = list_shards(
                    stream, self._source.properties, PATIENCE_S if is_first else 0
                )
            except (ConfigurationError, ConnectorError) as error:
                if is_first:
                    raise
                log.warning("no new shards can be found: %s", error)
                continue
            self._begun_ms = self._begun_ms or kinesis_ms or now_ms
            splits += self._new_splits(stream, shards)
        return splits

    def _new_splits(self, stream: str, shards: list[Shard]) -> list[Split]:
        listed = {shard.name for shard in shards}
        start = self._start_of(stream)
        if stream not in self._later:
            self._later[stream] = _BEGINNING if start.kind is StartKind.LATEST else start
            if start.kind is StartKind.LATEST:  # a closed shard receives no records
                closed = {shard.name for shard in shards if shard.closed}
                self._reported |= closed
                self._ended |= closed
        gone = {n for n in self._reported if n.startswith(f"{stream}/") and n not in listed}
        self._reported -= gone & self._ended  # their retention has expired
        self._ended -= gone
        new = [
            shard
            for shard in shards
            if shard.name not in self._reported
            and not any(parent in listed and parent not in self._ended for parent in shard.parent_names)
        ]
        if self._source.by_hash:
            new.sort(key=lambda shard: shard.hashes)
        self._reported |= {shard.name for shard in new}
        return [Split(shard.name, ShardSplit(stream, shard.id, start, shard.hashes)) for shard in new]

    def _start_of(self, stream: str) -> Start:
        """Return where shards found now start."""
        later = self._later.get(stream)
        if later is not None:
            return later
        if self._restored and not self._options.starts_new_streams:
            return _BEGINNING
        return self._options.start

    @property
    def finished(self) -> bool:
        return False

    # ---- ranges

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        self._wanted = max_records
        tail = self._tails.get(split.id)
        if tail is None:
            tail = self._tails[split.id] = self._new_tail(split.payload, position)
            tail.look(now_ms, self._wanted)
            return None
        found = tail.next_range(position, max_records, max_bytes)
        if found is None:
            return None
        begin, stop = found
        return ReadRange(split, begin, max_records, max_bytes, stop)

    def _new_tail(self, split: ShardSplit, position: Any) -> ShardTail:
        if self._restored and position is None:
            # The shard was empty at the checkpoint; read what has arrived since.
            split = split.since(self._begun_ms)
        return ShardTail(
            split, position, self._source.properties, self._options, self._executor, self._begun_ms
        )

    def hand_out(self, split: Split, position: Any) -> Split:
        is_first = split.id not in self._handed_out and not self._restored
        self._handed_out.add(split.id)
        if is_first or position is not None:
            return split
        return Split(split.id, split.payload.since(self._begun_ms))

    def _collect(self, now_ms: int) -> None:
        """Request what is not known yet, and wait briefly for the answers."""
        for tail in self._tails.values():
            tail.take_answer(now_ms)
            tail.look(now_ms, self._wanted)
        asked = [tail.asked for tail in self._tails.values() if tail.asked is not None]
        if asked:
            wait(asked, _WAIT_FOR_ANSWERS_S)
        for tail in self._tails.values():
            tail.take_answer(now_ms)

    def next_data_ms(self, now_ms: int) -> int | None:
        if any(tail.asked is not None for tail in self._tails.values()):
            return now_ms
        looks = [tail.next_look_ms for tail in self._tails.values()]
        known = [look for look in (*looks, self._next_discovery_ms) if look is not None]
        return min(known, default=None)

    def pending_records(self) -> dict[str, int]:
        return {name: tail.pending for name, tail in self._tails.items()}

    # ---- the life of the source

    def split_ended(self, split: Split) -> None:
        self._ended.add(split.id)
        self._tails.pop(split.id, None)
        self._next_discovery_ms = 0  # the child shards may be read now

    def snapshot(self) -> Any:
        return sorted(self._reported), sorted(self._ended), dict(self._later), self._begun_ms

    def restore(self, state: Any) -> None:
        reported, ended, later, self._begun_ms = state
        self._reported, self._ended, self._later = set(reported), set(ended), dict(later)
        self._restored = True

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
