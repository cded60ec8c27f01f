"""Builders of the sinks that write to AWS in batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

from firesteel.common.errors import ProgramError
from firesteel.common.serialization import SerializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.aws.batching import Batching
from firesteel.connectors.aws.client import check_properties
from firesteel.connectors.aws.sinks import AwsSink, FirehoseSink, PartitionKeyGenerator, QueueSink, StreamSink
from firesteel.program import sources as base
from firesteel.program.checks import WrongArgumentError, property_value, require_int, require_text
from firesteel.program.connector_wrappers import SinkWrapper


class _BatchingSink(SinkWrapper):
    """A sink whose schema is checked against the type of the stream."""

    def sink_for(self, type_info: TypeInformation | None) -> base.Sink:
        sink: AwsSink = self._sink
        sink.schema.check_type(type_info)
        return sink


class _BatchingSinkBuilder:
    """What the AWS sinks share (Flink: ``AsyncSinkBaseBuilder``)."""

    _WHO: ClassVar[str]
    _defaults: ClassVar[Batching]

    def __init__(self) -> None:
        self._name: str | None = None
        self._schema: SerializationSchema | None = None
        self._properties: dict[str, str] = {}
        self._batching = self._defaults

    def set_serialization_schema(self, serialization_schema: SerializationSchema) -> Self:
        """Set the schema that converts records to bytes."""
        if not isinstance(serialization_schema, SerializationSchema):
            raise WrongArgumentError(
                "Not a SerializationSchema.",
                operator=self._WHO,
                detail=f"got {serialization_schema!r}",
                hint="SimpleStringSchema()",
            )
        self._schema = serialization_schema
        return self

    def set_fail_on_error(self, fail_on_error: bool) -> Self:
        """Set whether a rejected record fails the job; otherwise it is retried until it is accepted. A
        missing stream or rejected credentials always fail the job. Default: False."""
        return self._with(fail_on_error=bool(fail_on_error))

    def set_max_batch_size(self, max_batch_size: int) -> Self:
        """Set the number of records per request."""
        return self._with_number("batch_size", max_batch_size, "max_batch_size")

    def set_max_in_flight_requests(self, max_in_flight_requests: int) -> Self:
        """Set the number of concurrent requests of a subtask; each has a thread. Default: 50."""
        return self._with_number("in_flight", max_in_flight_requests, "max_in_flight_requests")

    def set_max_buffered_requests(self, max_buffered_requests: int) -> Self:
        """Set the number of records that a subtask may have buffered or in flight before it blocks. Must be
        larger than a batch."""
        return self._with_number("buffered", max_buffered_requests, "max_buffered_requests")

    def set_max_batch_size_in_bytes(self, max_batch_size_in_bytes: int) -> Self:
        """Set the number of bytes per request."""
        return self._with_number("batch_bytes", max_batch_size_in_bytes, "max_batch_size_in_bytes")

    def set_max_time_in_buffer_ms(self, max_time_in_buffer_ms: int) -> Self:
        """Set how long a record may wait for its request to fill, in real time. It is sent at the end of its
        epoch at the latest. Default: 5,000."""
        return self._with_number("buffered_ms", max_time_in_buffer_ms, "max_time_in_buffer_ms")

    def set_max_record_size_in_bytes(self, max_record_size_in_bytes: int) -> Self:
        """Set the maximum size of a record in bytes; a larger one fails the job."""
        return self._with_number("record_bytes", max_record_size_in_bytes, "max_record_size_in_bytes")

    def _with_number(self, field: str, value: int, parameter: str) -> Self:
        return self._with(**{field: require_int(value, parameter, 1, None, self._WHO)})

    def _with(self, **options: Any) -> Self:
        self._batching = replace(self._batching, **options)
        return self

    def _set_name(self, name: str, parameter: str) -> Self:
        self._name = require_text(name, parameter, self._WHO)
        return self

    def _set_properties(self, properties: dict[str, Any]) -> Self:
        self._properties = {key: property_value(key, value, self._WHO) for key, value in properties.items()}
        check_properties(self._properties)
        return self

    def _build(self, kind: Callable[..., AwsSink], setter: str, *more: Any) -> AwsSink:
        for value, missing in ((self._name, setter), (self._schema, "set_serialization_schema()")):
            if value is None:
                raise ProgramError(f"{self._WHO} is not complete.", detail=f"{missing} was not called")
        sink = kind(self._name, self._schema, self._properties, self._batching, *more)
        self._batching.check(sink.service.most_records, sink.service.most_bytes)
        return sink


class KinesisStreamsSink(_BatchingSink):
    """Writes to a Kinesis stream at least once, in batches; see ``builder``."""

    @staticmethod
    def builder() -> KinesisStreamsSinkBuilder:
        return KinesisStreamsSinkBuilder()


class KinesisStreamsSinkBuilder(_BatchingSinkBuilder):
    """Requires a stream, a schema, a partition key generator and client properties.

    Defaults: 500 records or 5 MiB per request, 50 concurrent requests, 10,000 records buffered, 1 MiB per
    record.
    """

    _WHO = "KinesisStreamsSink"
    _defaults = Batching()

    def __init__(self) -> None:
        super().__init__()
        self._keys: PartitionKeyGenerator | Callable[[Any], str] | None = None

    def set_stream_name(self, stream_name: str) -> Self:
        """Set the stream to write to."""
        return self._set_name(stream_name, "stream_name")

    def set_partition_key_generator(
        self, partition_key_generator: PartitionKeyGenerator | Callable[[Any], str]
    ) -> Self:
        """Set the partition key of each record: a generator, or a function from record to text."""
        if not isinstance(partition_key_generator, PartitionKeyGenerator) and not callable(
            partition_key_generator
        ):
            raise WrongArgumentError(
                "Not a PartitionKeyGenerator.",
                operator=self._WHO,
                detail=f"got {partition_key_generator!r}",
                hint="PartitionKeyGenerator.random(), or a function",
            )
        self._keys = partition_key_generator
        return self

    def set_kinesis_client_properties(self, kinesis_client_properties: dict[str, Any]) -> Self:
        """Set ``aws.region``, ``aws.endpoint``, ``aws.credentials.provider`` ..."""
        return self._set_properties(kinesis_client_properties)

    def build(self) -> KinesisStreamsSink:
        """Build the sink.

        :raises ProgramError: a setting is missing, or settings contradict each other.
        """
        if self._keys is None:
            raise ProgramError(
                f"{self._WHO} is not complete.", detail="set_partition_key_generator() was not called"
            )
        return KinesisStreamsSink(self._build(StreamSink, "set_stream_name()", self._keys))


class KinesisFirehoseSink(_BatchingSink):
    """Writes to a Firehose delivery stream at least once, in batches; see ``builder``."""

    @staticmethod
    def builder() -> KinesisFirehoseSinkBuilder:
        return KinesisFirehoseSinkBuilder()


class KinesisFirehoseSinkBuilder(_BatchingSinkBuilder):
    """Requires a delivery stream, a schema and client properties.

    Defaults: 500 records or 4 MiB per request, 50 concurrent requests, 10,000 records buffered, 1,000 KiB per
    record.
    """

    _WHO = "KinesisFirehoseSink"
    _defaults = Batching(batch_bytes=4 << 20, record_bytes=1000 << 10)

    def set_delivery_stream_name(self, delivery_stream_name: str) -> Self:
        """Set the delivery stream to write to."""
        return self._set_name(delivery_stream_name, "delivery_stream_name")

    def set_firehose_client_properties(self, firehose_client_properties: dict[str, Any]) -> Self:
        """Set ``aws.region``, ``aws.endpoint``, ``aws.credentials.provider`` ..."""
        return self._set_properties(firehose_client_properties)

    def build(self) -> KinesisFirehoseSink:
        """Build the sink.

        :raises ProgramError: a setting is missing, or settings contradict each other.
        """
        return KinesisFirehoseSink(self._build(FirehoseSink, "set_delivery_stream_name()"))


class SqsSink(_BatchingSink):
    """Sends messages to an SQS queue at least once; see ``builder`` (Flink: ``SqsSink``)."""

    @staticmethod
    def builder() -> SqsSinkBuilder:
        return SqsSinkBuilder()


class SqsSinkBuilder(_BatchingSinkBuilder):
    """Requires the URL of a queue, a schema that produces text, and client properties.

    Defaults: 10 messages or 256,000 bytes per request, 50 concurrent requests, 5,000 messages buffered,
    256,000 bytes per message.
    """

    _WHO = "SqsSink"
    _defaults = Batching(batch_size=10, buffered=5_000, batch_bytes=256_000, record_bytes=256_000)

    def set_sqs_url(self, sqs_url: str) -> Self:
        """Set the queue, such as ``https://sqs.eu-central-1.amazonaws.com/123456789012/orders``."""
        return self._set_name(sqs_url, "sqs_url")

    def set_sqs_client_properties(self, sqs_client_properties: dict[str, Any]) -> Self:
        """Set ``aws.region``, ``aws.endpoint``, ``aws.credentials.provider`` ..."""
        return self._set_properties(sqs_client_properties)

    def build(self) -> SqsSink:
        """Build the sink.

        :raises ProgramError: a setting is missing, or settings contradict each other.
        """
        return SqsSink(self._build(QueueSink, "set_sqs_url()"))
