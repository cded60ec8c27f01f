"""PulsarSource and PulsarSink against a real server."""

from __future__ import annotations

import io
import itertools
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import Any

import pulsar
import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.errors import (
    ConfigurationError,
    ConnectorError,
    FiresteelError,
    ProgramError,
    UnsupportedFeatureError,
)
from firesteel.common.serialization import SimpleStringSchema
from firesteel.common.time import Duration
from firesteel.connectors.pulsar.client import Admin, PulsarSettings
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.pulsar import (
    MessageDelayer,
    PulsarSink,
    PulsarSinkBuilder,
    PulsarSource,
    PulsarSourceBuilder,
    RangeGenerator,
    StartCursor,
    StopCursor,
    TopicRoutingMode,
)
from firesteel.jobmanager.sources import SourceCoordinator
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import env_with, submit
from tests.jobmanager.test_recovery import FIXED, FailsAt
from tests.places import free_port
from tests.runtime.support import MODE, environment, in_both_modes, notes
from tests.servers.pulsar.server import PulsarServer
from tests.waiting import in_time, patience, until

LATEST = StopCursor.latest()


def reading(server: PulsarServer, topic: str | list[str] | None) -> PulsarSourceBuilder:
    builder = PulsarSource.builder().set_service_url(server.settings.service_url)
    builder.set_admin_url(server.settings.admin_url).set_subscription_name("reads")
    builder.set_deserialization_schema(SimpleStringSchema()).set_consumer_name("reader of tests")
    return builder if topic is None else builder.set_topics(topic)


def read(builder: PulsarSourceBuilder, stop: StopCursor = LATEST, mode: str = "epochs") -> list[str]:
    env = environment(2, **{MODE: mode})
    source = builder.set_bounded_stop_cursor(stop).set_range_generator(RangeGenerator.full()).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "topic")
    assert stream.get_type() == Types.STRING()
    return sorted(stream.execute_and_collect())


def writing(server: PulsarServer, topic: str | list[str]) -> PulsarSinkBuilder:
    builder = PulsarSink.builder().set_service_url(server.settings.service_url)
    builder.set_admin_url(server.settings.admin_url).set_topics(topic)
    return builder.set_serialization_schema(SimpleStringSchema())


def numbers(count: int, start: int = 0) -> list[str]:
    return [f"{n:03d}" for n in range(start, start + count)]


# ---- the source


@in_both_modes
def test_where_reading_begins_and_ends(server: PulsarServer, mode: str) -> None:
    """Messages come in batches of seven, so most of these places are inside of one."""
    topic = server.topic()
    server.produce(topic, numbers(10), event_timestamp=100)
    time.sleep(0.05)
    middle_ms = int(time.time() * 1000)
    time.sleep(0.05)
    server.produce(topic, numbers(10, 10), event_timestamp=200)
    ids = [message.message_id().serialize() for message in server.messages(topic)]
    start: Callable[[StartCursor], list[str]] = lambda c: read(  # noqa: E731
        reading(server, topic).set_start_cursor(c), mode=mode
    )
    stop: Callable[[StopCursor], list[str]] = lambda c: read(reading(server, topic), c, mode)  # noqa: E731
    assert start(StartCursor.earliest()) == numbers(20)
    assert start(StartCursor.latest()) == []
    assert start(StartCursor.from_message_id(ids[3])) == numbers(17, 3)
    assert start(StartCursor.from_message_id(ids[3], False)) == numbers(16, 4)
    assert start(StartCursor.from_message_id(ids[7])) == numbers(13, 7)
    assert start(StartCursor.from_publish_time(middle_ms)) == numbers(10, 10)
    assert stop(StopCursor.at_message_id(ids[3])) == numbers(3)
    assert stop(StopCursor.after_message_id(ids[3])) == numbers(4)
    assert stop(StopCursor.at_message_id(ids[7])) == numbers(7)
    assert stop(StopCursor.at_event_time(200)) == numbers(10)
    assert stop(StopCursor.after_event_time(100)) == numbers(10)
    assert stop(StopCursor.at_publish_time(middle_ms)) == numbers(10)


def test_topics_by_name_and_by_pattern(server: PulsarServer) -> None:
    whole, parted = server.topic(), server.topic(3)
    server.produce(whole, ["a"])
    server.produce(f"{parted}-partition-0", ["b"])
    server.produce(f"{parted}-partition-2", ["c"])
    assert read(reading(server, [f"persistent://public/default/{whole}", parted])) == ["a", "b", "c"]
    assert read(reading(server, f"public/default/{parted}-partition-0")) == ["b"]
    pattern = f"persistent://public/default/({whole}|{parted})"
    assert read(reading(server, None).set_topic_pattern(pattern)) == ["a", "b", "c"]


