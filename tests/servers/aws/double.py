"""moto's server, corrected where Kinesis does otherwise by AWS's documentation: ``python -m ... -p PORT``.

moto moves the records of a shard that is split or merged into the new shards, goes on writing to the old one,
never says that it is at its end, counts sequence numbers 1, 2, 3 in each shard and loses records that come at
once. In Kinesis a closed shard keeps its records, its last iterator is null, and sequence numbers are large,
unique in the stream and far apart.

Streams and queues with ``faulty`` in their name throttle requests, answer some without records though there
are, and do not take a part of what is written.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.firehose.models import FirehoseBackend
from moto.kinesis.models import KinesisBackend, Record, Shard, Stream
from moto.kinesis.utils import decompose_shard_iterator
from moto.server import main

_FIRST = 49_600_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000
_PAGE = 50  # records; Kinesis may always give fewer than were asked for

_lock = threading.RLock()
_numbers = itertools.count(1)
_asked: Counter[str] = Counter()


def _put_record(shard: Shard, partition_key: str, data: str, explicit_hash_key: str) -> str:
    with _lock:
        number = _FIRST + next(_numbers) * 1_000_003
        shard.records[number] = Record(partition_key, data, number, explicit_hash_key)
    return str(number)


def _shard_for_key(stream: Stream, partition_key: str, explicit_hash_key: str) -> Shard | None:
    from moto.utilities.utils import md5_hash

    key = int(explicit_hash_key or int(md5_hash(partition_key.encode()).hexdigest(), 16))
    open_shards = (shard for shard in stream.shards.values() if shard.is_open)
    return next((shard for shard in open_shards if shard.starting_hash <= key <= shard.ending_hash), None)


def _keeping_records(reshard: Callable[..., None], count: int) -> Callable[..., None]:
    """Of the shards that its first arguments name."""

    def resharded(stream: Stream, *arguments: str) -> None:
        with _lock:
            old = [stream.shards[name] for name in arguments[:count]]
            records = [shard.records for shard in old]
            for shard in old:
                shard.records = OrderedDict()
            try:
                reshard(stream, *arguments)
            finally:
                for shard, kept in zip(old, records, strict=True):
                    shard.records = kept

    return resharded


def _turn(name: str, request: str) -> int:
    """How often this was asked of something faulty before; -1 of what is not."""
    if "faulty" not in name:
        return -1
    with _lock:
        _asked[name + request] += 1
        return _asked[name + request] - 1


def _getting(get_records: Callable[..., Any]) -> Callable[..., Any]:
    def get(backend: KinesisBackend, arn: str | None, iterator: str, limit: int | None) -> Any:
        stream_name, shard_id, last = decompose_shard_iterator(iterator)
        turn = _turn(stream_name, "get")
        if turn % 3 == 0:
            raise JsonRESTError("ProvisionedThroughputExceededException", "Rate exceeded for shard")
        if turn % 3 == 1:
            return iterator, [], 5
        with _lock:
            found = get_records(backend, arn, iterator, min(limit or _PAGE, _PAGE))
            shard = backend.streams[stream_name].shards[shard_id]
            at = found[1][-1].sequence_number if found[1] else int(last)
            is_over = not shard.is_open and at >= shard.get_max_sequence_number()
            behind = 1 if at < shard.get_max_sequence_number() else 0
        return None if is_over else found[0], found[1], behind

    return get


def _putting(put_records: Callable[..., Any]) -> Callable[..., Any]:
    def put(backend: KinesisBackend, arn: str, name: str, records: list[dict[str, Any]]) -> Any:
        turn = _turn(name, "put")
        if turn % 3 == 0:
            raise JsonRESTError("ProvisionedThroughputExceededException", "Rate exceeded for stream")
        if turn % 3 != 1:
            return put_records(backend, arn, name, records)
        answer = put_records(backend, arn, name, records[1::2])
        taken = iter(answer["Records"])
        error = {"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "Rate exceeded"}
        answers = [next(taken) if i % 2 else error for i in range(len(records))]
        return {"FailedRecordCount": len(records[0::2]), "Records": answers}

    return put


def _delivering(put_batch: Callable[..., Any]) -> Callable[..., Any]:
    def put(backend: FirehoseBackend, name: str, records: list[dict[str, bytes]]) -> Any:
        turn = _turn(name, "put")
        if turn % 3 == 0:
            raise JsonRESTError("ServiceUnavailableException", "Slow down.")
        if turn % 3 != 1:
            return put_batch(backend, name, records)
        taken = (
            iter(put_batch(backend, name, records[1::2])["RequestResponses"]) if records[1::2] else iter(())
        )
        error = {"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "Slow down."}
        answers = [next(taken) if i % 2 else error for i in range(len(records))]
        return {"FailedPutCount": len(records[0::2]), "Encrypted": False, "RequestResponses": answers}

    return put


def correct() -> None:
    Shard.put_record = _put_record  # type: ignore[method-assign]
    Stream.get_shard_for_key = _shard_for_key  # type: ignore[method-assign]
    Stream.split_shard = _keeping_records(Stream.split_shard, 1)  # type: ignore[method-assign]
    Stream.merge_shards = _keeping_records(Stream.merge_shards, 2)  # type: ignore[method-assign]
    KinesisBackend.get_records = _getting(KinesisBackend.get_records)  # type: ignore[method-assign]
    KinesisBackend.put_records = _putting(KinesisBackend.put_records)  # type: ignore[method-assign]
    FirehoseBackend.put_record_batch = _delivering(FirehoseBackend.put_record_batch)  # type: ignore[method-assign]


if __name__ == "__main__":
    correct()
    main()
