"""The sinks of Kinesis, Firehose and SQS: batches, limits, partial failures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import SimpleStringSchema, Types
from firesteel.common.errors import ConnectorError, FiresteelError, JobExecutionError, ProgramError
from firesteel.connectors.aws.batching import Batching, BatchWriter, Entry, Target
from firesteel.datastream.connectors.kinesis import (
    KinesisFirehoseSink,
    KinesisStreamsSink,
    KinesisStreamsSinkBuilder,
    PartitionKeyGenerator,
)
from firesteel.datastream.connectors.sqs import SqsSink
from firesteel.testing.connectors import SinkRun
from tests.runtime.support import environment
from tests.servers.aws.support import Aws
from tests.servers.aws.test_contract import Lines

TEXTS = [f"é {n}" for n in range(1200)]


def into(aws: Aws, stream: str) -> KinesisStreamsSinkBuilder:
    builder = KinesisStreamsSink.builder().set_stream_name(stream)
    builder.set_kinesis_client_properties(aws.properties).set_serialization_schema(SimpleStringSchema())
    return builder.set_partition_key_generator(PartitionKeyGenerator.random())


def write(sink: Any, texts: list[str] = TEXTS, parallelism: int = 2) -> None:
    env = environment(parallelism)
    env.from_collection(texts, Types.STRING()).rebalance().sink_to(sink)
    env.execute("to AWS")


def reason_of(failed: pytest.ExceptionInfo[JobExecutionError]) -> str:
    return str(failed.value.__cause__ or failed.value)


# ---- against the double


def test_records_are_in_the_stream(aws: Aws) -> None:
    stream = aws.stream(2)
    write(into(aws, stream).build())
    assert sorted(aws.texts(stream)) == sorted(TEXTS)
    assert len({record["ShardId"] for record in aws.records(stream)}) == 2, "random keys spread"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (PartitionKeyGenerator.fixed(), {"0", "1"}),
        (lambda text: text[-1], set("0123456789")),
    ],
)
def test_partition_keys(aws: Aws, keys: Any, expected: set[str]) -> None:
    stream = aws.stream(1)
    write(into(aws, stream).set_partition_key_generator(keys).build(), TEXTS[:40])
    assert {record["PartitionKey"] for record in aws.records(stream)} == expected


def test_what_is_not_taken_is_sent_again_and_only_that(aws: Aws) -> None:
    stream = aws.stream(2, "faulty")
    write(into(aws, stream).set_max_batch_size(100).build())
    # Read past the faults of reading: shards are asked until each has said three times that it has no more.
    kinesis = aws.client("kinesis")
    found: list[str] = []
    for shard in aws.open_shards(stream):
        request = {"StreamName": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = kinesis.get_shard_iterator(**request)["ShardIterator"]
        empty = 0
        while empty < 9:
            try:
                answer = kinesis.get_records(ShardIterator=iterator)
            except kinesis.exceptions.ProvisionedThroughputExceededException:
                continue
            iterator = answer["NextShardIterator"]
            empty = 0 if answer["Records"] else empty + 1
            found += [record["Data"].decode() for record in answer["Records"]]
    assert sorted(found) == sorted(TEXTS)


def test_fail_on_error_fails(aws: Aws) -> None:
    stream = aws.stream(1, "faulty")
    with pytest.raises(JobExecutionError) as failed:
        write(into(aws, stream).set_fail_on_error(True).build())
    assert f"Kinesis stream {stream} did not take records" in reason_of(failed)


def test_records_are_delivered(aws: Aws) -> None:
    for kind in ("delivery", "faulty"):
        name = aws.delivery_stream(kind)
        builder = KinesisFirehoseSink.builder().set_delivery_stream_name(name).set_max_batch_size(300)
        builder.set_firehose_client_properties(aws.properties).set_serialization_schema(Lines())
        write(builder.build())
        assert sorted(aws.delivered(name)) == sorted(TEXTS)


def test_records_become_messages(aws: Aws) -> None:
    url = aws.queue()
    builder = SqsSink.builder().set_sqs_url(url).set_sqs_client_properties(aws.properties)
    write(builder.set_serialization_schema(SimpleStringSchema()).build(), TEXTS[:95])
    assert sorted(aws.messages(url)) == sorted(TEXTS[:95])


def test_a_request_has_no_more_bytes_than_it_may(aws: Aws, tmp_path: Path) -> None:
    stream = aws.stream(1)
    large = ["x" * 900_000] * 12  # the double refuses more than 5 MiB, and more than 1 MiB in a record
    run = SinkRun(into(aws, stream).build().sink_for(Types.STRING()), tmp_path)
    run.stage(1, large)
    assert [len(text) for text in aws.texts(stream)] == [900_000] * 12
    with pytest.raises(ConnectorError, match="too large"):
        run.stage(2, ["x" * (1 << 20)])


@pytest.mark.parametrize("key", ["", "x" * 257, 7])
def test_a_key_that_kinesis_would_not_take(aws: Aws, tmp_path: Path, key: Any) -> None:
    sink = into(aws, aws.stream(1)).set_partition_key_generator(lambda _: key).build()
    with pytest.raises(ConnectorError, match="a text of 1 to 256 characters"):
        SinkRun(sink.sink_for(Types.STRING()), tmp_path).stage(1, ["a"])


# ---- the writer


class Recording(Target):
    name = "test"
    properties: dict[str, str] = {}

    def __init__(self, refused: int = 0) -> None:
        self.sent: list[list[Any]] = []
        self.refused = refused

    def entries(self, values: Any) -> list[Entry]:
        return [Entry({"value": value}, value) for value in values]

    def send(self, batch: Any) -> list[tuple[int, str]]:
        self.sent.append([entry.size for entry in batch])
        if self.refused:
            self.refused -= 1
            return [(0, "not now")]
        return []


def sent(batching: Batching, sizes: list[int], refused: int = 0) -> list[list[Any]]:
    target = Recording(refused)
    writer = BatchWriter(target, batching)
    for size in sizes:
        writer.write_batch([size], None)
    writer.flush(True)
    writer.close()
    return target.sent


def test_batches_end_at_their_limits() -> None:
    one = Batching(batch_size=3, in_flight=1, buffered=4, batch_bytes=10, record_bytes=10)
    assert sent(one, [1, 2, 3, 4, 5, 6]) == [[1, 2, 3], [4, 5], [6]]
    assert sent(one, [10, 10, 1]) == [[10], [10], [1]]
    assert sent(one, []) == []
    assert sent(one, [1, 2, 3], refused=2) == [[1, 2, 3], [1], [1]]
    many = Batching(batch_size=10, in_flight=4, buffered=30, record_bytes=100)
    batches = sent(many, list(range(100)))
    assert Counter(size for batch in batches for size in batch) == Counter(range(100))
    assert {len(batch) for batch in batches} == {10}


def test_an_attempt_that_fails_does_not_go_on_sending() -> None:
    target = Recording(refused=1 << 30)
    writer = BatchWriter(target, Batching(batch_size=1, buffered=2))
    writer.write_batch([1], None)
    writer.abort()
    writer._threads.shutdown()  # waits for the thread that sends


# ---- builders


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda b: b.set_max_batch_size(501), "at most 500 records"),
        (lambda b: b.set_max_buffered_requests(500), "more records must be buffered"),
        (lambda b: b.set_max_batch_size_in_bytes(6 << 20), "at most 5242880 bytes"),
        (lambda b: b.set_max_record_size_in_bytes(6 << 20), "able to hold a record"),
        (lambda b: b.set_max_in_flight_requests(0), "at least 1"),
        (lambda b: b.set_kinesis_client_properties({"aws.regin": "x"}), "no property 'aws.regin'"),
    ],
)
def test_settings_that_cannot_work(aws: Aws, change: Any, reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        change(into(aws, "s")).build()


@pytest.mark.parametrize("kind", [KinesisStreamsSink, KinesisFirehoseSink, SqsSink])
def test_what_is_missing_is_said(kind: Any) -> None:
    with pytest.raises(FiresteelError, match="is not complete"):
        kind.builder().build()
