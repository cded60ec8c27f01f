"""The workers of an executor: real processes, and the test is the JVM."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import NamedTuple, Protocol

import psutil
import pytest

from firesteel.spark.pinning import JOB_OF_SUBTASKS, Subtask
from firesteel.spark.worker_pool import knows_this_spark
from tests.pausing import pause, resume
from tests.spark.programs.worker_pools import KILLED, LEAVES_A_CHILD
from tests.spark.support import python
from tests.spark.test_task_header import begin_of_task
from tests.waiting import patience, until

INT = Struct("!i")
A0, A1, A2 = [("a", number) for number in range(3)]
B0 = ("b", 0)
LARGE = 400_000  # bytes: more than a socket holds


class Answer(NamedTuple):
    """What a task says first.

    :ivar processes: those that have subtasks, as the process was told.
    :ivar moved: what other processes have now, as it was told.
    """

    process: int
    processes: int
    moved: list[Subtask]


def task_of(subtask: Subtask | None, **properties: str) -> bytes:
    """The bytes of a task; None: it is of no job."""
    job, number = subtask or ("", 0)
    return begin_of_task(number, {JOB_OF_SUBTASKS: job, "spark.jobGroup.id": "group", **properties})


class Connection:
    """:ivar pid: what the JVM calls it.
    :ivar said: by its last task.
    """

    def __init__(self, jvm: Jvm, path: str) -> None:
        self._jvm = jvm
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(patience(20))
        self._socket.connect(path)
        self.pid = 0
        self.said = Answer(0, 0, [])

    def read_pid(self) -> None:
        (self.pid,) = INT.unpack(self._read(INT.size))

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read(self) -> int:
        """Return the process that runs the task whose begin has been sent."""
        (size,) = INT.unpack(self._read(INT.size))
        said = json.loads(self._read(size))
        assert said["authenticated"] is True
        assert said["standard input"] == ""
        moved = [(job, number) for job, number in said["moved"]]
        self.said = Answer(said["process"], said["processes"], moved)
        return self.said.process

    def begin(self, subtask: Subtask | None) -> int:
        """Begin a task, which runs until it is told to end, and return the process that runs it."""
        self.send(task_of(subtask))
        return self.read()

    def end(self) -> None:
        """The task ends, and the pool knows it."""
        self.send(bytes([0]))
        self._jvm.wait_to_hear_of(self.said.process)

    def run(self, subtask: Subtask | None) -> int:
        process = self.begin(subtask)
        self.end()
        return process

    def is_over(self) -> bool:
        """Wait for the end of what the other side says; False: it says more."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionResetError:  # it has not read all
            return True

    def close(self) -> None:
        self._socket.close()

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            assert more, "the connection has ended"
            data += more
        return data


class Jvm:
    """What the JVM has of a pool."""

    def __init__(self, starter: socket.socket, directory: Path, constants: dict[str, float]) -> None:
        self._directory = directory
        self._errors = directory / "errors"
        self._connections: list[Connection] = []
        self._heard, heard = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._heard.settimeout(patience(20))
        commands, self._commands = os.pipe()
        self._output, output = os.pipe()
        with self._errors.open("wb") as errors:
            files = [commands, output, errors.fileno(), heard.fileno()]
            socket.send_fds(starter, [json.dumps(constants).encode()], files)
        (pid,) = INT.unpack(starter.recv(INT.size))
        self.pool = psutil.Process(pid)
        for file in (commands, output):
            os.close(file)
        heard.close()
        (size,) = INT.unpack(os.read(self._output, INT.size))
        self.path = os.read(self._output, size).decode()
        assert Path(self.path).parent == directory

    def connect(self) -> Connection:
        connection = self.reach()
        connection.read_pid()
        return connection

    def reach(self) -> Connection:
        """A connection that waits to be told its number."""
        connection = Connection(self, self.path)
        self._connections.append(connection)
        return connection

    def kill(self, pid: int) -> None:
        os.write(self._commands, INT.pack(pid))

    def wait_to_hear_of(self, process: int) -> None:
        """A task of the process has ended, or the process. Only one at a time does in these tests."""
        assert INT.unpack(self._heard.recv(INT.size)) == (process,)

    def end_commands(self) -> None:
        if self._commands >= 0:
            os.close(self._commands)
        self._commands = -1

    def workers(self) -> set[int]:
        return {worker.pid for worker in self.pool.children()}

    def errors(self) -> str:
        return self._errors.read_text()

    def end(self) -> None:
        """End the pool, and see that nothing is left of it."""
        workers = self.workers() if self.pool.is_running() else set()
        self.end_commands()
        self.pool.wait(patience(20))
        until(lambda: not any(map(is_alive, workers)), "workers are left")

    def destroy(self) -> None:
        with suppress(psutil.NoSuchProcess):
            self.pool.kill()
        self.end_commands()
        for connection in self._connections:  # so workers end that are at a task
            connection.close()
        self._heard.close()
        os.close(self._output)


