"""Splits aggregated records of the Kinesis Producer Library (Flink: ``UserRecord.deaggregate``).

An aggregated record is a four-byte magic number, a Protocol Buffers message, and the MD5 of the message:

    AggregatedRecord { 1: partition keys   2: explicit hash keys   3: records }
    Record           { 1: index of its partition key   2: index of its explicit hash key   3: data }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import md5
from typing import Any, Final

Record = Mapping[str, Any]

_MARK: Final = b"\xf3\x89\x9a\xc2"
_DIGEST: Final = 16  # bytes

_VARINT: Final = 0
_BYTES: Final = 2


def take_apart(record: Record, hashes: tuple[int, int]) -> Sequence[Record]:
    """Return the records in a record, or the record itself if it is not aggregated.

    :param hashes: of the shard. After a reshard the producer's mapping may be outdated. It sends records that
        belong to another shard again, to that shard, so they are ignored here.
    """
    data: bytes = record["Data"]
    if not data.startswith(_MARK):
        return (record,)
    body = data[len(_MARK) : -_DIGEST]
    if _digest(body) != data[-_DIGEST:]:
        return (record,)
    keys: list[str] = []
    hash_keys: list[str] = []
    parts: list[Mapping[int, Any]] = []
    for number, value in _fields(body):
        if number == 1:
            keys.append(value.decode())
        elif number == 2:
            hash_keys.append(value.decode())
        elif number == 3:
            parts.append(dict(_fields(value)))
    found = []
    first, last = hashes
    for part in parts:
        key = keys[part[1]]
        place = int(hash_keys[part[2]]) if 2 in part else int.from_bytes(_digest(key.encode()), "big")
        if first <= place <= last:
            found.append({**record, "Data": part[3], "PartitionKey": key})
    return found


def _digest(data: bytes) -> bytes:
    return md5(data, usedforsecurity=False).digest()


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message. These messages contain only numbers and bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, at = _varint(message, at)
        if tag & 7 == _VARINT:
            yield tag >> 3, number
        elif tag & 7 == _BYTES:
            yield tag >> 3, message[at : at + number]
            at += number
        else:
            raise ValueError(f"a field of wire type {tag & 7} in an aggregated record")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Decode a varint; return it and the offset after it."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