@in_both_modes
def test_new_partitions_are_found_and_checkpoints_acknowledge(
    server: PulsarServer, tmp_path: Path, mode: str
) -> None:
    topic = server.topic(1)
    server.produce(topic, numbers(20))
    env = env_with(1, tmp_path, **{"execution.checkpointing.interval": "50 ms", MODE: mode})
    sink = CollectingSink()
    builder = reading(server, topic).set_config("pulsar.source.partitionDiscoveryIntervalMs", 100)
    source = builder.set_unbounded_stop_cursor(StopCursor.never()).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "topic").sink_to(sink)
    job = submit(env)
    try:
        until(lambda: sorted(sink.values) == numbers(20))
        until(lambda: server.backlog(f"{topic}-partition-0", "reads") == 0)
        assert server.backlog(f"{topic}-partition-0", "keeps") > 0
        server.add_partitions(topic, 2)
        server.produce(f"{topic}-partition-1", numbers(5, 20))
        until(lambda: sorted(sink.values) == numbers(25))
    finally:
        job.cancel()
        assert job.wait(patience(30))


@pytest.mark.parametrize("modes", [("real-time", "epochs"), ("epochs", "real-time")])
def test_each_message_once_over_restarts_and_savepoints(
    server: PulsarServer, tmp_path: Path, modes: tuple[str, str]
) -> None:
    """Messages come in batches of seven, so most positions are inside of one."""
    topic = server.topic(2)
    options = {"execution.checkpointing.interval": "50 ms", "firesteel.real-time.epoch": "50 ms"}
    seen: list[str] = []
    for number, mode in enumerate(modes):
        env = env_with(2, tmp_path / "checkpoints", **options, **FIXED, **{MODE: mode})
        fails = FailsAt(f"{topic} {number}", 100 * number + 60)
        sink = CollectingSink()
        source = reading(server, topic).set_unbounded_stop_cursor(StopCursor.never()).build()
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "topic").uid("topic")
        stream.map(lambda text: fails((int(text), text)), Types.STRING()).uid("map").sink_to(sink).uid("sink")  # noqa: B023
        client = env.execute_async("reads")
        for partition in range(2):
            server.produce(f"{topic}-partition-{partition}", numbers(50, 100 * number + 50 * partition))
        until(lambda: set(sink.values) >= set(numbers(100, 100 * number)))  # noqa: B023
        path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
        options["execution.state-recovery.path"] = path
        seen += sink.values
        assert len(notes[f"{topic} {number}"]) == 1
    assert sorted(seen) == numbers(200)


def test_a_message_is_read_without_a_round_of_the_driver(
    server: PulsarServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        SourceCoordinator, "plan_ahead", lambda *_: pytest.fail("the driver has planned what is read")
    )
    topic = server.topic()
    env = environment(1, **{MODE: "real-time"})
    sink = CollectingSink()
    source = reading(server, topic).set_unbounded_stop_cursor(StopCursor.never()).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "topic").sink_to(sink)
    job = submit(env)
    try:
        for text in "abc":
            server.produce(topic, [text])
            until(lambda: text in sink.values)  # noqa: B023
        assert sink.values == ["a", "b", "c"]
    finally:
        job.cancel()
        assert job.wait(patience(30))


