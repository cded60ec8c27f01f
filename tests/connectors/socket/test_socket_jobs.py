"""Jobs that read a socket, in both modes, and from one mode into the other."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.clock import ManualClock
from firesteel.common.errors import FiresteelError
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.sources import SourceCoordinator
from firesteel.runtime.messages import Messages, Order
from firesteel.testing.collecting_sink import CollectingSink
from firesteel.testing.local_platform import LocalPlatform
from tests.jobmanager.checkpoint_support import RECOVERY, RETENTION, env_with, submit
from tests.jobmanager.test_recovery import FIXED, FailsAt
from tests.runtime.support import MODE, in_both_modes, local_platform, notes
from tests.waiting import in_time, patience, until

OFTEN = {
    "execution.checkpointing.interval": "50 ms",
    "firesteel.real-time.epoch": "50 ms",
    RETENTION: "RETAIN_ON_CANCELLATION",
}


@pytest.fixture(autouse=True)
def platform() -> Iterator[LocalPlatform]:
    with local_platform() as made:
        yield made


class Server:
    """Sends lines to whoever has connected last."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        self.connection: socket.socket | None = None

    def accept(self) -> None:
        self.hang_up()
        self._listener.settimeout(patience(30))
        self.connection, _ = self._listener.accept()

    def send(self, text: str) -> None:
        assert self.connection is not None
        self.connection.sendall(text.encode())

    def hang_up(self) -> None:
        if self.connection is not None:
            self.connection.close()

    def close(self) -> None:
        self.hang_up()
        self._listener.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def reading(env: Any, server: Server, through: Any = str.upper) -> CollectingSink:
    sink = CollectingSink()
    stream = env.socket_text_stream(*server.address).uid("socket")
    stream.map(through, Types.STRING()).uid("map").sink_to(sink).uid("sink")
    return sink


def cancelled(job: JobGateway) -> None:
    job.cancel()
    assert job.wait(patience(30))


@in_both_modes
def test_lines_come_as_they_are_sent_and_the_last_one_ends_the_job(server: Server, mode: str) -> None:
    env = env_with(1, None, **OFTEN, **{MODE: mode})
    sink = reading(env, server)
    job = submit(env)
    server.accept()
    sent: list[str] = []
    for burst in (["a"], ["b", "c"], [f"line {n}" for n in range(9_000)], ["d"]):
        sent += [line.upper() for line in burst]
        server.send("".join(f"{line}\n" for line in burst))
        until(lambda: len(sink.values) == len(sent))  # noqa: B023
    server.send("the last has no delimiter")
    server.hang_up()
    assert job.wait(patience(30))
    assert sink.values == [*sent, "THE LAST HAS NO DELIMITER"]
    assert job.status is JobStatus.FINISHED


@in_both_modes
@pytest.mark.parametrize("place", [50, 57])
def test_each_line_once_over_restarts(server: Server, tmp_path: Path, mode: str, place: int) -> None:
    """What was received since the first checkpoint is in the log, so nothing is sent again."""
    env = env_with(1, tmp_path, **{**OFTEN, **FIXED, "firesteel.epoch.max-records": "7", MODE: mode})
    fails = FailsAt(str(tmp_path), place, 2)
    sink = reading(env, server, lambda text: fails((int(text), text)))
    job = submit(env)
    server.accept()
    server.send("".join(f"{n}\n" for n in range(50)))
    until(lambda: job.view.checkpoints.completed > 1)
    server.send("".join(f"{n}\n" for n in range(50, 100)))
    for _ in range(2):
        server.accept()
    server.send("100\n")
    until(lambda: len(sink.values) >= 101)
    assert sink.values == [str(n) for n in range(101)]
    assert len(notes[str(tmp_path)]) == 2
    cancelled(job)


@pytest.mark.parametrize("modes", [("epochs", "real-time"), ("real-time", "epochs", "real-time")])
def test_a_savepoint_leads_from_one_mode_into_the_other(
    server: Server, tmp_path: Path, modes: tuple[str, ...]
) -> None:
    seen: list[str] = []
    path: str | None = None
    for number, mode in enumerate(modes):
        options = {} if path is None else {"execution.state-recovery.path": path}
        env = env_with(1, tmp_path / "checkpoints", **OFTEN, **{MODE: mode}, **options)
        sink = reading(env, server)
        client = env.execute_async("moves")
        server.accept()
        server.send(f"{number} a\n{number} b\n")
        until(lambda: len(sink.values) == 2)  # noqa: B023
        path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
        seen += sink.values
    assert seen == [f"{number} {letter}" for number in range(len(modes)) for letter in "AB"]


def test_what_was_received_and_not_read_is_read_after_a_restart(server: Server, tmp_path: Path) -> None:
    """The log holds more than the checkpoint, and its writer was killed in the midst of a record."""
    env = env_with(1, tmp_path, **OFTEN, **{MODE: "real-time"})
    first = reading(env, server)
    job = submit(env)
    server.accept()
    server.send("a\nb\n")
    until(lambda: len(first.values) == 2)
    taken = job.view.checkpoints.completed
    until(lambda: job.view.checkpoints.completed > taken + 1)
    cancelled(job)
    [log] = tmp_path.rglob("*.log")
    log.with_name("00000001.log").write_bytes(b"c\nhalf of a rec")
    env = env_with(1, tmp_path, **OFTEN, **{MODE: "real-time", RECOVERY: "latest"})
    second = reading(env, server)
    job = submit(env)
    server.accept()
    server.send("d\n")
    until(lambda: len(second.values) == 2)
    assert second.values == ["C", "D"]
    cancelled(job)


def test_a_line_is_read_without_a_round_of_the_driver(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[Order] = []
    given = Messages.give_order

    def give(messages: Messages, number: int, order: Order) -> None:
        orders.append(order)
        given(messages, number, order)

    monkeypatch.setattr(Messages, "give_order", give)
    monkeypatch.setattr(
        SourceCoordinator, "plan_ahead", lambda *_: pytest.fail("the driver has planned what is read")
    )
    clock = ManualClock(1_000_000)

    def later() -> bool:
        clock.advance(50)
        return True

    with local_platform() as platform:
        env = env_with(1, None, clock=clock, **{MODE: "real-time", "firesteel.real-time.epoch": "50 ms"})
        sink = reading(env, server)
        job = submit(env)
        server.accept()
        until(lambda: bool(platform.engines))
        for text in "abc":
            server.send(f"{text}\n")
            until(lambda: later() and text.upper() in sink.values)  # noqa: B023
        assert sink.values == ["A", "B", "C"]
        assert not any(order.ranges for order in orders)
        job.cancel()
        until(lambda: later() and job.status.is_terminal_state())


@in_both_modes
def test_a_server_that_is_not_there(server: Server, mode: str) -> None:
    server.close()
    env = env_with(1, None, **{MODE: mode})
    reading(env, server)
    with in_time(), pytest.raises(FiresteelError) as failed:
        env.execute("nobody")
    assert "no connection to 127.0.0.1" in f"{failed.value} {failed.value.__cause__}"
