"""KafkaSink: what is written, when it can be seen, and who may write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaException

from firesteel.common import ByteArraySchema, SimpleStringSchema, Types
from firesteel.common.errors import ConfigurationError, EngineError, ProgramError
from firesteel.connectors import _subtask_commits
from firesteel.connectors._subtask_commits import TryLaterError
from firesteel.connectors.base import CommitRequest, CommitterContext
from firesteel.connectors.kafka.serialization import Block
from firesteel.connectors.kafka.staging import Piece, digest_of
from firesteel.connectors.kafka.transactions import Claim, FencedError, Marker, Prefix, transaction
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    FlinkFixedPartitioner,
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkContext,
    ProducerRecord,
)
from firesteel.program.functions.legacy_connectors import unwrap_sink
from firesteel.program.sinks import CommitOutcome
from firesteel.testing.connectors import SinkRun
from tests.jobmanager.checkpoint_support import DIRECTORY, INTERVAL
from tests.runtime.support import LiveSource, environment, feed
from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.support import NO_WATERMARKS, running, writing
from tests.waiting import patience, until

EXACTLY_ONCE = DeliveryGuarantee.EXACTLY_ONCE


def write(broker: KafkaBroker, values: list[Any], serializer: Any, parallelism: int = 1) -> None:
    sink = KafkaSink.builder().set_bootstrap_servers(broker.address).set_record_serializer(serializer)
    env = environment(parallelism)
    env.from_collection(values).sink_to(sink.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE).build())
    env.execute()


@pytest.mark.parametrize("guarantee", list(DeliveryGuarantee))
@pytest.mark.row("S-SINK-07")
def test_every_record_is_written_once(kafka_broker: KafkaBroker, guarantee: DeliveryGuarantee) -> None:
    topic = kafka_broker.topic(2)
    env = environment(2, epoch_records=500)
    numbers = env.from_sequence(1, 5000).map(str, Types.STRING())
    numbers.sink_to(writing(kafka_broker, topic, guarantee, f"once-{topic}"))
    env.execute()
    assert Counter(kafka_broker.values(topic)) == Counter(map(str, range(1, 5001)))


class Remainder(KafkaPartitioner):
    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: list[int]
    ) -> int:
        assert (key, value) == (f"k{record}".encode(), str(record).encode())
        return partitions[record % len(partitions)]


class Number(SimpleStringSchema):
    def serialize(self, element: Any) -> bytes:
        return str(element).encode()


class Key(SimpleStringSchema):
    def serialize(self, element: Any) -> bytes:
        return f"k{element}".encode()


@pytest.mark.row("S-CONN-19")
def test_topic_key_headers_and_partition(kafka_broker: KafkaBroker) -> None:
    even, odd = kafka_broker.topic(3), kafka_broker.topic(3)
    builder = KafkaRecordSerializationSchema.builder()
    builder.set_topic_selector(lambda n: even if n % 2 == 0 else odd)
    builder.set_key_serialization_schema(Key()).set_value_serialization_schema(Number())
    builder.set_header_provider(lambda n: [("n", str(n).encode()), ("empty", None)] if n > 5 else None)
    write(kafka_broker, list(range(12)), builder.set_partitioner(Remainder()).build())
    for topic, numbers in ((even, range(0, 12, 2)), (odd, range(1, 12, 2))):
        found = {int(m.value()): m for m in kafka_broker.messages(topic)}
        assert sorted(found) == list(numbers)
        for number, message in found.items():
            assert message.key() == f"k{number}".encode()
            assert message.partition() == number % 3
            expected = [("n", str(number).encode()), ("empty", None)] if number > 5 else None
            assert message.headers() == expected


def test_keys_go_where_kafkas_java_clients_put_them(kafka_broker: KafkaBroker) -> None:
    """murmur2(key) & 0x7fffffff mod 4: partitions that Kafka's own producer chose."""
    topic = kafka_broker.topic(4)
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
    builder.set_key_serialization_schema(Number()).set_value_serialization_schema(Number())
    write(kafka_broker, list(range(8)), builder.build())
    found = {int(m.key()): m.partition() for m in kafka_broker.messages(topic)}
    assert found == {0: 0, 1: 3, 2: 0, 3: 3, 4: 1, 5: 2, 6: 2, 7: 3}


class Whole(KafkaRecordSerializationSchema):
    def __init__(self, topic: str) -> None:
        self.topic = topic

    def serialize(
        self, element: Any, context: KafkaSinkContext, timestamp: int | None
    ) -> ProducerRecord | None:
        if element == "none":
            return None
        partition = context.get_partitions_for_topic(self.topic)[-1]
        value = None if element == "tombstone" else element.encode()
        return ProducerRecord(self.topic, value, b"k", partition, 1_700_000_000_000)


