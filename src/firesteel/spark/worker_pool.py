"""The workers of an executor: PySpark's daemon, but for which process runs a task.

To the JVM a worker is a connection and the number of a process, one and the same for all tasks. Here it is
only where a task comes from: the pool looks at what the task is and hands the connection to the process that
is to run it. When the JVM wants a worker killed, the process is that runs the task of its connection.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NoReturn, TypeAlias

from pyspark.util import enable_faulthandler

from firesteel.runtime.worker import empty_standard_input, is_dedicated, keep_subtasks
from firesteel.spark.pinning import Assignments, Subtask, Worker, subtask_of
from firesteel.spark.task_header import header_of

#: Runs the task of a connection and returns the exit code. The second argument: whether it may.
RunTask: TypeAlias = Callable[[socket.socket, bool], int]

_INT: Final = Struct("!i")
_HEADER_BYTES: Final = 1 << 15  # more of it does not come before a part is taken, if there is more
_HEADER_S: Final = 1.0  # within which the header of a task has come
# A process that has sent all of a task has not yet said so: the next one of its subtask may come before that.
_OWNER_S: Final = 0.02
_AGAIN_MS: Final = 1
_TICK_MS: Final = 1000
_IDLE_S: Final = 60.0  # as long as the JVM keeps workers that have nothing to do
_PROCESSES_PER_CONNECTION: Final = 2  # the JVM has as many connections as there have been tasks at once
_DONE: Final = b"d"
_YOUNG, _ALL = 1, 2  # generations of objects


def knows_this_spark() -> bool:
    """Whether the JVM starts its workers in the way that a pool is made for: as in sessions of ours."""
    over_files = os.environ.get("PYTHON_UNIX_DOMAIN_ENABLED", "").lower() == "true"
    return over_files and bool(os.environ.get("SPARK_REUSE_WORKER"))


def serve(run_task: RunTask) -> None:
    """Be the daemon of an executor until the JVM closes standard input."""
    os.setpgid(0, 0)  # the workers are its group
    path = os.path.join(os.environ["PYTHON_WORKER_FACTORY_SOCK_DIR"], f".{uuid.uuid4()}.sock")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(max(1024, socket.SOMAXCONN))
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    for of_group in (signal.SIGHUP, signal.SIGCHLD):
        signal.signal(of_group, signal.SIG_IGN)
    name = os.fsencode(path)
    os.write(sys.stdout.fileno(), _INT.pack(len(name)) + name)
    try:
        WorkerPool(listener, sys.stdin.fileno(), run_task).run()
    finally:
        with suppress(OSError):
            os.remove(path)
        os.kill(0, signal.SIGHUP)


@dataclass(eq=False, slots=True)
class _Process(Worker):
    """:ivar control: by which it is given connections, and says that a task has ended."""

    control: socket.socket = field(kw_only=True)
    connection: _Connection | None = None
    idle_since_s: float = field(default_factory=time.monotonic)


@dataclass(eq=False, slots=True)
class _Connection:
    """Where tasks come from.

    :ivar pid: what the JVM calls it: the process that there was for it when it began.
    :ivar process: runs a task of it.
    :ivar since_s: when the task began to come that was not handed over yet.
    """

    socket: socket.socket
    pid: int
    process: _Process | None = None
    since_s: float | None = None


class WorkerPool:
    """It forks, so it has one thread.

    :param listener: where the JVM connects to.
    :param commands: where it says which worker is to be killed; their end is the end of the pool.
    """

    def __init__(self, listener: socket.socket, commands: int, run_task: RunTask) -> None:
        self._listener = listener
        self._commands = commands
        self._run_task = run_task
        self._workers: Assignments[_Process] = Assignments()
        self._connections: dict[int, _Connection] = {}  # by what the JVM calls them
        self._later: list[_Connection] = []  # to be looked at again
        self._is_over = False
        self._looked_s = 0.0
        self._poll = select.poll()
        self._readers: dict[int, Callable[[], None]] = {}
        self._watch(listener.fileno(), self._accept)
        self._watch(commands, self._obey)

    def run(self) -> None:
        while not self._is_over:
            found = self._poll.poll(_AGAIN_MS if self._later else _TICK_MS)
            for file, reader in [(file, self._readers[file]) for file, _ in found]:
                if self._readers.get(file) is reader:  # one before it may have closed it, or opened it anew
                    reader()
            again, self._later = self._later, []
            for connection in again:
                self._look(connection)
            self._look_at_processes()

    def _watch(self, file: int, reader: Callable[[], None]) -> None:
        self._readers[file] = reader
        self._poll.register(file, select.POLLIN)

    def _ignore(self, file: int) -> None:
        if self._readers.pop(file, None) is not None:
            self._poll.unregister(file)

    # ---- what the JVM wants

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        try:
            process = self._fork(accepted)
        except OSError as e:
            with suppress(OSError):
                accepted.sendall(_INT.pack(-(e.errno or 1)))
            accepted.close()
            return
        connection = self._connections[process.pid] = _Connection(accepted, process.pid)
        self._await_task(connection)
        try:
            accepted.sendall(_INT.pack(process.pid))
        except OSError:  # the JVM wants none any more
            self._close(connection)

    def _obey(self) -> None:
        data = _read(lambda size: os.read(self._commands, size), _INT.size)
        if len(data) < _INT.size:
            self._is_over = True
            return
        connection = self._connections.get(*_INT.unpack(data))
        if connection is None:
            return
        if connection.process is None:
            self._close(connection)
        else:  # what becomes of it is seen by its end
            with suppress(ProcessLookupError):
                os.kill(connection.process.pid, signal.SIGKILL)

    def _close(self, connection: _Connection) -> None:
        self._ignore(connection.socket.fileno())
        self._later = [other for other in self._later if other is not connection]
        if self._connections.get(connection.pid) is connection:
            del self._connections[connection.pid]
        with suppress(OSError):  # workers may have it open still: it ends for all of them
            connection.socket.shutdown(socket.SHUT_RDWR)
        connection.socket.close()

    # ---- tasks

    def _await_task(self, connection: _Connection) -> None:
        self._watch(connection.socket.fileno(), lambda: self._look(connection))

    def _look(self, connection: _Connection) -> None:
        """A task has begun to come, or the connection has ended."""
        self._ignore(connection.socket.fileno())
        try:
            begin = connection.socket.recv(_HEADER_BYTES, socket.MSG_PEEK)
        except OSError:
            begin = b""
        if not begin:
            self._close(connection)
            return
        subtask: Subtask | None = None
        with suppress(ValueError):  # what begins in another way may run anywhere
            header = header_of(begin)
            now_s = time.monotonic()
            connection.since_s = connection.since_s or now_s
            subtask = None if header is None else subtask_of(header)
            most_s = _OWNER_S if self._workers.is_at_work(subtask) else 0.0
            is_coming = header is None and len(begin) < _HEADER_BYTES
            if now_s - connection.since_s < (_HEADER_S if is_coming else most_s):
                self._later.append(connection)
                return
        connection.since_s = None
        self._hand_over(connection, subtask)

    def _hand_over(self, connection: _Connection, subtask: Subtask | None) -> None:
        most = _PROCESSES_PER_CONNECTION * len(self._connections)
        try:
            process = self._workers.worker_for(subtask, most) or self._fork()
        except OSError:  # no room for one more
            self._later.append(connection)
            return
        if subtask is not None:
            self._workers.assign(subtask, process)
        keeping = sum(bool(worker.subtasks) for worker in self._workers)
        said = json.dumps([keeping, sorted(process.moved)]).encode()
        try:
            socket.send_fds(process.control, [_INT.pack(len(said))], [connection.socket.fileno()])
            process.control.sendall(said)
        except OSError:
            self._has_ended(process)
            self._later.append(connection)
            return
        process.moved.clear()
        process.is_busy, process.connection = True, connection
        connection.process = process

    # ---- processes

    def _fork(self, *others: socket.socket) -> _Process:
        """:param others: files that are not for the new process, beside those of all others.

        :raises OSError: there cannot be one more.
        """
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            _work(theirs, [ours, *others, *self._files()], self._run_task)
        theirs.close()
        process = _Process(pid, control=ours)
        self._workers.add(process)
        self._watch(ours.fileno(), lambda: self._hear(process))
        return process

    def _files(self) -> list[socket.socket]:
        connections = [connection.socket for connection in self._connections.values()]
        return [self._listener, *connections, *(process.control for process in self._workers)]

    def _hear(self, process: _Process) -> None:
        try:
            said = process.control.recv(1)
        except OSError:
            said = b""
        connection = process.connection
        if said != _DONE or connection is None:
            self._has_ended(process)
            return
        process.is_busy, process.connection = False, None
        process.idle_since_s = time.monotonic()
        connection.process = None
        self._await_task(connection)

    def _has_ended(self, process: _Process) -> None:
        """The JVM learns it by the end of the connection whose task it had."""
        self._ignore(process.control.fileno())
        process.control.close()
        self._workers.remove(process)
        if process.connection is not None:
            self._close(process.connection)

    def _look_at_processes(self) -> None:
        """See who has ended in silence, and end who has had nothing to do for long. Those that nothing stays
        with are in nobody's way, and the JVM asks whether they are alive if it knows them."""
        now_s = time.monotonic()
        if now_s - self._looked_s < _TICK_MS / 1000:
            return
        self._looked_s = now_s
        for process in self._workers:
            is_needed = process.pid in self._connections and not process.subtasks
            is_idle = not process.is_busy and process.idle_since_s < now_s - _IDLE_S
            if (is_idle and not is_needed) or not _lives(process.pid):
                self._has_ended(process)  # so it ends