def is_alive(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def wait_for_death(pid: int) -> None:
    until(lambda: not is_alive(pid), "the process goes on", look_s=0.002)


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[socket.socket, Path]]:
    """What begins pools, and where they have their sockets."""
    directory = tmp_path_factory.mktemp("pools")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(patience(20))
    environment = {
        **os.environ,
        "PYTHON_WORKER_FACTORY_SOCK_DIR": str(directory),
        "PYTHON_UNIX_DOMAIN_ENABLED": "true",
        "SPARK_REUSE_WORKER": "1",
    }
    process = subprocess.Popen(python("worker_pools.py"), stdin=theirs.fileno(), env=environment)
    theirs.close()
    yield ours, directory
    ours.close()
    assert process.wait(patience(20)) == 0


class StartPool(Protocol):
    def __call__(self, **constants: float) -> Jvm: ...


@pytest.fixture
def start(starter: tuple[socket.socket, Path]) -> Iterator[StartPool]:
    """Begins a pool with constants of its module as they are given."""
    begun: list[Jvm] = []

    def start_pool(**constants: float) -> Jvm:
        jvm = Jvm(*starter, {"_HEADER_S": patience(20), **constants})
        begun.append(jvm)
        return jvm

    try:
        yield start_pool
        for jvm in begun:
            jvm.end()
            assert jvm.errors() == ""
    finally:
        for jvm in begun:
            jvm.destroy()


@pytest.fixture
def jvm(start: StartPool) -> Jvm:
    return start()


def test_a_connection_is_told_the_number_of_a_process(jvm: Jvm) -> None:
    numbers = [jvm.connect().pid for _ in range(3)]
    assert len(set(numbers)) == 3
    assert jvm.workers() == set(numbers)


def test_a_subtask_stays_with_a_process_whatever_connection_its_tasks_come_over(jvm: Jvm) -> None:
    connections = [jvm.connect() for _ in range(3)]
    homes = [connection.begin(("a", n)) for n, connection in enumerate(connections)]
    assert len(set(homes)) == 3
    for shift in (1, 2, 0):
        for connection in connections:
            connection.end()
        shifted = connections[shift:] + connections[:shift]
        assert [connection.begin(("a", n)) for n, connection in enumerate(shifted)] == homes
    for connection in connections:
        connection.end()
    for n in (2, 1, 0):
        assert connections[0].run(("a", n)) == homes[n]
    assert jvm.workers() == set(homes)


