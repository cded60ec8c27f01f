"""RMQSource and RMQSink against a real server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import ConfigurationError, ConnectorError, FiresteelError, ProgramError
from firesteel.common.job_status import JobStatus
from firesteel.common.serialization import SimpleStringSchema
from firesteel.common.typeinfo import Types
from firesteel.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.sources import SourceCoordinator
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import RECOVERY, RETENTION, env_with, submit
from tests.jobmanager.test_recovery import FIXED, FailsAt
from tests.runtime.support import MODE, environment, in_both_modes, note, notes
from tests.servers.rabbitmq.broker import RabbitServer
from tests.waiting import in_time, patience, until

OFTEN = {"execution.checkpointing.interval": "50 ms", RETENTION: "RETAIN_ON_CANCELLATION"}
SELDOM = {"execution.checkpointing.interval": "1 h"}


def config(server: RabbitServer, **other: Any) -> RMQConnectionConfig:
    builder = RMQConnectionConfig.Builder().set_host("127.0.0.1").set_port(other.get("port", server.port))
    builder.set_virtual_host(other.get("vhost", "/")).set_network_recovery_interval(100)
    return builder.set_user_name("guest").set_password(other.get("password", "guest")).build()


def reading(
    env: Any, server: RabbitServer, queue: str, ids: bool = True, through: Callable[[Any], Any] | None = None
) -> CollectingSink:
    sink = CollectingSink()
    source = RMQSource(config(server), queue, ids, SimpleStringSchema())
    stream = env.add_source(source, "queue").uid("queue")
    assert stream.get_type() == Types.STRING()
    if through is not None:
        stream = stream.map(through).uid("map")
    stream.sink_to(sink).uid("sink")
    return sink


@pytest.fixture
def jobs() -> Iterator[Callable[[Any], JobGateway]]:
    running: list[JobGateway] = []

    def start(env: Any) -> JobGateway:
        running.append(submit(env))
        return running[-1]

    yield start
    for job in running:
        job.cancel()
        assert job.wait(patience(30))


Start = Callable[[Any], JobGateway]


@in_both_modes
def test_messages_are_read_in_order_and_acknowledged_by_checkpoints(
    server: RabbitServer, queue: str, jobs: Start, tmp_path: Path, mode: str
) -> None:
    texts = [f"text {n}" for n in range(3000)]
    server.publish(queue, *texts[:2000])
    env = env_with(1, tmp_path, **OFTEN, **{MODE: mode})
    sink = reading(env, server, queue)
    job = jobs(env)
    until(lambda: len(sink.values) >= 2000)
    server.publish(queue, *texts[2000:])
    until(lambda: len(sink.values) >= 3000)
    assert sink.values == texts
    taken = job.view.checkpoints.completed
    until(lambda: job.view.checkpoints.completed > taken + 1)
    job.cancel()
    assert job.wait(patience(30))
    assert server.left(queue) == 0
    assert not list(tmp_path.rglob("rabbitmq-*/*.log")), "what a checkpoint covers is not kept"


@pytest.mark.row("S-CONN-12")
@in_both_modes
def test_without_a_checkpoint_nothing_is_acknowledged(
    server: RabbitServer, queue: str, jobs: Start, tmp_path: Path, mode: str
) -> None:
    server.publish(queue, "a", "b")
    env = env_with(1, tmp_path, **SELDOM, **{MODE: mode})
    reading(env, server, queue, through=lambda text: note(queue, text))
    job = jobs(env)
    until(lambda: notes[queue] == ["a", "b"])
    job.cancel()
    assert job.wait(patience(30))
    until(lambda: server.left(queue) == 2)


@in_both_modes
def test_a_job_without_checkpoints_takes_messages_for_good(
    server: RabbitServer, queue: str, jobs: Start, mode: str
) -> None:
    server.publish(queue, "a", "b")
    env = environment(1, **{MODE: mode})
    sink = reading(env, server, queue, ids=False)
    job = jobs(env)
    until(lambda: sink.values == ["a", "b"])
    job.cancel()
    assert job.wait(patience(30))
    assert server.left(queue) == 0


@in_both_modes
@pytest.mark.parametrize("place", [0, 1, 17, 99])
@pytest.mark.row("S-CONN-12")
def test_each_message_once_over_restarts(
    server: RabbitServer, queue: str, jobs: Start, tmp_path: Path, place: int, mode: str
) -> None:
    """What was sent and not yet acknowledged comes again, and is not counted again."""
    env = env_with(1, tmp_path, **{**OFTEN, **FIXED, "firesteel.epoch.max-records": "5", MODE: mode})
    fails = FailsAt(queue, place, 2)
    sink = reading(env, server, queue, through=lambda text: fails((int(text), text)))
    job = jobs(env)
    for n in range(100):
        server.publish(queue, str(n))
    until(lambda: len(set(sink.values)) == 100)
    assert len(notes[queue]) == 2
    assert job.status is JobStatus.RUNNING
    assert Counter(sink.values) == Counter(str(n) for n in range(100))


@in_both_modes
@pytest.mark.row("S-CONN-12")
def test_a_message_acknowledged_too_late_is_known_by_its_id(
    server: RabbitServer, queue: str, jobs: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """The driver dies between a complete checkpoint and the acknowledgement: the next one drops what comes
    again."""
    from firesteel.connectors.rabbitmq import receiver

    def lost(*_: Any) -> None:
        raise ConnectorError("the line is dead")

    server.publish(queue, *"abc")
    with monkeypatch.context() as patched:
        patched.setattr(receiver.Receiver, "acknowledge", lost)
        patched.setattr(
            receiver.Receiver, "begin_to_acknowledge", lambda self, messages: receiver.Acknowledgement({})
        )
        patched.setattr("firesteel.connectors.rabbitmq.polling._LAST_ACKNOWLEDGEMENT_S", 0.0)
        env = env_with(1, tmp_path, **OFTEN, **{MODE: mode})
        first = reading(env, server, queue)
        job = jobs(env)
        until(lambda: first.values == ["a", "b", "c"])
        taken = job.view.checkpoints.completed
        until(lambda: job.view.checkpoints.completed > taken + 1)
        job.cancel()
        assert job.wait(patience(30))
    until(lambda: server.left(queue) == 3)
    server.publish(queue, "d")
    env = env_with(1, tmp_path, **OFTEN, **{RECOVERY: "latest", MODE: mode})
    second = reading(env, server, queue)
    jobs(env)
    until(lambda: bool(second.values))
    assert second.values == ["d"]
    until(lambda: server.left(queue) == 0)


@pytest.mark.parametrize("modes", [("epochs", "real-time"), ("real-time", "epochs")])
@pytest.mark.row("S-CONN-12")
def test_a_savepoint_leads_from_one_mode_into_the_other(
    server: RabbitServer, queue: str, tmp_path: Path, modes: tuple[str, str]
) -> None:
    """A job that stops with a savepoint acknowledges what that covers."""
    path: str | None = None
    for mode, texts in zip(modes, ("ab", "cd"), strict=True):
        options = {} if path is None else {"execution.state-recovery.path": path}
        env = env_with(1, tmp_path / "checkpoints", **SELDOM, **{MODE: mode}, **options)
        sink = reading(env, server, queue, ids=False, through=lambda text: note(queue, text))
        client = env.execute_async("moves")
        server.publish(queue, *texts)
        until(lambda: notes[queue][-2:] == list(texts))  # noqa: B023
        path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
        client.get_job_execution_result().result()
        assert sink.values == list(texts)
        assert server.left(queue) == 0
    assert notes[queue] == list("abcd")


def test_a_message_is_read_without_a_round_of_the_driver(
    server: RabbitServer, queue: str, jobs: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        SourceCoordinator, "plan_ahead", lambda *_: pytest.fail("the driver has planned what is read")
    )
    env = environment(1, **{MODE: "real-time"})
    sink = reading(env, server, queue)
    jobs(env)
    for text in "abc":
        server.publish(queue, text)
        until(lambda: text in sink.values)  # noqa: B023
    assert sink.values == ["a", "b", "c"]


@in_both_modes
def test_a_connection_that_is_lost_is_made_again(
    tmp_path_factory: pytest.TempPathFactory, queue: str, jobs: Start, tmp_path: Path, mode: str
) -> None:
    own = RabbitServer(tmp_path_factory.mktemp("killed")).start()
    try:
        own.publish(queue, *"abc")
        env = env_with(1, tmp_path, **SELDOM, **{MODE: mode})
        reading(env, own, queue, through=lambda text: note(queue, text))
        jobs(env)
        until(lambda: notes[queue] == ["a", "b", "c"])
        own.kill()
        own.start()  # a, b and c have not been acknowledged: they come again
        own.publish(queue, "d")
        until(lambda: notes[queue] == ["a", "b", "c", "d"])
    finally:
        own.stop()


@in_both_modes
def test_a_message_without_an_id_where_ids_are_needed(
    server: RabbitServer, queue: str, jobs: Start, tmp_path: Path, mode: str
) -> None:
    server.publish(queue, "a", ids=False)
    env = env_with(1, tmp_path, **OFTEN, **{"restart-strategy.type": "none", MODE: mode})
    reading(env, server, queue)
    job = jobs(env)
    assert job.wait(patience(30))
    assert job.status is JobStatus.FAILED
    assert "has no correlation id" in str(job.error)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_records_become_messages(server: RabbitServer, queue: str, parallelism: int) -> None:
    env = environment(parallelism, **{"firesteel.epoch.max-records": "100"})
    texts = [f"é {n}" for n in range(950)]
    stream = env.from_collection(texts, Types.STRING())
    stream.add_sink(RMQSink(config(server), queue, SimpleStringSchema()))
    env.execute("to a queue")
    assert sorted(server.drain(queue)) == sorted(texts)


def test_an_attempt_that_fails_sends_nothing(server: RabbitServer, queue: str) -> None:
    env = environment(1)
    fails = FailsAt(queue, 40)
    stream = env.from_collection([(n, str(n)) for n in range(50)]).map(fails, Types.STRING())
    stream.add_sink(RMQSink(config(server), queue, SimpleStringSchema()))
    with pytest.raises(FiresteelError, match="cannot be"):
        env.execute("to a queue")
    assert server.drain(queue) == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"password": "no"}, "refused user and password"),
        ({"vhost": "nowhere"}, "refused the virtual host"),
        ({"port": 1}, "refused"),
    ],
)
def test_a_server_that_cannot_be_used_is_named_before_the_job_begins(
    server: RabbitServer, queue: str, wrong: dict[str, Any], reason: str
) -> None:
    env = environment(1)
    source = RMQSource(config(server, **wrong), queue, False, SimpleStringSchema())
    env.add_source(source).sink_to(CollectingSink())
    with in_time(), pytest.raises(ConnectorError, match="No connection to RabbitMQ at 127") as failed:
        env.execute("nowhere")
    assert reason in str(failed.value).lower()


def test_settings_that_are_not_enough_or_too_many() -> None:
    builder = RMQConnectionConfig.Builder
    with pytest.raises(ProgramError, match="needs a URI, or host"):
        builder().set_host("h").build()
    with pytest.raises(ProgramError, match="not both"):
        builder().set_uri("amqp://h").set_host("h").build()
    with pytest.raises(ConfigurationError, match="cannot be switched off"):
        builder().set_topology_recovery_enabled(False)
    assert builder().set_uri("amqp://u:secret@h:1/v").build().settings.address == "h:1/v"
