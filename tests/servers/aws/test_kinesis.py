"""FlinkKinesisConsumer: shards, sequence numbers, reshards, throttling, event time."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from hashlib import md5
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

from firesteel.common import SimpleStringSchema, Types, WatermarkStrategy
from firesteel.common.errors import BadRecordError, ConnectorError, JobExecutionError
from firesteel.common.serialization import ByteArraySchema, DeserializationSchema
from firesteel.connectors.aws import tails
from firesteel.connectors.aws.shards import Place, ShardSplit, Start, StartKind, Stop
from firesteel.connectors.base import EnumeratorContext, ReadRange, Split
from firesteel.datastream import ProcessFunction
from firesteel.datastream.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    KinesisShardAssigner,
    WatermarkTracker,
)
from firesteel.testing.collecting_sink import CollectingSink
from firesteel.testing.connectors import SourceContract, SourceRun, chunks_of
from tests.runtime.support import MODE, environment, in_both_modes
from tests.servers.aws.support import Aws
from tests.servers.kafka.support import running
from tests.waiting import until

LATER = "flink.stream.initpos"


def reading(consumer: FlinkKinesisConsumer, tmp_path: Path, parallelism: int = 1) -> SourceRun:
    return SourceRun(consumer.source, tmp_path, parallelism)


def in_a_job(
    consumer: FlinkKinesisConsumer, enough: Callable[[list[Any]], bool], **options: str
) -> list[Any]:
    """What a job has read when it is enough."""
    env = environment(2, **options)
    sink = CollectingSink()
    env.add_source(consumer, "kinesis").sink_to(sink)
    with running(env):
        until(lambda: enough(sink.values), "not all was read")
    return sink.values


def at(consumer: FlinkKinesisConsumer, position: str, **more: str) -> FlinkKinesisConsumer:
    properties = consumer._properties | {LATER: position} | more
    return FlinkKinesisConsumer(list(consumer._streams), consumer._schema, properties)


# ---- where reading begins


def test_latest_is_what_comes_from_now_on_also_after_a_restore(aws: Aws, tmp_path: Path) -> None:
    stream = aws.stream(2)
    aws.put(stream, ["too early"] * 20)
    with reading(at(aws.consumer(stream), "LATEST"), tmp_path) as run:
        for _ in range(5):
            run.epoch()
        aws.put(stream, ["a", "b", "c"])
        run.read(3)
        assert sorted(run.values) == ["a", "b", "c"]
    quiet = aws.stream(1)
    with reading(at(aws.consumer(quiet), "LATEST"), tmp_path) as run:
        for _ in range(5):
            run.epoch()
        aws.put(quiet, ["while nobody looks"])
        run.restart(2)
        run.read(1)
        assert run.values == ["while nobody looks"]


def test_latest_does_not_move_when_the_first_look_is_throttled(aws: Aws, tmp_path: Path) -> None:
    stream = aws.stream(1, "faulty")
    aws.put(stream, ["too early"])
    time.sleep(1.1)  # Kinesis's clock is known by the second
    with reading(at(aws.consumer(stream), "LATEST"), tmp_path) as run:
        run.epoch()
        until(lambda: all(t.asked.done() for t in run._enumerator._tails.values()), "no answer")  # type: ignore[attr-defined]
        aws.put(stream, ["a", "b"])
        run.read(2)
        assert run.values == ["a", "b"]


def test_a_timestamp_is_where_reading_begins(aws: Aws, tmp_path: Path) -> None:
    stream = aws.stream()
    aws.put(stream, ["early"])
    time.sleep(0.05)
    between = time.time()
    time.sleep(0.05)
    aws.put(stream, ["late"])
    timestamp = {"flink.stream.initpos.timestamp": f"{between:.3f}"}
    with reading(at(aws.consumer(stream), "AT_TIMESTAMP", **timestamp), tmp_path) as run:
        run.read(1)
        assert run.values == ["late"]


@pytest.mark.parametrize(
    ("text", "pattern", "expected_ms"),
    [
        ("2016-04-04T19:58:46.480-00:00", None, 1459799926480),
        ("2016-04-04T21:58:46.480+02:00", None, 1459799926480),
        ("1459799926.480", None, 1459799926480),
        ("soon", None, None),
        ("04.04.2016 19h +0000", "dd.MM.yyyy HH'h' Z", 1459796400000),
    ],
)
def test_timestamps_as_flink_reads_them(text: str, pattern: str | None, expected_ms: int | None) -> None:
    properties = {"aws.region": "eu-central-1", LATER: "AT_TIMESTAMP", "flink.stream.initpos.timestamp": text}
    if pattern is not None:
        properties["flink.stream.initpos.timestamp.format"] = pattern
    if expected_ms is None:
        with pytest.raises(ValueError, match="neither a time nor a number"):
            FlinkKinesisConsumer("s", SimpleStringSchema(), properties)
    else:
        consumer = FlinkKinesisConsumer("s", SimpleStringSchema(), properties)
        assert consumer._options.start == Start(StartKind.AT_TIMESTAMP, expected_ms)


def test_a_stream_that_is_added_is_read_from_its_beginning(aws: Aws, tmp_path: Path) -> None:
    first, second = aws.stream(), aws.stream()
    aws.put(second, ["was there"])
    with reading(at(aws.consumer(first), "LATEST"), tmp_path) as run:
        run.epoch()
        run.source = at(aws.consumer(first, second), "LATEST").source
        run.restart(1)
        run.read(1)
        assert run.values == ["was there"]


# ---- reshards


@pytest.mark.row("S-CONN-03")
def test_parents_are_read_to_their_end_before_their_children(aws: Aws, tmp_path: Path) -> None:
    stream = aws.stream(2)
    texts = aws.put(stream, [f"0-{n}" for n in range(40)])
    aws.split(stream)
    texts += aws.put(stream, [f"1-{n}" for n in range(40)])
    aws.merge(stream)
    texts += aws.put(stream, [f"2-{n}" for n in range(40)])
    parents = {
        shard["ShardId"]: {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")} - {None}
        for shard in aws.client("kinesis").list_shards(StreamName=stream)["Shards"]
    }
    assert sum(map(len, parents.values())) == 4, "a split and a merge"
    with reading(aws.consumer(stream), tmp_path) as run:
        known = 0
        while len(run.values) < len(texts):
            run.epoch(max_records=7)
            assert run.now_ms < 1_500_000, "five hundred epochs, and not all is read"
            ended = {p.split.payload.shard for p in run.splits.values() if p.ended}
            for progress in run.splits.values():
                assert parents[progress.split.payload.shard] <= ended
            if len(ended) > known:
                run.restart(2)  # what has ended the next driver knows, too
            known = len(ended)
        assert sorted(run.values) == sorted(texts)
        assert len([p for p in run.splits.values() if p.ended]) == 3


@in_both_modes
def test_a_job_goes_on_over_a_reshard(aws: Aws, mode: str) -> None:
    stream = aws.stream(1)
    texts = aws.put(stream, [f"0-{n}" for n in range(100)])
    env = environment(2, **{"execution.checkpointing.interval": "50 ms", MODE: mode})
    sink = CollectingSink()
    env.add_source(aws.consumer(stream), "kinesis").sink_to(sink)
    with running(env):
        until(lambda: len(sink.values) == 100, "not all was read")
        aws.split(stream)
        texts += aws.put(stream, [f"1-{n}" for n in range(100)])
        until(lambda: len(sink.values) >= 200, "the new shards are not read")
    assert sorted(sink.values) == sorted(texts)


# ---- faults


@pytest.mark.row("S-CONN-03")
@in_both_modes
def test_throttled_and_empty_answers_are_waited_for(aws: Aws, mode: str) -> None:
    stream = aws.stream(2, "faulty")
    texts = aws.put(stream, [f"{n}" for n in range(300)])
    read = in_a_job(aws.consumer(stream), lambda found: len(found) >= 300, **{MODE: mode})
    assert sorted(read) == sorted(texts)


def expiring(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let all iterators expire that come with an answer; those that have."""
    kinesis = aws.client("kinesis")
    real = kinesis.get_records
    expired: list[str] = []

    def get_records(ShardIterator: str, **options: Any) -> Any:
        """Those that come with an answer have expired, those that are asked for have not."""
        if ShardIterator.endswith("!"):
            expired.append(ShardIterator)
            response = {"Error": {"Code": "ExpiredIteratorException", "Message": "too old"}}
            raise kinesis.exceptions.ExpiredIteratorException(response, "GetRecords")
        answer = real(ShardIterator=ShardIterator, **options)
        return answer | {"NextShardIterator": answer["NextShardIterator"] + "!"}

    monkeypatch.setattr(kinesis, "get_records", get_records)
    return expired


