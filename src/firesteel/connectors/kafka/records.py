"""From messages to records (Flink: ``KafkaRecordDeserializationSchema``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from firesteel.common.errors import ProgramError
from firesteel.common.serialization import DeserializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.program.bad_records import BadRecord, bad_record, message_decoder

if TYPE_CHECKING:
    from confluent_kafka import Message

NO_TIMESTAMP: Final = -(2**63)
_VALUE: Final = methodcaller("value")


class ConsumerRecord(NamedTuple):
    """One message with all its metadata (Kafka: ``ConsumerRecord``). ``timestamp`` is in epoch milliseconds,
    or None; ``timestamp_type`` is "CreateTime", "LogAppendTime" or "NoTimestampType"; a ``value`` of None is
    a tombstone."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class KafkaRecordDeserializationSchema(ABC):
    """Turns a message into any number of records."""

    def open(self) -> None:
        """Called once in the worker before the first message."""

    @abstractmethod
    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        """Return the records of the message in order; usually a generator. Each gets the message's
        timestamp."""

    def get_produced_type(self) -> TypeInformation | None:
        """Return the declared type of the records; None means any Python object."""
        return None

    @staticmethod
    def value_only(deserialization_schema: DeserializationSchema) -> KafkaRecordDeserializationSchema:
        """Read the value of each message with the schema. A message without a value (a tombstone) is a bad
        record, unless the schema accepts None."""
        return ValueOnly(deserialization_schema)


class ValueOnly(KafkaRecordDeserializationSchema):
    """See ``KafkaRecordDeserializationSchema.value_only``."""

    def __init__(self, schema: DeserializationSchema) -> None:
        if not isinstance(schema, DeserializationSchema):
            raise ProgramError(
                "Values are read by a DeserializationSchema.",
                detail=f"got {schema!r}",
                hint="SimpleStringSchema()",
            )
        if type(schema).is_end_of_stream is not DeserializationSchema.is_end_of_stream:
            raise ProgramError(
                "A KafkaSource does not ask is_end_of_stream: partitions end at offsets.",
                detail=f"{type(schema).__name__} defines it",
                hint="set_bounded() or set_unbounded() on the builder",
            )
        self.schema = schema

    def open(self) -> None:
        self.schema.open()

    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        return self.schema.deserialize_many(record.value)

    def get_produced_type(self) -> TypeInformation | None:
        return self.schema.get_produced_type()


class Decoded(NamedTuple):
    """The result of decoding messages: records with their timestamps (None: they have none), and the messages
    that could not be read."""

    values: list[Any]
    timestamps: list[int] | None
    bad: list[BadRecord]
    ignored: int


Decode = Callable[[Sequence["Message"]], Decoded]


class BatchDeserializationSchema(KafkaRecordDeserializationSchema):
    """Decodes the messages of a partition many at once."""

    @abstractmethod
    def decode(self, messages: Sequence[Message]) -> Decoded:
        """Return the records of *messages*; those that cannot be read are ``bad_message``."""

    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        raise NotImplementedError("messages are decoded many at once")


def batch_decoder(schema: KafkaRecordDeserializationSchema) -> Decode:
    """Return the function that decodes messages of a partition to records."""
    if isinstance(schema, BatchDeserializationSchema):
        return schema.decode
    if isinstance(schema, ValueOnly):
        return _value_decoder(schema.schema)

    def decode(messages: Sequence[Message]) -> Decoded:
        values: list[Any] = []
        stamps: list[int] = []
        bad: list[BadRecord] = []
        for message in messages:  # hot
            record = consumer_record(message)
            try:
                found = list(schema.deserialize(record))
            except OSError:
                raise
            except Exception as error:
                bad.append(bad_message(message, error))
                continue
            values += found
            stamps += [NO_TIMESTAMP if record.timestamp is None else record.timestamp] * len(found)
        return Decoded(values, stamps, bad, 0)

    return decode


def _value_decoder(schema: DeserializationSchema) -> Decode:
    decode_values = message_decoder(schema)

    def decode(messages: Sequence[Message]) -> Decoded:
        found = decode_values(list(map(_VALUE, messages)))  # hot
        stamps = [m.timestamp()[1] for m in messages]
        if found.origins is not None:
            stamps = [stamps[i] for i in found.origins]
        if stamps and min(stamps) < 0:
            stamps = [NO_TIMESTAMP if stamp < 0 else stamp for stamp in stamps]
        bad = [bad_message(messages[i], error) for i, error in found.bad]
        return Decoded(found.values, stamps, bad, found.ignored)

    return decode


def bad_message(message: Message, error: Exception) -> BadRecord:
    """Return the bad record that a message is."""
    place = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
    return bad_record(place, message.value(), error)


TIMESTAMP_TYPES: Final = ("NoTimestampType", "CreateTime", "LogAppendTime")


def consumer_record(message: Message) -> ConsumerRecord:
    kind, stamp = message.timestamp()
    return ConsumerRecord(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        stamp if kind else None,
        TIMESTAMP_TYPES[kind],
        message.key(),
        message.value(),
        message.headers() or [],
    )
