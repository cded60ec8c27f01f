"""Shards of Kinesis streams: listing them, where to start, and places within one."""

from __future__ import annotations

import email.utils
import enum
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from firesteel.connectors.aws.client import PATIENCE_S, ask, client
from firesteel.storage.records import record


@record("kinesis start kind")
class StartKind(enum.Enum):
    LATEST = "LATEST"
    TRIM_HORIZON = "TRIM_HORIZON"
    AT_TIMESTAMP = "AT_TIMESTAMP"


@record("kinesis start")
class Start(NamedTuple):
    """Where to start reading a shard. ``timestamp_ms`` is used by AT_TIMESTAMP."""

    kind: StartKind
    timestamp_ms: int = 0


@record("kinesis place")
class Place(NamedTuple):
    """A place in a shard: after the record with this sequence number if ``behind``, else before it.
    ``parts``: after this many of the records aggregated in it."""

    sequence: int
    behind: bool = True
    parts: int = 0


class Stop(NamedTuple):
    """The end of a range: after the record with this sequence number, or before any record if it is None.
    ``last``: the shard ends there too, because it was closed by a reshard. ``records``: number of records in
    the range; None if unknown."""

    sequence: int | None
    last: bool = False
    records: int | None = None


@record("kinesis split")
class ShardSplit(NamedTuple):
    """The payload of a split. ``hashes`` are its first and last hash key."""

    stream: str
    shard: str
    start: Start
    hashes: tuple[int, int]

    def since(self, latest_ms: int) -> ShardSplit:
        """The split with LATEST pinned to what it was at an instant of Kinesis's clock: a later iterator of
        that kind would begin behind the records that have arrived meanwhile. Other starts stay."""
        if self.start.kind is not StartKind.LATEST:
            return self
        return self._replace(start=Start(StartKind.AT_TIMESTAMP, latest_ms))


class Shard(NamedTuple):
    """A shard as returned by ListShards. ``parents`` are the shards it was split or merged from."""

    stream: str
    id: str
    parents: tuple[str, ...]
    hashes: tuple[int, int]
    closed: bool

    @property
    def name(self) -> str:
        return shard_name(self.stream, self.id)

    @property
    def parent_names(self) -> list[str]:
        return [shard_name(self.stream, parent) for parent in self.parents]


def shard_name(stream: str, shard: str) -> str:
    """Return the name of a shard, and of its split, that is unique among all streams."""
    return f"{stream}/{shard}"


def list_shards(
    stream: str, properties: Mapping[str, str], patience_s: float = PATIENCE_S
) -> tuple[list[Shard], int | None]:
    """Return all shards of a stream, including closed ones, and the time on Kinesis's clock in epoch
    milliseconds.

    :raises ConfigurationError: the stream does not exist, or access is denied.
    :raises ConnectorError: Kinesis does not answer.
    """
    kinesis = client("kinesis", properties, PATIENCE_S)
    found: list[Shard] = []
    wanted = {"StreamName": stream}
    while True:
        answer = ask(
            partial(kinesis.list_shards, **wanted),
            f"The shards of the Kinesis stream {stream!r} cannot be listed",
            properties,
            patience_s,
        )
        found += [_shard(stream, shard) for shard in answer["Shards"]]
        token = answer.get("NextToken")
        if not token:
            return sorted(found, key=lambda shard: shard.id), server_time_ms(answer)
        wanted = {"NextToken": token}


def _shard(stream: str, said: Mapping[str, Any]) -> Shard:
    parents = [said.get("ParentShardId"), said.get("AdjacentParentShardId")]
    return Shard(
        stream,
        said["ShardId"],
        tuple(parent for parent in parents if parent),
        (int(said["HashKeyRange"]["StartingHashKey"]), int(said["HashKeyRange"]["EndingHashKey"])),
        said["SequenceNumberRange"].get("EndingSequenceNumber") is not None,
    )


def server_time_ms(answer: Mapping[str, Any]) -> int | None:
    """Return the time of a response on Kinesis's clock, in whole seconds."""
    date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    return None if date is None else int(email.utils.parsedate_to_datetime(date).timestamp() * 1000)


def iterator_request(split: ShardSplit, place: Place | None) -> dict[str, Any]:
    """Return the arguments of GetShardIterator. If ``place`` is None it is where the shard starts."""
    request: dict[str, Any] = {"StreamName": split.stream, "ShardId": split.shard}
    if place is not None:
        kind = "AFTER_SEQUENCE_NUMBER" if place.behind else "AT_SEQUENCE_NUMBER"
        return request | {"ShardIteratorType": kind, "StartingSequenceNumber": str(place.sequence)}
    request["ShardIteratorType"] = split.start.kind.value
    if split.start.kind is StartKind.AT_TIMESTAMP:
        request["Timestamp"] = datetime.fromtimestamp(split.start.timestamp_ms / 1000, UTC)
    return request