def test_an_iterator_that_has_expired_is_asked_for_anew(
    aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = aws.stream()
    expired = expiring(aws, monkeypatch)
    with reading(aws.consumer(stream), tmp_path) as run:
        for portion in range(3):
            texts = aws.put(stream, [f"{portion}-{n}" for n in range(5)])
            run.read(5 * (portion + 1))
            assert run.values[-5:] == texts
    assert len(expired) >= 4, "of the driver and of the task"


def test_a_record_that_is_gone_is_no_silence(aws: Aws, tmp_path: Path) -> None:
    stream = aws.stream()
    aws.put(stream, ["a"])
    consumer = aws.consumer(stream)
    with reading(consumer, tmp_path) as run:
        run.read(1)
        (there,) = run.readings
    stop = there.range.stop._replace(sequence=there.range.stop.sequence - 1)
    beyond = ReadRange(there.range.split, None, 10, 10_000, stop)
    with pytest.raises(ConnectorError, match="are gone"):
        chunks_of(consumer.source, beyond)


def test_a_stream_that_is_deleted_fails_the_job(aws: Aws) -> None:
    stream = aws.stream()
    aws.put(stream, ["a"])
    env = environment(1)
    sink = CollectingSink()
    env.add_source(aws.consumer(stream)).sink_to(sink)
    client = env.execute_async("deleted")
    until(lambda: sink.values == ["a"], "it is not read")
    aws.client("kinesis").delete_stream(StreamName=stream)
    with pytest.raises(JobExecutionError) as failed:
        client.get_job_execution_result().result()
    assert "does not exist" in str(failed.value.__cause__ or failed.value)


# ---- polled, in real time


class FailsOnce:
    """Raises at a text, once for each name."""

    seen: ClassVar[set[str]] = set()

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text

    def __call__(self, text: str) -> str:
        if text == self.text and self.name not in self.seen:
            self.seen.add(self.name)
            raise ValueError(text)
        return text


@pytest.mark.parametrize("modes", [("real-time", "epochs"), ("epochs", "real-time")])
def test_each_record_once_over_failures_and_savepoints(
    aws: Aws, tmp_path: Path, modes: tuple[str, str]
) -> None:
    """Some are aggregated, so that positions may lie inside of one."""
    stream = aws.stream(2)
    options = {
        "execution.checkpointing.interval": "50 ms",
        "firesteel.real-time.epoch": "50 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "10 ms",
    }
    seen: list[str] = []
    wanted: list[str] = []
    for number, mode in enumerate(modes):
        first = [f"{number}-{n:03d}" for n in range(60)]
        together = [f"{number}-{n:03d}" for n in range(60, 100)]
        wanted += first + together
        env = environment(2, **options, **{MODE: mode})
        sink = CollectingSink()
        texts = env.add_source(aws.consumer(stream), "kinesis").uid("kinesis")
        fails = FailsOnce(f"{stream} {number}", together[20])
        texts.map(fails, Types.STRING()).uid("map").sink_to(sink).uid("sink")
        client = env.execute_async("reads")
        aws.put(stream, first)
        put_aggregated(aws, stream, aggregated([("a", text) for text in together]))
        until(lambda: len(sink.values) >= 100, "not all was read")  # noqa: B023
        path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
        options["execution.state-recovery.path"] = path
        seen += sink.values
        assert fails.name in FailsOnce.seen
    assert sorted(seen) == sorted(wanted)


def test_a_task_reads_without_a_round_of_the_driver(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails.ShardTail, "look", lambda *_: pytest.fail("the driver has looked ahead"))
    stream = aws.stream()
    expired = expiring(aws, monkeypatch)
    env = environment(1, **{MODE: "real-time"})
    sink = CollectingSink()
    env.add_source(aws.consumer(stream), "kinesis").sink_to(sink)
    with running(env):
        for count, text in enumerate("abc", 1):
            aws.put(stream, [text])
            until(lambda: len(sink.values) == count, "it is not read")  # noqa: B023
    assert sink.values == ["a", "b", "c"]
    assert expired, "iterators that expire are asked for anew"


def test_latest_does_not_move_while_nothing_comes(
    aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first iterator is lost, in one task; then the job is restored, and the shard is still empty."""
    stream = aws.stream()
    aws.put(stream, ["too early"])
    time.sleep(1.1)  # Kinesis's clock is known by the second
    expired = expiring(aws, monkeypatch)
    source = at(aws.consumer(stream), "LATEST").source
    enumerator = source.create_enumerator(EnumeratorContext(1, str(tmp_path), polled=True))
    (split,) = enumerator.discover(0)
    reader = source.create_reader()
    reader.open()

    def read(split: Split) -> list[Any]:
        polling = reader.polling()
        polling.add_splits([(split, None)])
        try:
            until(lambda: len(expired) > 2, "no iterator has expired")
            aws.put(stream, ["a"])
            found: list[Any] = []
            until(
                lambda: bool(
                    found.extend(v for _, c in polling.poll(10, 100.0, ()) for v in c.values) or found
                ),
                "it is not read",
            )
            return found
        finally:
            polling.close()

    assert read(enumerator.hand_out(split, None)) == ["a"]
    assert enumerator.hand_out(split, Place(5)) == split
    expired.clear()
    again = read(enumerator.hand_out(split, None))
    assert again[:1] == ["a"], "nothing of it was covered by a checkpoint"
    enumerator.close()


# ---- ranges


def test_a_range_is_read_in_pages_and_goes_on_where_the_last_one_ended(
    aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No iterator is asked for but the first of the driver and the first of the task."""
    stream = aws.stream()
    texts = aws.put(stream, [f"{n:03d}" for n in range(180)])
    kinesis = aws.client("kinesis")
    asked: list[dict[str, Any]] = []
    real = kinesis.get_shard_iterator

    def get_shard_iterator(**request: Any) -> Any:
        asked.append(request)
        return real(**request)

    monkeypatch.setattr(kinesis, "get_shard_iterator", get_shard_iterator)
    with reading(aws.consumer(stream), tmp_path) as run:
        run.read(180, max_records=60)
        assert run.values == texts
        assert [request["ShardIteratorType"] for request in asked] == [
            "TRIM_HORIZON",
            "AT_SEQUENCE_NUMBER",
        ]
        positions = [chunk.position for reading in run.readings for chunk in reading.chunks]
        assert all(a.sequence < b.sequence for a, b in pairwise(positions))


class Script:
    """A shard that is asked in the driver's own thread, and answers what a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, aws: Aws) -> None:
        self.answers: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        monkeypatch.setattr(tails, "client", lambda *_: self)
        split = ShardSplit("s", "shard", Start(StartKind.TRIM_HORIZON), (0, 1 << 128))
        options = aws.consumer("s")._options
        self.tail = tails.ShardTail(split, None, {}, options, self, 0)  # type: ignore[arg-type]

    def submit(self, look: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(look(*arguments))
        return done

    def get_shard_iterator(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        return {"ShardIterator": "iterator"}

    def get_records(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        return self.answers.pop(0)

    def look(self, now_ms: int, *sequences: int, behind_ms: int = 0, wanted: int = 100) -> None:
        """One look that finds these records, of five bytes each."""
        records = [{"SequenceNumber": str(number), "Data": b"12345"} for number in sequences]
        headers = {"HTTPHeaders": {"date": "Thu, 01 Jan 1970 01:00:00 GMT"}}
        self.answers = [
            {
                "Records": records,
                "NextShardIterator": "next",
                "MillisBehindLatest": behind_ms,
                "ResponseMetadata": headers,
            }
        ]
        self.asked = []
        self.tail.look(now_ms, wanted)
        self.tail.take_answer(now_ms)


def test_the_driver_looks_no_further_than_an_epoch_may_read(
    aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = Script(monkeypatch, aws)
    shard.look(0, 10, 25, 70)
    shard.look(1000, 80, wanted=3)
    assert not shard.asked, "three are known"
    shard.look(10, 80)
    assert not shard.asked, "it is too early"
    tail = shard.tail
    assert tail.next_range(None, 2, 100) == (Place(10, behind=False), Stop(25, False, 2))
    assert tail.next_range(Place(10), 5, 6) == (Place(10), Stop(70, False, 2))
    assert tail.next_range(Place(25), 5, 1) == (Place(25), Stop(70, False, 1))
    assert tail.next_range(Place(70), 5, 100) is None


def test_a_job_that_is_far_behind_does_not_fetch_each_record_twice(
    aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = Script(monkeypatch, aws)
    tail, hour = shard.tail, 3_600_000
    shard.look(0, 10, 20, behind_ms=hour)
    shard.look(0)  # nothing came in the last five seconds
    assert shard.asked[0]["Timestamp"].timestamp() == 3600 - 5
    shard.look(0, 15)  # no progress
    assert shard.asked[0]["Timestamp"].timestamp() == 3600 - 20
    shard.look(0, 90_000, behind_ms=70_000)
    assert shard.asked[0]["Timestamp"].timestamp() == 3600 - 80
    assert shard.asked[1]["Limit"] == 1
    shard.look(9_999, 90_010)
    assert not shard.asked, "there is enough to read"
    assert tail.next_range(None, 500, 100) == (Place(10, behind=False), Stop(90_000))
    assert tail.next_range(Place(4_711), 500, 100) == (Place(4_711), Stop(90_000))
    assert tail.next_range(Place(90_000), 500, 100) is None
    shard.look(9_999, 90_020, 90_025, behind_ms=hour)
    assert shard.asked[0]["Timestamp"].timestamp() == 3600 - 5
    assert tail.next_range(Place(90_000), 500, 100) == (Place(90_000), Stop(90_020))


def test_a_range_whose_length_is_not_known_ends_at_its_last_record(aws: Aws, tmp_path: Path) -> None:
    stream = aws.stream()
    texts = aws.put(stream, [f"{n:03d}" for n in range(130)])
    consumer = aws.consumer(stream)
    with reading(consumer, tmp_path) as run:
        run.epoch()
        (split,) = (progress.split for progress in run.splits.values())
    last = int(aws.records(stream)[119]["SequenceNumber"])
    whole = ReadRange(split, None, 1_000_000, 1 << 30, Stop(last))
    assert [v for chunk in chunks_of(consumer.source, whole) for v in chunk.values] == texts[:120]


# ---- records


class Whole(KinesisDeserializationSchema):
    def deserialize(
        self,
        record_value: bytes,
        partition_key: str,
        seq_num: str,
        approx_arrival_timestamp: int,
        stream: str,
        shard_id: str,
    ) -> Any:
        if record_value == b"none":
            return None
        return (record_value.decode(), partition_key, int(seq_num) > 10**55, stream, shard_id)


class WithTimestamp(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp()


def test_a_schema_gets_all_that_kinesis_knows_and_records_have_their_arrival(aws: Aws) -> None:
    stream = aws.stream()
    begun = int(time.time() * 1000)
    aws.put(stream, ["none", "some"])
    env = environment(1)
    sink = CollectingSink()
    env.add_source(aws.consumer(stream, schema=Whole())).process(WithTimestamp()).sink_to(sink)
    with running(env):
        until(lambda: bool(sink.values), "it is not read")
    ((value, timestamp),) = sink.values
    assert value == ("some", "some", True, stream, "shardId-000000000000")
    assert begun <= timestamp <= time.time() * 1000


class Numbers(DeserializationSchema):
    def deserialize(self, message: bytes) -> int:
        return int(message)


@pytest.mark.parametrize("text", ["x", "\u00f3"])
def test_a_record_that_cannot_be_read_is_named(aws: Aws, text: str) -> None:
    stream = aws.stream()
    aws.put(stream, ["1", text])
    env = environment(1)
    env.add_source(aws.consumer(stream, schema=Numbers()), "numbers").print()
    with pytest.raises(JobExecutionError) as failed:
        env.execute()
    reason = failed.value.__cause__
    assert isinstance(reason, BadRecordError)
    assert f"stream {stream}, shard shardId-000000000000, sequence number 496" in str(reason)


def aggregated(records: list[tuple[str, str]], hash_key: str | None = None) -> bytes:
    """As the Kinesis Producer Library makes it, by Google's Protocol Buffers."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="kpl.proto", package="kpl", syntax="proto2")
    record = file.message_type.add(name="Record")
    whole = file.message_type.add(name="AggregatedRecord")
    for message, name, number, kind, label, of in (
        (record, "partition_key_index", 1, 4, 2, ""),
        (record, "explicit_hash_key_index", 2, 4, 1, ""),
        (record, "data", 3, 12, 2, ""),
        (whole, "partition_key_table", 1, 9, 3, ""),
        (whole, "explicit_hash_key_table", 2, 9, 3, ""),
        (whole, "records", 3, 11, 3, ".kpl.Record"),
    ):
        message.field.add(name=name, number=number, type=kind, label=label, type_name=of or None)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName("kpl.AggregatedRecord"))()
    if hash_key is not None:
        made.explicit_hash_key_table.append(hash_key)
    for number, (key, text) in enumerate(records):
        made.partition_key_table.append(key)
        part = made.records.add(partition_key_index=number, data=text.encode())
        if hash_key is not None:
            part.explicit_hash_key_index = 0
    body = made.SerializeToString()
    return b"\xf3\x89\x9a\xc2" + body + md5(body).digest()


def put_aggregated(aws: Aws, stream: str, data: bytes) -> None:
    aws.client("kinesis").put_record(StreamName=stream, Data=data, PartitionKey="a")


class TestAggregated(SourceContract):
    """Some records of the shard have many in them: budgets end in the midst of them."""

    @pytest.fixture(autouse=True)
    def place(self, aws: Aws) -> None:
        self.aws = aws
        self.stream = aws.stream(1)

    def produce(self, directory: Path, portion: int) -> list[Any]:
        texts = [f"{portion}-{n}" for n in range(24)]
        put_aggregated(self.aws, self.stream, aggregated([(text, text) for text in texts[:16]]))
        self.aws.put(self.stream, texts[16:19])
        put_aggregated(self.aws, self.stream, aggregated([(text, text) for text in texts[19:]]))
        return texts

    def make_source(self, directory: Path) -> Any:
        return self.aws.consumer(self.stream).source


def test_what_belongs_into_another_shard_is_sent_again_by_its_producer(aws: Aws, tmp_path: Path) -> None:
    stream = aws.stream(2)
    first, second = (shard["HashKeyRange"] for shard in aws.open_shards(stream))
    mine, others = [(f"{n}", f"{n}") for n in range(20)], str(second["EndingHashKey"])
    put_aggregated(aws, stream, aggregated(mine, first["StartingHashKey"]))  # "a" is in the first
    put_aggregated(aws, stream, aggregated([("x", "x"), ("y", "y")], others))
    damaged = aggregated([("k", "v")])[:-1] + b"?"
    put_aggregated(aws, stream, damaged)
    keys = [f"{n}" for n in range(20)]
    put_aggregated(aws, stream, aggregated([(key, key) for key in keys]))
    in_first = [k for k in keys if int.from_bytes(md5(k.encode()).digest(), "big") < 1 << 127]
    schema = ByteArraySchema()
    with reading(aws.consumer(stream, schema=schema), tmp_path) as run:
        run.read(20 + 1 + len(in_first))
        run.epoch()
        assert run.values == [t.encode() for _, t in mine] + [damaged] + [k.encode() for k in in_first]


# ---- event time


class Watermark(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timer_service().current_watermark()


def test_each_shard_has_its_own_watermark(aws: Aws) -> None:
    """The shard that is behind holds the stream back."""
    stream = aws.stream(2)
    kinesis = aws.client("kinesis")
    first, second = (shard["HashKeyRange"]["StartingHashKey"] for shard in aws.open_shards(stream))
    for number in range(20):
        for key, stamp in ((first, number), (second, 1000 + number)):
            kinesis.put_record(
                StreamName=stream, Data=str(stamp).encode(), PartitionKey="k", ExplicitHashKey=key
            )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
    consumer = aws.consumer(stream).set_periodic_watermark_assigner(strategy)
    env = environment(1, **{"firesteel.epoch.max-records": "5"})
    sink = CollectingSink()
    env.add_source(consumer).process(Watermark()).sink_to(sink)
    with running(env):
        until(lambda: len(sink.values) >= 40, "not all was read")
    assert 8 <= max(watermark for _, watermark in sink.values) < 20


def test_an_idle_shard_is_a_property(aws: Aws) -> None:
    consumer = aws.consumer("s", shard_idle_interval="300")
    consumer.set_periodic_watermark_assigner(WatermarkStrategy.for_monotonous_timestamps())
    strategy = consumer.watermark_strategy
    assert strategy is not None
    assert strategy.idle_timeout_ms == 300


class Stamps:
    def extract_timestamp(self, value: str, record_timestamp: int) -> int:
        return int(value)


def test_a_watermark_tracker_aligns(aws: Aws) -> None:
    consumer = aws.consumer("s", watermark_lookahead_millis="500000")
    tracker = WatermarkTracker.job_manager_watermark_tracker("together", 1000)
    consumer.set_watermark_tracker(tracker)
    with pytest.raises(ValueError, match="nothing to track"):
        _ = consumer.watermark_strategy
    consumer.set_periodic_watermark_assigner(WatermarkStrategy.for_monotonous_timestamps())
    strategy = consumer.watermark_strategy
    assert strategy is not None
    assert strategy.alignment is not None
    assert (strategy.alignment.group, strategy.alignment.max_drift_ms) == ("together", 500_000)


def test_the_uniform_assigner_deals_shards_out_by_their_hash_keys(aws: Aws, tmp_path: Path) -> None:
    stream = aws.stream(4)
    aws.split(stream)
    for assigner, ordered in (
        (KinesisShardAssigner.default_shard_assigner(), False),
        (KinesisShardAssigner.uniform_shard_assigner(), True),
    ):
        consumer = at(aws.consumer(stream), "LATEST").set_shard_assigner(assigner)
        with reading(consumer, tmp_path) as run:
            run.epoch()
            found = [progress.split.payload.shard for progress in run.splits.values()]
        by_hash = [shard["ShardId"] for shard in aws.open_shards(stream)]
        assert sorted(found) == sorted(by_hash)
        assert (found == by_hash) is ordered


def test_the_type_of_the_stream_is_that_of_the_schema(aws: Aws) -> None:
    env = environment(1)
    assert env.add_source(aws.consumer("any")).get_type() == Types.STRING()