def test_a_subscription_that_is_busy_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two requests that move one cursor: the broker takes one and answers 412 to the other."""
    refusals = iter([412, 412])

    def answer(request: Any, timeout: float) -> io.BytesIO:
        for code in refusals:
            raise urllib.error.HTTPError(request.full_url, code, "busy", Message(), io.BytesIO(b"busy"))
        return io.BytesIO(b'{"partitions": 2}')

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    settings = PulsarSettings("pulsar://nowhere:6650", "http://nowhere:8080")
    assert len(Admin(settings).partitions("persistent://public/default/topic")) == 2
    refusals = iter(itertools.repeat(412))
    with pytest.raises(ConnectorError, match="412 busy"):
        Admin(settings, patience_s=0.2).partitions("persistent://public/default/topic")


def test_event_times_become_timestamps(server: PulsarServer) -> None:
    first, second = server.topic(), server.topic()
    server.produce(first, ["a"], event_timestamp=1234)
    env = environment(1)
    source = reading(server, first).set_bounded_stop_cursor(LATEST).build()
    stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "topic")
    stream.sink_to(writing(server, second).build())
    env.execute()
    assert [(m.data(), m.event_timestamp()) for m in server.messages(second)] == [(b"a", 1234)]


# ---- the sink


@pytest.mark.parametrize("mode", [TopicRoutingMode.ROUND_ROBIN, TopicRoutingMode.MESSAGE_KEY_HASH])
@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.NONE, DeliveryGuarantee.AT_LEAST_ONCE])
def test_records_become_messages(
    server: PulsarServer, mode: TopicRoutingMode, guarantee: DeliveryGuarantee
) -> None:
    topic = server.topic(3)
    env = environment(1)
    builder = writing(server, topic).set_topic_routing_mode(mode).set_delivery_guarantee(guarantee)
    builder.set_producer_name("writes")
    env.from_collection(numbers(3000), Types.STRING()).sink_to(builder.build())
    env.execute()
    found = server.messages(topic)
    assert sorted(m.data().decode() for m in found) == sorted(numbers(3000))
    partitions = {m.message_id().partition() for m in found}
    assert len(partitions) == (3 if mode is TopicRoutingMode.ROUND_ROBIN else 1)
    assert all(m.producer_name().startswith("writes-") for m in found)


def test_a_message_may_be_delayed(server: PulsarServer) -> None:
    topic = server.topic()
    consumer = pulsar.Client(
        server.settings.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    ).subscribe(f"persistent://public/default/{topic}", "shared", pulsar.ConsumerType.Shared)
    env = environment(1)
    builder = writing(server, topic).delay_sending_message(MessageDelayer.fixed(Duration.of_millis(1500)))
    begun = time.monotonic()
    env.from_collection(["a"], Types.STRING()).sink_to(builder.build())
    env.execute()
    assert consumer.receive(round(patience(10) * 1000)).data() == b"a"
    assert time.monotonic() - begun >= 1.5
    consumer.close()


# ---- what is wrong


def refused(make: Callable[[Any], Any]) -> FiresteelError:
    env = environment(1)
    make(env)
    with in_time(), pytest.raises(FiresteelError) as error:
        env.execute()
    assert error.value.operator is not None, "it is known before anything runs"
    return error.value


def source_into(env: Any, builder: PulsarSourceBuilder) -> None:
    env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "topic").sink_to(CollectingSink())


def sink_from(env: Any, builder: PulsarSinkBuilder) -> None:
    env.from_collection(["a"], Types.STRING()).sink_to(builder.build())


def test_servers_and_topics_that_are_not_there(server: PulsarServer) -> None:
    topic, port = server.topic(), free_port()
    admin, brokers = f"http://127.0.0.1:{port}", f"pulsar://127.0.0.1:{port}"
    errors = [
        refused(lambda env: source_into(env, reading(server, topic).set_admin_url(admin))),
        refused(lambda env: sink_from(env, writing(server, topic).set_admin_url(admin))),
    ]
    assert [str(e).splitlines()[0] for e in errors] == [
        f"Pulsar's administration at {admin} does not answer."
    ] * 2
    errors = [
        refused(lambda env: source_into(env, reading(server, topic).set_service_url(brokers))),
        refused(lambda env: sink_from(env, writing(server, topic).set_service_url(brokers))),
    ]
    assert all(
        isinstance(e, ConnectorError) and f"No connection to Pulsar at {brokers}" in str(e) for e in errors
    )
    errors = [
        refused(lambda env: source_into(env, reading(server, "nowhere"))),
        refused(lambda env: sink_from(env, writing(server, [topic, "nowhere"]))),
    ]
    assert all(isinstance(e, ConfigurationError) for e in errors)
    assert all("no Pulsar topic 'persistent://public/default/nowhere'" in str(e) for e in errors)


def test_what_builders_refuse(server: PulsarServer) -> None:
    with pytest.raises(ProgramError, match="topics, or a pattern, and not both"):
        reading(server, None).build()
    with pytest.raises(ProgramError, match="topics, or a pattern, and not both"):
        reading(server, "a").set_topic_pattern("a.*").build()
    with pytest.raises(ProgramError, match="needs a subscription"):
        PulsarSource.builder().set_topics("a").build()
    with pytest.raises(ProgramError, match="needs the service URL"):
        PulsarSink.builder().set_topics("a").set_serialization_schema(SimpleStringSchema()).build()
    with pytest.raises(ConfigurationError, match=r"no option 'pulsar\.client\.x'"):
        reading(server, "a").set_properties({"pulsar.client.x": "1"})
    with pytest.raises(ConfigurationError, match="regular expression"):
        reading(server, None).set_topic_pattern("a(")
    with pytest.raises(ProgramError, match="message id"):
        StartCursor.from_message_id(b"no")
    with pytest.raises(UnsupportedFeatureError, match="no exactly-once sink"):
        writing(server, "a").set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    with pytest.raises(UnsupportedFeatureError, match="ranges of keys"):
        RangeGenerator.fixed_key(keys="a")
    with pytest.raises(UnsupportedFeatureError, match="topic router"):
        writing(server, "a").set_topic_routing_mode(TopicRoutingMode.CUSTOM)
    with pytest.raises(UnsupportedFeatureError, match="authentication"):
        reading(server, "a").set_authentication("org.apache.pulsar.AuthenticationToken", "token:t")
