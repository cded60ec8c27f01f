"""Converts Kinesis records to records of the stream (Flink: ``KinesisDeserializationSchema``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from firesteel.common.serialization import DeserializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.aws.shards import ShardSplit
from firesteel.program.bad_records import BadRecord, bad_record, message_decoder


class KinesisDeserializationSchema(ABC):
    """Converts a Kinesis record, with all its metadata, to a record of the stream."""

    def open(self) -> None:
        """Called once in the worker before the first record."""

    @abstractmethod
    def deserialize(
        self,
        record_value: bytes,
        partition_key: str,
        seq_num: str,
        approx_arrival_timestamp: int,
        stream: str,
        shard_id: str,
    ) -> Any:
        """Return the record, or None to skip it. ``approx_arrival_timestamp`` is the time of arrival in
        Kinesis, in epoch milliseconds."""

    def get_produced_type(self) -> TypeInformation | None:
        """Return the declared type of the records; None means any Python object."""
        return None


class Decoded(NamedTuple):
    """The result of decoding records: values with their timestamps, and what could not be read."""

    values: list[Any]
    timestamps: list[int]
    bad: list[BadRecord]
    ignored: int


Decode = Callable[[ShardSplit, Sequence[Mapping[str, Any]]], Decoded]


def batch_decoder(schema: DeserializationSchema | KinesisDeserializationSchema) -> Decode:
    """Return the function that decodes records of a shard, as returned by GetRecords, to records of the
    stream."""
    if isinstance(schema, KinesisDeserializationSchema):
        return _whole_decoder(schema)
    decode_values = message_decoder(schema)

    def decode(split: ShardSplit, records: Sequence[Mapping[str, Any]]) -> Decoded:  # hot
        found = decode_values([record["Data"] for record in records])
        stamps = [_arrival_ms(record) for record in records]
        if found.origins is not None:
            stamps = [stamps[i] for i in found.origins]
        bad = [_bad(split, records[i], error) for i, error in found.bad]
        return Decoded(found.values, stamps, bad, found.ignored)

    return decode


def _whole_decoder(schema: KinesisDeserializationSchema) -> Decode:
    def decode(split: ShardSplit, records: Sequence[Mapping[str, Any]]) -> Decoded:
        values: list[Any] = []
        stamps: list[int] = []
        bad: list[BadRecord] = []
        for record in records:
            arrival = _arrival_ms(record)
            try:
                value = schema.deserialize(
                    record["Data"],
                    record["PartitionKey"],
                    record["SequenceNumber"],
                    arrival,
                    split.stream,
                    split.shard,
                )
            except OSError:
                raise
            except Exception as error:
                bad.append(_bad(split, record, error))
                continue
            if value is not None:
                values.append(value)
                stamps.append(arrival)
        return Decoded(values, stamps, bad, 0)

    return decode


def _arrival_ms(record: Mapping[str, Any]) -> int:
    return int(record["ApproximateArrivalTimestamp"].timestamp() * 1000 + 0.5)


def _bad(split: ShardSplit, record: Mapping[str, Any], error: Exception) -> BadRecord:
    place = {"stream": split.stream, "shard": split.shard, "sequence number": record["SequenceNumber"]}
    return bad_record(place, record["Data"], error)