@pytest.mark.row("S-CONN-19")
def test_a_schema_of_ones_own(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic(2)
    write(kafka_broker, ["a", "none", "tombstone"], Whole(topic))
    found = [(m.partition(), m.key(), m.value(), m.timestamp()[1]) for m in kafka_broker.messages(topic)]
    assert found == [(1, b"k", b"a", 1_700_000_000_000), (1, b"k", None, 1_700_000_000_000)]


def test_a_fixed_partitioner_gives_each_subtask_one_partition(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic(3)
    builder = (
        KafkaRecordSerializationSchema.builder().set_topic(topic).set_partitioner(FlinkFixedPartitioner())
    )
    write(kafka_broker, list(range(20)), builder.set_value_serialization_schema(Number()).build(), 2)
    assert {m.partition() for m in kafka_broker.messages(topic)} <= {0, 1}


def test_event_time_is_the_timestamp_of_the_message(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    """And with exactly-once nothing is seen before the checkpoint that covers it."""
    topic = kafka_broker.topic(1)
    source = LiveSource("timed")
    env = environment(1, **{INTERVAL: "300 ms", DIRECTORY: str(tmp_path)})
    stream = env.from_source(source, NO_WATERMARKS, "live", Types.STRING())
    stream.sink_to(writing(kafka_broker, topic, EXACTLY_ONCE, "timed"))
    feed("timed", ("a", 1000), ("b", 2000))
    with running(env):
        until(lambda: len(kafka_broker.messages(topic)) == 2, "no checkpoint makes it visible")
        feed("timed", ("c", 3000))
        until(lambda: len(kafka_broker.messages(topic)) == 3, "the next one does not")
    assert [(m.value(), m.timestamp()[1]) for m in kafka_broker.messages(topic)] == [
        (b"a", 1000),
        (b"b", 2000),
        (b"c", 3000),
    ]


@pytest.mark.row("S-SINK-09", "S-CFG-23")
def test_the_older_of_two_jobs_with_one_prefix_is_fenced(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic()
    results = []
    for name in ("older", "newer"):
        env = environment(1, **{INTERVAL: "200 ms", DIRECTORY: str(tmp_path / name)})
        stream = env.from_source(LiveSource(name), NO_WATERMARKS, name, Types.STRING())
        stream.sink_to(writing(kafka_broker, topic, EXACTLY_ONCE, "one-prefix"))
        feed(name, (name, 1))
        results.append(env.execute_async(name))
        until(lambda n=name: n in kafka_broker.values(topic), f"{name} does not write")
    feed("older", ("fenced", 2))
    with pytest.raises(Exception, match="one-prefix") as caught:
        results[0].get_job_execution_result().result(patience(30))
    assert "prefix of their own" in str(caught.value.__cause__ or caught.value)
    feed("newer", ("goes on", 2))
    until(lambda: "goes on" in kafka_broker.values(topic), "the newer does not go on")
    results[1].cancel().result(patience(20))
    assert kafka_broker.values(topic) == ["older", "newer", "goes on"]


def piece(topic: str, *values: str) -> Piece:
    name = ",".join(values)
    data = msgspec.msgpack.encode([Block(topic, [value.encode()]) for value in values])
    return Piece(f"{topic}-{name}", topic, len(values), len(data), data, None)


class TestTransactions:
    """What the committer stands on, by itself."""

    def claim(self, broker: KafkaBroker, topic: str) -> Claim:
        claim = Claim(self.prefix(broker, topic))
        claim.take(0)
        return claim

    def prefix(self, broker: KafkaBroker, topic: str) -> Prefix:
        return Prefix({"bootstrap.servers": broker.address}, f"id-{topic}", topic)

    def test_who_comes_later_knows_what_was_committed(self, kafka_broker: KafkaBroker) -> None:
        topic = kafka_broker.topic()
        first = self.claim(kafka_broker, topic)
        first.next_commit()(0, [piece(topic, "1")])
        first.next_commit()(0, [piece(topic, "1")])
        late = first.next_commit()  # its task begins when others have gone on
        second = self.claim(kafka_broker, topic)
        second.next_commit()(0, [piece(topic, "1")])
        second.next_commit()(0, [piece(topic, "2")])
        with pytest.raises(FencedError):
            late(0, [piece(topic, "1")])
        with pytest.raises(FencedError):
            first.next_commit()
        second.next_commit()(0, [piece(topic, "3")])
        first.close()
        second.close()
        assert kafka_broker.values(topic, committed=False) == ["1", "2", "3"]

    def test_a_task_that_was_given_up_for_lost_writes_nothing(self, kafka_broker: KafkaBroker) -> None:
        topic = kafka_broker.topic()
        claim = self.claim(kafka_broker, topic)
        lost = claim.next_commit()
        claim.next_commit()(0, [piece(topic, "1")])
        claim.next_commit()(0, [piece(topic, "2")])
        with pytest.raises(FencedError):
            lost(0, [piece(topic, "1")])
        claim.close()
        assert kafka_broker.values(topic, committed=False) == ["1", "2"]

    @pytest.mark.parametrize("when", ["before it writes", "while it writes", "before it commits"])
    def test_of_two_tasks_at_once_the_later_wins(self, kafka_broker: KafkaBroker, when: str) -> None:
        """The earlier is told to ask again, and finds what the later has written."""
        topic = kafka_broker.topic()
        claim = self.claim(kafka_broker, topic)
        commit = claim.next_commit()
        staged = [piece(topic, *map(str, range(5)))]
        with transaction(commit.prefix, 0) as (_, write):

            def blocks() -> Iterator[Block]:
                for number, block in enumerate(staged[0].blocks()):
                    if (when, number) in (("before it writes", 0), ("while it writes", 3)):
                        commit(0, staged)
                    yield block
                    with suppress(KafkaException):  # the client knows now that it is fenced
                        write._producer.flush(10)
                if when == "before it commits":
                    commit(0, staged)

            with pytest.raises(TryLaterError):
                write(Marker(commit.claim, commit.number, digest_of(staged)), blocks())
        claim.next_commit()(0, staged)
        claim.close()
        assert kafka_broker.values(topic) == ["0", "1", "2", "3", "4"]

    def test_an_attempt_that_ends_before_its_commit_never_happened(self, kafka_broker: KafkaBroker) -> None:
        topic = kafka_broker.topic()
        claim = self.claim(kafka_broker, topic)
        with transaction(self.prefix(kafka_broker, topic), 0) as (_, write):

            def broken() -> Any:
                yield Block(topic, [b"never"])
                write._producer.flush(10)  # it is in the log of the broker
                raise RuntimeError("killed here")

            with pytest.raises(RuntimeError):
                write(Marker(1, 1, "set"), broken())
        claim.next_commit()(0, [piece(topic, "once")])
        claim.close()
        assert kafka_broker.values(topic) == ["once"]


class LosesTasks:
    """Runs the tasks of a committer, and loses their answers after so many of them."""

    def __init__(self, lost_after: int) -> None:
        self._left = lost_after

    def __call__(self, work: Any, arguments: Sequence[Any]) -> list[Any]:
        done = [work(argument) for argument in arguments[: self._left]]
        if len(done) < len(arguments):
            raise EngineError("an executor was lost")
        return done


@pytest.mark.parametrize("committed", [0, 1, 2])
def test_what_three_subtasks_left_another_driver_commits(
    kafka_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, committed: int
) -> None:
    """The first was lost when some of its subtasks had written; the next has fewer subtasks."""
    monkeypatch.setattr(_subtask_commits, "SMALL_BYTES", 0)  # tasks do it
    topic = kafka_broker.topic()
    sink = writing(kafka_broker, topic, EXACTLY_ONCE, f"rescaled-{topic}")
    run = SinkRun(unwrap_sink(sink, Types.STRING()), tmp_path, parallelism=3)
    staged = [c for e in (1, 2) for n in range(3) for c in run.stage(e, [f"{n}-{e}a", f"{n}-{e}b"], n)]
    lost = run.sink.create_committer(CommitterContext("job", "sink", lambda: 0, LosesTasks(committed)))
    assert lost is not None
    lost.open()
    requests = [CommitRequest(c) for c in staged]
    lost.commit(requests)
    assert {r.outcome for r in requests} == {CommitOutcome.RETRY}
    assert len(kafka_broker.values(topic)) == 4 * committed
    successor = SinkRun(run.sink, tmp_path, parallelism=2, run="2")
    successor.recover(staged)
    successor.commit(staged, recovered=True)
    successor.commit(successor.stage(1, ["1-3a", "1-3b"], 1))
    lost.close()
    successor.finish()
    values = kafka_broker.values(topic)
    for subtask, epochs in ((0, 2), (1, 3), (2, 2)):  # each once, in the order of their writer
        expected = [f"{subtask}-{epoch}{part}" for epoch in range(1, epochs + 1) for part in "ab"]
        assert [value for value in values if value[0] == str(subtask)] == expected


@pytest.mark.row("S-SINK-07", "S-SINK-11")
def test_refusals_of_the_builder() -> None:
    serializer = KafkaRecordSerializationSchema.builder
    with pytest.raises(ProgramError, match="No value serializer"):
        serializer().set_topic("t").build()
    with pytest.raises(ProgramError, match="No topic selector"):
        serializer().set_value_serialization_schema(ByteArraySchema()).build()
    with pytest.raises(TypeError, match="KafkaTopicSelector"):
        serializer().set_topic_selector("t")
    ready = serializer().set_topic("t").set_value_serialization_schema(ByteArraySchema()).build()
    with pytest.raises(ProgramError, match="record serializer is required"):
        KafkaSink.builder().set_bootstrap_servers("a:1").build()
    builder = KafkaSink.builder().set_record_serializer(ready)
    with pytest.raises(ProgramError, match=r"bootstrap\.servers is required"):
        builder.build()
    builder.set_bootstrap_servers("a:1").set_delivery_guarantee(EXACTLY_ONCE)
    with pytest.raises(ProgramError, match="transactional id prefix"):
        builder.build()
    with pytest.raises(ConfigurationError, match="written in Java"):
        builder.set_transactional_id_prefix("p").set_property("partitioner.class", "x.Y").build()
