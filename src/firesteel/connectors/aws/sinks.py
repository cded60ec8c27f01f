"""Sinks for Kinesis streams, Firehose and SQS (Flink: ``KinesisStreamsSink``, ``KinesisFirehoseSink``,
``SqsSink``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import getrandbits
from typing import Any, Final, NamedTuple

from firesteel.common.errors import ConnectorError, ProgramError
from firesteel.common.serialization import SerializationSchema, serialize_all
from firesteel.connectors.aws.batching import Batching, BatchWriter, Entry, Target
from firesteel.connectors.aws.client import PATIENCE_S, ask, client
from firesteel.program.sinks import Sink, SinkWriter, WriterContext


class Service(NamedTuple):
    """The name of a service in boto3 and in messages, and the limits of a request."""

    client: str
    name: str
    most_records: int
    most_bytes: int


KINESIS: Final = Service("kinesis", "Kinesis stream", 500, 5 << 20)
FIREHOSE: Final = Service("firehose", "Firehose delivery stream", 500, 4 << 20)
SQS: Final = Service("sqs", "SQS queue", 10, 1 << 20)


@dataclass(frozen=True)
class AwsSink(Sink, ABC):
    """Sends each record at least once; subclasses define the requests.

    :param name: of the stream, or the URL of the queue.
    """

    name: str
    schema: SerializationSchema
    properties: Mapping[str, str] = field(repr=False)
    batching: Batching

    service = KINESIS

    @property
    def description(self) -> str:
        return f"{self.service.name} {self.name}"

    def validate(self) -> None:
        """Check that AWS answers, grants access, and has the target."""
        self.batching.check(self.service.most_records, self.service.most_bytes)
        aws = client(self.service.client, self.properties, PATIENCE_S)
        what = f"The {self.service.name} {self.name!r} cannot be written to"
        ask(lambda: self.look_at(aws), what, self.properties, PATIENCE_S / 2)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        self.schema.open()
        return BatchWriter(self.target(context), self.batching)

    @abstractmethod
    def look_at(self, aws: Any) -> Any:
        """Send a request that fails if the target does not exist."""

    @abstractmethod
    def target(self, context: WriterContext) -> Target: ...


class _Bodies(Target):
    """What the three share: a schema makes the body of each record."""

    def __init__(self, sink: AwsSink) -> None:
        self.name = sink.description
        self.properties = sink.properties
        self._place = sink.name
        self._schema = sink.schema
        self._client = client(sink.service.client, sink.properties)

    def _bodies(self, values: Sequence[Any]) -> list[bytes]:
        bodies = serialize_all(self._schema, values)
        found = [body for body in bodies if body is not None]
        if len(found) < len(bodies):
            raise ConnectorError(
                f"A record for {self.name} needs a body, and the schema has made None of one.",
                detail=f"of {values[bodies.index(None)]!r:.200}",
                hint="let the schema return bytes",
            )
        return found


def _refused(answers: Sequence[Mapping[str, Any]]) -> list[tuple[int, str]]:
    """Return the rejected records; there is one answer per record."""
    return [
        (index, f"{answer['ErrorCode']}: {answer.get('ErrorMessage', '')}")
        for index, answer in enumerate(answers)
        if answer.get("ErrorCode")
    ]


# ---- Kinesis


class PartitionKeyGenerator:
    """Returns the partition key of each record, whose hash selects the shard (Flink:
    ``PartitionKeyGenerator``). Derive from it and define ``apply``, or use one of its static methods."""

    def open(self, subtask_index: int) -> None:
        """Called before the first record of an epoch."""

    def apply(self, element: Any) -> str:
        """Return the key: a text of 1 to 256 characters."""
        raise ProgramError(
            "A PartitionKeyGenerator needs an apply method.",
            operator=type(self).__name__,
            hint="define apply(self, element) in your subclass",
        )

    @staticmethod
    def fixed() -> PartitionKeyGenerator:
        """Use the index of the subtask: each subtask writes to one shard."""
        return _FixedKeys()

    @staticmethod
    def random() -> PartitionKeyGenerator:
        """Use a different key for each record, which spreads them over all shards."""
        return _RandomKeys()


class _FixedKeys(PartitionKeyGenerator):
    def open(self, subtask_index: int) -> None:
        self._key = str(subtask_index)

    def apply(self, element: Any) -> str:
        return self._key


class _RandomKeys(PartitionKeyGenerator):
    def apply(self, element: Any) -> str:
        return f"{getrandbits(128):032x}"


@dataclass(frozen=True)
class StreamSink(AwsSink):
    """Writes to a stream. ``keys`` is a partition key generator or a function."""

    keys: PartitionKeyGenerator | Callable[[Any], str]

    service = KINESIS

    def look_at(self, aws: Any) -> Any:
        return aws.describe_stream_summary(StreamName=self.name)

    def target(self, context: WriterContext) -> Target:
        if not isinstance(self.keys, PartitionKeyGenerator):
            return _Stream(self, self.keys)
        self.keys.open(context.subtask_index)
        return _Stream(self, self.keys.apply)


class _Stream(_Bodies):
    def __init__(self, sink: AwsSink, keys: Callable[[Any], str]) -> None:
        super().__init__(sink)
        self._keys = keys

    def entries(self, values: Sequence[Any]) -> list[Entry]:
        keys = self._keys
        found = []
        for value, body in zip(values, self._bodies(values), strict=True):  # hot
            key = keys(value)
            if type(key) is not str or not 0 < len(key) <= 256:
                raise ConnectorError(
                    f"A partition key of {self.name} is a text of 1 to 256 characters.",
                    detail=f"got {key!r:.300} for {value!r:.200}",
                    hint="let the partition key generator return one",
                )
            found.append(Entry({"Data": body, "PartitionKey": key}, len(body) + len(key.encode())))
        return found

    def send(self, batch: Sequence[Entry]) -> list[tuple[int, str]]:
        records = [entry.content for entry in batch]
        return _refused(self._client.put_records(StreamName=self._place, Records=records)["Records"])


# ---- Firehose


class FirehoseSink(AwsSink):
    service = FIREHOSE

    def look_at(self, aws: Any) -> Any:
        return aws.describe_delivery_stream(DeliveryStreamName=self.name)

    def target(self, context: WriterContext) -> Target:
        return _DeliveryStream(self)


class _DeliveryStream(_Bodies):
    def entries(self, values: Sequence[Any]) -> list[Entry]:
        return [Entry({"Data": body}, len(body)) for body in self._bodies(values)]

    def send(self, batch: Sequence[Entry]) -> list[tuple[int, str]]:
        records = [entry.content for entry in batch]
        answer = self._client.put_record_batch(DeliveryStreamName=self._place, Records=records)
        return _refused(answer["RequestResponses"])


# ---- SQS


class QueueSink(AwsSink):
    service = SQS

    def look_at(self, aws: Any) -> Any:
        return aws.get_queue_attributes(QueueUrl=self.name, AttributeNames=["QueueArn"])

    def target(self, context: WriterContext) -> Target:
        return _Queue(self)


class _Queue(_Bodies):
    def entries(self, values: Sequence[Any]) -> list[Entry]:
        try:
            return [Entry({"MessageBody": body.decode()}, len(body)) for body in self._bodies(values)]
        except UnicodeDecodeError as error:
            raise ConnectorError(
                f"A message of {self.name} is text, and the schema has made other bytes.",
                detail=str(error),
                hint="encode them, as in base64",
            ) from error

    def send(self, batch: Sequence[Entry]) -> list[tuple[int, str]]:
        messages = [{"Id": str(index), **entry.content} for index, entry in enumerate(batch)]
        answer = self._client.send_message_batch(QueueUrl=self._place, Entries=messages)
        return [
            (int(failed["Id"]), f"{failed['Code']}: {failed.get('Message', '')}")
            for failed in answer.get("Failed", ())
        ]
