"""Kinesis, Firehose and SQS keep the contract of sources and sinks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.common import SimpleStringSchema, Types
from firesteel.datastream.connectors.kinesis import (
    KinesisFirehoseSink,
    KinesisStreamsSink,
    PartitionKeyGenerator,
)
from firesteel.datastream.connectors.sqs import SqsSink
from firesteel.testing.connectors import SinkContract, SinkPromise, SourceContract
from tests.servers.aws.support import Aws


class Lines(SimpleStringSchema):
    def serialize(self, element: str) -> bytes:
        return super().serialize(element) + b"\n"


@pytest.mark.row("S-CONN-03")
class TestKinesisAsSource(SourceContract):
    """Meanwhile shards are split and merged."""

    @pytest.fixture(autouse=True)
    def place(self, aws: Aws) -> None:
        self.aws = aws
        self.stream = aws.stream(3)

    def produce(self, directory: Path, portion: int) -> list[Any]:
        values = self.aws.put(self.stream, [f"{portion}-{n}" for n in range(12)])
        (self.aws.merge if portion == 1 else self.aws.split)(self.stream)
        return values + self.aws.put(self.stream, [f"{portion}-behind-{n}" for n in range(12)])

    def make_source(self, directory: Path) -> Any:
        return self.aws.consumer(self.stream).source


class _Writing(SinkContract):
    type_info = Types.STRING()
    promise = SinkPromise.AT_LEAST_ONCE

    @pytest.fixture(autouse=True)
    def place(self, aws: Aws) -> None:
        self.aws = aws
        self.begin()

    def begin(self) -> None:
        raise NotImplementedError


class TestStreamAsSink(_Writing):
    def begin(self) -> None:
        self.name = self.aws.stream(2)

    def make_sink(self, directory: Path) -> Any:
        builder = KinesisStreamsSink.builder().set_stream_name(self.name)
        builder.set_kinesis_client_properties(self.aws.properties)
        builder.set_partition_key_generator(PartitionKeyGenerator.random())
        return builder.set_serialization_schema(SimpleStringSchema()).build()

    def read(self, directory: Path) -> list[Any]:
        return self.aws.texts(self.name)


class TestFirehoseAsSink(_Writing):
    test_a_job_whose_drivers_are_killed = None  # type: ignore[assignment]  # its writer is that of the stream

    def begin(self) -> None:
        self.name = self.aws.delivery_stream()

    def make_sink(self, directory: Path) -> Any:
        builder = KinesisFirehoseSink.builder().set_delivery_stream_name(self.name)
        builder.set_firehose_client_properties(self.aws.properties)
        return builder.set_serialization_schema(Lines()).build()

    def read(self, directory: Path) -> list[Any]:
        return self.aws.delivered(self.name)


class TestQueueAsSink(_Writing):
    test_a_job_whose_drivers_are_killed = None  # type: ignore[assignment]  # its writer is that of the stream

    def begin(self) -> None:
        self.url = self.aws.queue()
        self.seen: list[Any] = []

    def make_sink(self, directory: Path) -> Any:
        builder = SqsSink.builder().set_sqs_url(self.url).set_sqs_client_properties(self.aws.properties)
        return builder.set_serialization_schema(SimpleStringSchema()).build()

    def read(self, directory: Path) -> list[Any]:
        self.seen += self.aws.messages(self.url)
        return self.seen