def test_subtasks_that_run_at_once_have_a_process_each(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    assert first.begin(A0) != second.begin(A1)


def test_a_connection_has_two_processes_before_one_has_several_subtasks_of_a_job(jvm: Jvm) -> None:
    connection = jvm.connect()
    homes = [connection.run(subtask) for subtask in (A0, A1, A2)]
    assert homes[0] != homes[1]
    assert homes[2] in homes[:2]
    assert connection.run(B0) in homes[:2]
    assert jvm.workers() == set(homes)


def test_a_task_whose_process_is_busy_runs_in_another_one_at_once(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    busy = first.begin(A0)
    other = second.begin(A0)
    assert other != busy
    second.end()
    assert second.run(A0) == other, "it stays where it is now"
    first.end()
    assert first.run(A0) == other


def test_a_task_waits_a_moment_for_its_process(start: StartPool) -> None:
    """The JVM knows from the process that a task has ended, and so before the pool does."""
    jvm = start(_OWNER_S=patience(20))
    first, second, third = [jvm.connect() for _ in range(3)]
    home = first.begin(A0)
    second.send(task_of(A0))
    assert third.run(B0) != home, "the pool has seen the task, and others do not wait"
    first.end()
    assert second.read() == home


def test_a_process_is_told_once_which_subtasks_have_moved(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    before = first.begin(A0)
    assert second.run(A0) != before
    assert second.said.moved == [], "the one that it moves to"
    second.run(A0)
    assert second.said.moved == []
    first.end()
    assert first.run(B0) == before, "the one with the fewest subtasks"
    assert first.said.moved == [A0]
    assert first.run(B0) == before
    assert first.said.moved == []


def test_a_process_to_which_a_subtask_comes_back_is_not_told_that_it_has_moved(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    before = first.begin(A0)
    between = second.begin(A0)
    first.end()
    assert first.begin(A0) == before
    assert first.said.moved == []
    second.end()
    assert second.begin(None) == between
    assert second.said.moved == [A0]


def test_a_process_is_told_how_many_have_subtasks(jvm: Jvm) -> None:
    connections = [jvm.connect() for _ in range(4)]
    for number, connection in enumerate(connections[:3]):
        connection.begin(("a", number))
    assert [connection.said.processes for connection in connections[:3]] == [1, 2, 3], "with itself"
    connections[3].run(None)
    assert connections[3].said.processes == 3
    jvm.kill(connections[2].pid)
    jvm.wait_to_hear_of(connections[2].said.process)
    connections[0].end()
    connections[0].run(A0)
    assert connections[0].said.processes == 2


def test_a_task_of_no_job_never_runs_where_subtasks_stay(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    homes = {first.run(A0), first.run(A1)}
    assert homes == {first.pid, second.pid}
    other = first.begin(None)
    assert other not in homes
    another = second.begin(None)
    assert another not in {*homes, other}, "it is busy"
    first.end()
    second.end()
    assert first.run(None) in {other, another}, "one that is there already"
    assert {first.run(A0), first.run(A1)} == homes


def test_a_process_that_dies_ends_the_connection_of_its_task(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    process = first.begin(A0)
    other = second.begin(A1)
    first.send(bytes([KILLED]))
    jvm.wait_to_hear_of(process)
    assert first.is_over()
    wait_for_death(process)
    second.end()
    anew = second.run(A0)
    assert anew not in {process, other}
    assert second.run(A1) == other
    assert jvm.connect().run(A0) == anew


def test_the_end_of_a_process_is_seen_whose_files_another_one_has(jvm: Jvm) -> None:
    """A program of the user's that the task has begun, for example, which lives on."""
    first = jvm.connect()
    process = first.begin(A0)
    first.send(bytes([LEAVES_A_CHILD]))
    assert first.is_over()
    wait_for_death(process)
    assert jvm.connect().run(A0) != process


def test_a_process_whose_task_fails_ends_when_the_jvm_has_read_all(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    process = first.begin(A0)
    first.send(bytes([3]))
    assert second.run(A0) != process
    assert is_alive(process)
    first.close()
    jvm.wait_to_hear_of(process)
    wait_for_death(process)
    assert second.run(A1)


def test_the_process_is_killed_that_runs_the_task_of_the_connection(jvm: Jvm) -> None:
    connections = [jvm.connect() for _ in range(3)]
    home = connections[0].run(A0)
    connection, other = [found for found in connections if found.pid != home][:2]
    assert connection.begin(A0) == home
    running = other.begin(A1)
    jvm.kill(connection.pid)
    assert connection.is_over()
    jvm.wait_to_hear_of(home)
    wait_for_death(home)
    assert jvm.workers() == {found.pid for found in connections} - {home}
    other.end()
    assert other.run(A1) == running
    assert other.run(A0) != home


def test_a_connection_without_a_task_is_ended_alone_where_its_process_is_to_be_killed(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    home = first.run(A0)
    workers = {first.pid, second.pid}
    jvm.kill(first.pid)
    assert first.is_over()
    assert jvm.workers() == workers
    assert second.run(A0) == home
    assert jvm.workers() == workers


def test_a_process_that_no_connection_is_called_by_is_not_killed(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    first.close()
    assert second.run(A0)
    processes = [second.run(("a", n)) for n in range(4)]
    unknown = set(processes) - {second.pid}
    assert unknown
    for pid in (*unknown, os.getpid()):
        jvm.kill(pid)
    jvm.kill(second.pid)
    assert second.is_over(), "it has obeyed all"
    third = jvm.connect()
    assert [third.run(("a", n)) for n in range(4)] == processes


def test_a_connection_that_the_jvm_closes_is_forgotten(jvm: Jvm) -> None:
    first = jvm.connect()
    files = jvm.pool.num_fds()
    others = [jvm.connect() for _ in range(3)]
    home = others[0].run(A0)
    for other in others:
        other.close()
    until(lambda: jvm.pool.num_fds() == files + 3, "its file is open")  # those of the processes
    for other in others:
        jvm.kill(other.pid)
    assert first.run(A0) == home
    assert jvm.workers() == {first.pid, *(other.pid for other in others)}


def test_a_header_may_come_in_parts(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    home = first.run(A0)
    task = task_of(A0, large="x" * 20_000)  # a socket holds all of it, with what it adds to each part
    part = len(task) // 5
    for start in range(0, len(task), part):
        first.send(task[start : start + part])
        assert second.run(B0) != home, "the pool has seen the part, and waits for no other"
    assert first.read() == home


def test_a_connection_that_is_to_be_killed_before_its_header_is_whole_is_ended(jvm: Jvm) -> None:
    first, second = jvm.connect(), jvm.connect()
    first.send(task_of(A0)[:40])
    second.run(A1)
    jvm.kill(first.pid)
    assert first.is_over()
    assert second.run(A0)
    assert jvm.workers() == {first.pid, second.pid}


def test_a_header_that_is_never_whole_runs_where_nothing_stays(start: StartPool) -> None:
    jvm = start(_HEADER_S=0.05)
    first, second = jvm.connect(), jvm.connect()
    home = second.run(A0)
    first.send(task_of(A0, large="x" * LARGE))
    assert first.read() != home
    first.end()
    assert first.run(A0) == home, "the next one is whole"


def test_what_begins_in_another_way_runs_where_nothing_stays(jvm: Jvm) -> None:
    connection = jvm.connect()
    home = connection.run(A0)
    connection.send(INT.pack(5))
    assert connection.read() != home
    connection.end()
    assert connection.run(A0) == home


def test_idle_processes_end_but_for_those_that_the_jvm_asks_for(start: StartPool) -> None:
    jvm = start(_IDLE_S=0.0, _TICK_MS=5)
    idle, closed, used = jvm.connect(), jvm.connect(), jvm.connect()
    closed.close()
    wait_for_death(closed.pid)
    home = used.begin(A0)
    assert is_alive(home)
    used.send(bytes([0]))
    wait_for_death(home)
    again = used.begin(A0)
    assert again != home
    assert {idle.pid, used.pid, again} - {home} <= jvm.workers() <= {idle.pid, used.pid, again}


@pytest.mark.parametrize("how", ["end of commands", "SIGTERM"])
def test_workers_and_the_socket_end_with_the_pool(jvm: Jvm, how: str) -> None:
    connections = [jvm.connect() for _ in range(3)]
    busy = connections[0].begin(A0)
    connections[1].run(A1)
    workers = jvm.workers()
    assert busy in workers
    assert Path(jvm.path).is_socket()
    if how == "SIGTERM":
        jvm.pool.terminate()
    else:
        jvm.end_commands()
    assert all(connection.is_over() for connection in connections)
    jvm.pool.wait(patience(20))
    for worker in workers:
        wait_for_death(worker)
    assert not Path(jvm.path).exists()


def test_workers_end_after_a_pool_that_is_killed(jvm: Jvm) -> None:
    """None of them keeps a file of another one open, or of the pool, where nobody would answer."""
    connections = [jvm.connect() for _ in range(3)]
    busy = connections[0].begin(A0)
    for connection in connections[1:]:
        connection.run(None)
    workers = jvm.workers()
    jvm.pool.kill()
    for worker in workers - {busy}:
        wait_for_death(worker)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as late, pytest.raises(ConnectionRefusedError):
        late.connect(jvm.path)
    connections[0].send(bytes([0]))
    wait_for_death(busy)


def test_a_connection_that_ends_before_it_is_told_its_number_does_no_harm(jvm: Jvm) -> None:
    """A task that is interrupted while it waits for its worker."""
    first = jvm.connect()
    home = first.run(A0)
    pause(jvm.pool.pid)
    for _ in range(3):
        jvm.reach().close()
    resume(jvm.pool.pid)
    assert first.run(A0) == home


def test_what_is_done_of_one_connection_is_not_taken_for_another_one(jvm: Jvm) -> None:
    """A new process gets the file number of a connection that was closed a moment before."""
    first, second, third = [jvm.connect() for _ in range(3)]
    homes = [first.run(("a", n)) for n in range(3)]
    for connection in (first, second, third):
        connection.run(A0)
    pause(jvm.pool.pid)
    jvm.kill(second.pid)
    second.close()
    first.send(task_of(None))  # no process is without subtasks
    resume(jvm.pool.pid)
    assert first.read() not in homes
    assert third.run(A0) == homes[0], "while the other task is running"


@pytest.mark.parametrize(
    ("over_files", "again", "knows"),
    [
        ("true", "1", True),
        ("TRUE", "1", True),
        ("true", None, False),
        ("false", "1", False),
        (None, "1", False),
    ],
)
def test_which_spark_a_pool_is_for(
    monkeypatch: pytest.MonkeyPatch, over_files: str | None, again: str | None, knows: bool
) -> None:
    for name, value in (("PYTHON_UNIX_DOMAIN_ENABLED", over_files), ("SPARK_REUSE_WORKER", again)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert knows_this_spark() is knows
