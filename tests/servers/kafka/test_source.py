"""KafkaSource: what is read, from where, up to where."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.errors import (
    ConfigurationError,
    ConnectorError,
    FiresteelError,
    JobExecutionError,
    ProgramError,
)
from firesteel.connectors.base import EnumeratorContext, ReadRange
from firesteel.datastream import ProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.bad_records import BAD_RECORDS
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    ConsumerRecord,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaTopicPartition,
)
from firesteel.datastream.formats.json import JsonRowDeserializationSchema
from tests.jobmanager.checkpoint_support import DIRECTORY, INTERVAL, RECOVERY, RETENTION
from tests.runtime.support import Probe, collect, environment, note, notes
from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.support import NO_WATERMARKS, bounded, read_all, reading, running, writing
from tests.waiting import patience, until

At = KafkaOffsetsInitializer


def words(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{i}" for i in range(count)]


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.row("S-CONN-01")
def test_partitions_are_read_whole_and_each_in_order(kafka_broker: KafkaBroker, parallelism: int) -> None:
    topic = kafka_broker.topic(3)
    for partition in range(3):
        kafka_broker.produce(topic, words("abc"[partition], 2500), partition)
    found = read_all(bounded(kafka_broker, topic), parallelism, epoch_records=700)
    for partition in range(3):
        letter = "abc"[partition]
        assert [v for v in found if v[0] == letter] == words(letter, 2500)
    assert len(found) == 7500


def test_several_topics_a_pattern_and_partitions(kafka_broker: KafkaBroker) -> None:
    first, second = kafka_broker.topic(2, "picked-one"), kafka_broker.topic(1, "picked-two")
    kafka_broker.topic(1, "not-picked-one")
    kafka_broker.produce(first, ["1a"])
    kafka_broker.produce(first, ["1b"], 1)
    kafka_broker.produce(second, ["2a"])
    kafka_broker.produce("not-picked-one", ["x"])
    latest = At.latest()
    assert sorted(read_all(bounded(kafka_broker, first, second))) == ["1a", "1b", "2a"]
    by_pattern = reading(kafka_broker).set_topic_pattern("picked-.*").set_bounded(latest).build()
    assert sorted(read_all(by_pattern)) == ["1a", "1b", "2a"]
    some = {KafkaTopicPartition(first, 1), KafkaTopicPartition(second, 0)}
    by_partition = reading(kafka_broker).set_partitions(some).set_bounded(latest).build()
    assert sorted(read_all(by_partition)) == ["1b", "2a"]


class TestOffsets:
    """Ten records 0 ... 9 with timestamps 1000 ... 1009."""

    @pytest.fixture
    def topic(self, kafka_broker: KafkaBroker) -> str:
        topic = kafka_broker.topic()
        for i in range(10):
            kafka_broker.produce(topic, [str(i)], timestamp=1000 + i)
        return topic

    def read(self, broker: KafkaBroker, topic: str, start: At, stop: At | None = None) -> str:
        builder = reading(broker, topic, group_id=f"group-of-{topic}").set_starting_offsets(start)
        return "".join(read_all(builder.set_bounded(stop or At.latest()).build(), epoch_records=3))

    def test_each_way_to_begin_and_to_stop(self, kafka_broker: KafkaBroker, topic: str) -> None:
        place = KafkaTopicPartition(topic, 0)
        for start, expected in [
            (At.earliest(), "0123456789"),
            (At.latest(), ""),
            (At.timestamp(1007), "789"),
            (At.timestamp(5000), ""),
            (At.offsets({place: 4}), "456789"),
            (At.offsets({place: 99}), "0123456789"),
            (At.offsets({place: 99}, KafkaOffsetResetStrategy.LATEST), ""),
            (At.committed_offsets(KafkaOffsetResetStrategy.EARLIEST), "0123456789"),
            (At.committed_offsets(KafkaOffsetResetStrategy.LATEST), ""),
        ]:
            assert self.read(kafka_broker, topic, start) == expected, start.rule
        for stop, expected in [(At.timestamp(1003), "012"), (At.offsets({place: 5}), "01234")]:
            assert self.read(kafka_broker, topic, At.earliest(), stop) == expected, stop.rule
        assert self.read(kafka_broker, topic, At.offsets({place: 6}), At.offsets({place: 5})) == ""

    def test_offsets_of_the_group(self, kafka_broker: KafkaBroker, topic: str) -> None:
        with pytest.raises(FiresteelError, match="no rule for that case") as caught:
            self.read(kafka_broker, topic, At.committed_offsets())
        assert f"{topic}-0" in str(caught.value)
        kafka_broker.commit_offset(f"group-of-{topic}", topic, 0, 8)
        assert self.read(kafka_broker, topic, At.committed_offsets()) == "89"
        assert self.read(kafka_broker, topic, At.earliest(), At.committed_offsets()) == "01234567"
        assert self.read(kafka_broker, topic, At.offsets({})) == "89"

    def test_records_that_are_gone(self, kafka_broker: KafkaBroker, topic: str) -> None:
        """Deleted between two epochs: the job goes on as the rule for its beginning says."""
        for start, expected in [
            (At.earliest(), "0189"),
            (At.offsets({KafkaTopicPartition(topic, 0): 1}, KafkaOffsetResetStrategy.NONE), None),
        ]:
            fresh = kafka_broker.topic()
            start = (
                At.earliest()
                if expected
                else At.offsets({KafkaTopicPartition(fresh, 0): 0}, KafkaOffsetResetStrategy.NONE)
            )
            kafka_broker.produce(fresh, list("0123456789"))
            source = reading(kafka_broker, fresh).set_starting_offsets(start).set_bounded(At.latest()).build()
            env = environment(1, epoch_records=2)
            stream = env.from_source(source, NO_WATERMARKS, "kafka").process(DeleteAfter(kafka_broker, fresh))
            if expected:
                assert "".join(collect(stream)) == expected
            else:
                with pytest.raises(JobExecutionError, match="gone before they were read"):
                    collect(stream)


def test_a_partition_that_is_shorter_than_what_was_read(kafka_broker: KafkaBroker) -> None:
    """A topic that was made anew while the job was away: neither silence nor other records."""
    topic = kafka_broker.topic()
    kafka_broker.produce(topic, words("w", 5))
    source = reading(kafka_broker, topic).build().wrapped_source
    enumerator, reader = source.create_enumerator(EnumeratorContext(1, "")), source.create_reader()
    (split,) = enumerator.discover(0)
    try:
        assert enumerator.plan(split, 10, 100, 1 << 20, 0) is None
        assert enumerator.plan(split, 10, 100, 1 << 20, 59_000) is None
        with pytest.raises(ConnectorError, match="ends at offset 5, before 10 where the job is"):
            enumerator.plan(split, 10, 100, 1 << 20, 60_000)
        reader.open()
        with pytest.raises(ConnectorError, match="ends at offset 5, before 10, which is to be read"):
            list(reader.read(ReadRange(split, 10, 100, 1 << 20, 12)))
    finally:
        reader.close()
        enumerator.close()


class DeleteAfter(ProcessFunction):
    """All before offset 8 is deleted when the record 1 has come."""

    def __init__(self, broker: KafkaBroker, topic: str) -> None:
        self.address, self.topic = broker.address, topic

    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterable[str]:
        if value == "1":
            from confluent_kafka import TopicPartition
            from confluent_kafka.admin import AdminClient

            admin = AdminClient({"bootstrap.servers": self.address})
            for done in admin.delete_records([TopicPartition(self.topic, 0, 8)]).values():
                done.result(patience(20))
        yield value


@pytest.mark.row("S-CONN-01")
def test_what_no_consumer_may_see_is_not_read(kafka_broker: KafkaBroker) -> None:
    """Aborted transactions, the markers of transactions and what compaction removed are holes in the
    offsets, also where a range ends."""
    topic = kafka_broker.topic()
    kafka_broker.produce_transaction(topic, words("a", 5))
    kafka_broker.produce_transaction(topic, words("lost", 5), commit=False)
    kafka_broker.produce_transaction(topic, words("b", 5))
    assert read_all(bounded(kafka_broker, topic), epoch_records=3) == [*words("a", 5), *words("b", 5)]
    uncommitted = bounded(kafka_broker, topic, isolation_level="read_uncommitted")
    assert len(read_all(uncommitted)) == 15
    keyed = kafka_broker.topic(
        1, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.001"
    )
    for i in range(20):
        kafka_broker.produce(keyed, [str(i)], key="the same", timestamp=1_000)
    kafka_broker.produce(keyed, ["other"], key="other", timestamp=2_000)  # so late that it closes the segment
    until(lambda: len(kafka_broker.messages(keyed)) < 21, "compaction does not come")

    def reads_what_is_there() -> bool:  # which may become less while we read
        before = kafka_broker.values(keyed)
        return read_all(bounded(kafka_broker, keyed), epoch_records=4) in (before, kafka_broker.values(keyed))

    until(reads_what_is_there, "what compaction left is not what is read", 10)


def test_a_job_goes_on_when_the_broker_was_restarted(kafka_broker: KafkaBroker) -> None:
    """It has another leader epoch then; the client would learn that within minutes."""
    topic = kafka_broker.topic()
    kafka_broker.produce(topic, ["before"])
    env = environment(1)
    env.from_source(reading(kafka_broker, topic).build(), NO_WATERMARKS, "kafka").map(
        lambda v: note("goes on", v)
    )
    with running(env):
        until(lambda: notes["goes on"] == ["before"], "nothing is read")
        kafka_broker.kill()
        kafka_broker.start()
        kafka_broker.produce(topic, ["after"])
        until(lambda: notes["goes on"] == ["before", "after"], "what came after the restart is not read")


def test_an_open_transaction_holds_its_records_back(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic()
    producer = kafka_broker.producer(transactional_id="open")
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, "later", partition=0)
    producer.flush(20)
    kafka_broker.produce(topic, ["behind it"])
    env = environment(1)
    env.from_source(reading(kafka_broker, topic).build(), NO_WATERMARKS, "kafka").map(
        lambda v: note("seen", v)
    )
    with running(env):
        assert notes["seen"] == []
        producer.commit_transaction(20)
        until(lambda: len(notes["seen"]) == 2, "committed records are not read")
    assert notes["seen"] == ["later", "behind it"]


class Everything(KafkaRecordDeserializationSchema):
    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        yield tuple(record)
        if record.key == b"twice":
            yield "again"


@pytest.mark.row("S-CONN-20")
def test_the_whole_message(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic()
    kafka_broker.produce(topic, ["v"], key="k", timestamp=7, headers=[("h", b"1"), ("h", None)])
    kafka_broker.produce(topic, ["w"], key="twice", timestamp=8)
    builder = reading(kafka_broker, topic).set_deserializer(Everything())
    source = builder.set_bounded(At.latest()).build()
    env = environment(1)
    stream = env.from_source(source, NO_WATERMARKS, "kafka").process(Probe())
    assert [(v, ts) for v, ts, _ in collect(stream)] == [
        ((topic, 0, 0, 7, "CreateTime", b"k", b"v", [("h", b"1"), ("h", None)]), 7),
        ((topic, 0, 1, 8, "CreateTime", b"twice", b"w", []), 8),
        ("again", 8),
    ]


def test_what_cannot_be_read_is_ignored_fails_the_job_or_is_kept(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic()
    kafka_broker.produce(topic, ['{"n": 1}', "broken", '{"n": 2}'])
    producer = kafka_broker.producer()
    producer.produce(topic, None, "tombstone", 0)
    producer.flush(20)
    schema = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["n"], [Types.INT()]))
    lenient = reading(kafka_broker, topic).set_value_only_deserializer(schema.ignore_parse_errors().build())
    assert [row.n for row in read_all(lenient.set_bounded(At.latest()).build())] == [1, 2]
    schema = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["n"], [Types.INT()]))
    strict = reading(kafka_broker, topic).set_value_only_deserializer(schema.build())
    with pytest.raises(JobExecutionError, match=f"topic {topic}, partition 0, offset 1") as caught:
        read_all(strict.set_bounded(At.latest()).build())
    assert "broken" in str(caught.value)
    env = environment(1)
    stream = env.from_source(strict.set_bounded(At.latest()).build(), NO_WATERMARKS, "kafka")
    stream.get_side_output(BAD_RECORDS).map(lambda bad: note("bad", (bad.place["offset"], bad.payload)))
    assert [row.n for row in collect(stream)] == [1, 2]
    assert notes["bad"] == [(1, b"broken")]
    with pytest.raises(JobExecutionError, match=f"topic {topic}, partition 0, offset 3"):
        read_all(bounded(kafka_broker, topic))  # as text: a tombstone is none


def test_a_new_partition_and_a_new_topic_while_the_job_runs(kafka_broker: KafkaBroker) -> None:
    """They are read from their first record, although the job began at the latest."""
    topic = kafka_broker.topic(1, "growing-1")
    kafka_broker.produce(topic, ["before"])
    builder = reading(kafka_broker, partition_discovery_interval_ms="200").set_topic_pattern("growing-.*")
    source = builder.set_starting_offsets(At.latest()).build()
    env = environment(2)
    env.from_source(source, NO_WATERMARKS, "kafka").map(lambda v: note("seen", v))
    with running(env):
        until(lambda: [*_pending()] != [], "the job does not begin")
        kafka_broker.produce(topic, ["old"])
        kafka_broker.add_partitions(topic, 2)
        kafka_broker.produce(topic, ["new"], 1)
        kafka_broker.topic(1, "growing-2")
        kafka_broker.produce("growing-2", ["other"])
        until(lambda: len(notes["seen"]) == 3, f"seen {notes['seen']}")
    assert sorted(notes["seen"]) == ["new", "old", "other"]


def _pending() -> dict[str, int]:
    from firesteel.program.execution import get_executor

    jobs = get_executor().running_jobs
    return {split: lag for job in jobs for _, splits in job.view.lag for split, lag in splits}


def test_refusals_of_the_builder() -> None:
    builder = KafkaSource.builder
    text = reading_nothing()
    with pytest.raises(ProgramError, match=r"bootstrap\.servers is required but not provided"):
        builder().set_topics("a").set_value_only_deserializer(text).build()
    with pytest.raises(ProgramError, match="No subscribe mode"):
        builder().set_bootstrap_servers("a:1").set_value_only_deserializer(text).build()
    with pytest.raises(ProgramError, match="Deserialization schema is required"):
        builder().set_bootstrap_servers("a:1").set_topics("a").build()
    with pytest.raises(ProgramError, match="already set"):
        builder().set_topics("a").set_topic_pattern("b")
    with pytest.raises(ProgramError, match="not a valid regular expression"):
        builder().set_topic_pattern("(")
    ready = builder().set_bootstrap_servers("a:1").set_topics("a").set_value_only_deserializer(text)
    with pytest.raises(ProgramError, match=r"group\.id is required"):
        ready.set_starting_offsets(At.committed_offsets()).build()
    ready.set_starting_offsets(At.earliest())
    with pytest.raises(ProgramError, match=r"group\.id is required when offset commit"):
        ready.set_property("enable.auto.commit", "true").build()
    with pytest.raises(ConfigurationError, match="true or false"):
        ready.set_property("enable.auto.commit", "maybe").build()
    with pytest.raises(ConfigurationError, match="Java truststore"):
        ready.set_properties({"enable.auto.commit": "false", "ssl.truststore.location": "/x/y.jks"}).build()


def reading_nothing() -> Any:
    from firesteel.common import SimpleStringSchema

    return SimpleStringSchema()


@pytest.mark.row("S-CKPT-35", "S-FAIL-04")
def test_the_group_learns_of_checkpoints_and_is_never_asked(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    """Who sets the group back does not set back the job, which goes on from its checkpoint."""
    topic = kafka_broker.topic()
    group = f"watched-{topic}"
    kafka_broker.produce(topic, words("first", 30))

    def program(checkpoints: Path, recovery: str | None = None) -> StreamExecutionEnvironment:
        options = {INTERVAL: "100 ms", DIRECTORY: str(checkpoints), RETENTION: "RETAIN_ON_CANCELLATION"}
        env = environment(1, **options | ({} if recovery is None else {RECOVERY: recovery}))
        source = reading(kafka_broker, topic, group_id=group).build()
        env.from_source(source, NO_WATERMARKS, "kafka").map(lambda v: note("seen", v))
        return env

    with running(program(tmp_path)):
        until(lambda: kafka_broker.committed_offset(group, topic) == 30, "nothing is committed")
        assert _pending() == {f"{topic}-0": 0}
    kafka_broker.commit_offset(group, topic, 0, 5)
    kafka_broker.produce(topic, words("second", 10))
    newest = max(tmp_path.rglob("_metadata"), key=lambda path: path.stat().st_mtime_ns).parent
    with running(program(tmp_path / "next", str(newest))):
        until(lambda: kafka_broker.committed_offset(group, topic) == 40, "it does not go on")
    assert notes["seen"] == [*words("first", 30), *words("second", 10)]


def newest_checkpoint(directory: Path) -> int:
    """The number of the last checkpoint."""
    return max(int(path.parent.name.removeprefix("chk-")) for path in directory.glob("*/chk-*/_metadata"))


@pytest.mark.parametrize("latest", [False, True], ids=["savepoint", "latest checkpoint"])
def test_a_snapshot_that_is_not_trusted_knows_how_far_kafka_was_read(
    kafka_broker: KafkaBroker, tmp_path: Path, latest: bool
) -> None:
    """Partitions and offsets are plain data. What is pending of the sink is not, so there must be nothing."""
    topic, copied = kafka_broker.topic(2), kafka_broker.topic(1)
    kafka_broker.produce(topic, words("first", 30))

    def program(**recovery: str) -> StreamExecutionEnvironment:
        options = {INTERVAL: "100 ms", DIRECTORY: str(tmp_path), RETENTION: "RETAIN_ON_CANCELLATION"}
        env = environment(1, **options, **recovery)
        source = reading(kafka_broker, topic).build()
        stream = env.from_source(source, NO_WATERMARKS, "kafka").uid("kafka").map(str, Types.STRING())
        stream.sink_to(writing(kafka_broker, copied, DeliveryGuarantee.EXACTLY_ONCE, "untrusted")).uid("copy")
        return env

    with running(program()) as client:
        until(lambda: len(kafka_broker.values(copied)) == 30, "nothing is copied")
        last = newest_checkpoint(tmp_path)
        until(lambda: newest_checkpoint(tmp_path) > last + 1, "there are no more checkpoints")
        path = (
            "latest"
            if latest
            else client.trigger_savepoint(str(tmp_path / "savepoints")).result(patience(20))
        )
    kafka_broker.produce(topic, words("second", 10), 1)
    with running(program(**{RECOVERY: path, "execution.state-recovery.untrusted": "true"})):
        until(lambda: len(kafka_broker.values(copied)) == 40, "it does not go on")
    assert sorted(kafka_broker.values(copied)) == sorted([*words("first", 30), *words("second", 10)])


@pytest.mark.row("S-CONN-01")
def test_each_partition_has_a_watermark_of_its_own(kafka_broker: KafkaBroker) -> None:
    """One is far ahead of the other: nothing of either is late."""
    topic = kafka_broker.topic(2)
    for partition, start in ((0, 500_000), (1, 1000)):
        for i in range(20):
            kafka_broker.produce(topic, [f"{partition}-{i}"], partition, timestamp=start + i)
    env = environment(1, epoch_records=7)
    in_order = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_source(bounded(kafka_broker, topic), in_order, "kafka").process(Probe())
    found = collect(stream)
    assert len(found) == 40
    assert all(timestamp > watermark for _, timestamp, watermark in found)
    assert any(watermark >= 1000 for _, _, watermark in found)