def _lives(pid: int) -> bool:
    """What a process has begun itself may have its files, too: then nobody hears of its end."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _work(control: socket.socket, of_others: list[socket.socket], run_task: RunTask) -> NoReturn:
    """Be a worker: run task after task, until there is no pool any more."""
    code = 1
    try:
        for file in of_others:
            file.close()
        for number in (signal.SIGHUP, signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        empty_standard_input()
        with enable_faulthandler():
            code = _run_tasks(control, run_task)
    except BaseException:
        traceback.print_exc()
    os._exit(code)


def _run_tasks(control: socket.socket, run_task: RunTask) -> int:
    while True:
        begin, files, _, _ = socket.recv_fds(control, _INT.size, 1)
        if not files:
            return 0
        (size,) = _INT.unpack(begin)
        processes, moved = json.loads(_read(control.recv, size))
        keep_subtasks(max(1, processes), [(job, number) for job, number in moved])
        os.set_inheritable(files[0], False)
        with socket.socket(fileno=files[0]) as task:
            code = run_task(task, True)
            if code:
                with suppress(OSError):
                    while task.recv(1024):  # the JVM closes it when it has read all
                        pass
                return code
            try:
                control.send(_DONE)
            except OSError:  # there is no pool any more
                return 0
        # PySpark looks at everything after each task. What of ours stays may be millions of objects.
        gc.collect(_YOUNG if is_dedicated() else _ALL)


def _read(read: Callable[[int], bytes], size: int) -> bytes:
    """So many bytes; fewer: they have ended."""
    data = b""
    while len(data) < size and (more := read(size - len(data))):
        data += more
    return data
