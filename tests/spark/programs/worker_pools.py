"""Begins pools of workers. To import what a pool needs takes longer than a test, and is done once here.

Standard input is a socket. Over it comes for each pool a JSON object with the values of constants of the
module ``worker_pool``, and four files: standard input, output and error of the pool, and a socket on which it
says of which process it has heard that a task has ended, or the process itself. The answer is the number of
the pool.

A task answers with a JSON object, and ends as the byte says that comes next: with that exit code, or as if it
was killed, or so that a process lives on which it has begun.
"""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Collection
from struct import Struct
from typing import Final

from pyspark.serializers import SpecialLengths

from firesteel.spark import worker_pool

KILLED: Final = 255  # in place of an exit code
LEAVES_A_CHILD: Final = 254  # and is killed
_MOST: Final = 1 << 16
_INT: Final = Struct("!i")

_kept: list[socket.socket] = []  # by user code: a function may keep all that is there while it runs
_told: dict[str, object] = {}  # what the process was told before its last task


def run_task(task: socket.socket, authenticated: bool) -> int:
    (start,) = _INT.unpack(_read(task, _INT.size))
    if start == SpecialLengths.START_OF_INIT_MESSAGE:
        (size,) = _INT.unpack(_read(task, _INT.size))
        _read(task, size)
    answer = {
        "process": os.getpid(),
        "authenticated": authenticated,
        **_told,
        "standard input": os.read(0, 1).decode(),
    }
    _kept.append(task.dup())
    said = json.dumps(answer).encode()
    task.sendall(_INT.pack(len(said)) + said)
    (code,) = _read(task, 1)
    if code == LEAVES_A_CHILD and os.fork() == 0:
        signal.pause()
    if code >= LEAVES_A_CHILD:
        os.kill(os.getpid(), signal.SIGKILL)
    return code


def _read(task: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = task.recv(min(size - len(data), _MOST))
        if not more:
            os._exit(0)  # the test is over
        data += more
    return data


def _note(processes: int, moved: Collection[tuple[str, int]]) -> None:
    _told.update(processes=processes, moved=sorted(moved))


class Watched(worker_pool.WorkerPool):
    heard: socket.socket

    def _hear(self, process: worker_pool._Process) -> None:
        super()._hear(process)
        if process.connection is None or process not in self._workers:
            self.heard.send(_INT.pack(process.pid))


def be_pool(constants: dict[str, float], files: list[int]) -> None:
    for number in range(3):
        os.dup2(files[number], number)
        os.close(files[number])
    Watched.heard = socket.socket(fileno=files[3])
    assert constants.keys() <= vars(worker_pool).keys()
    vars(worker_pool).update(WorkerPool=Watched, keep_subtasks=_note, **constants)
    worker_pool.serve(run_task)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a pool
    with socket.socket(fileno=os.dup(0)) as orders:
        while True:
            said, files, _, _ = socket.recv_fds(orders, _MOST, 4)
            if not said:
                return
            pid = os.fork()
            if pid == 0:
                orders.close()
                be_pool(json.loads(said), files)
                return
            for file in files:
                os.close(file)
            orders.send(_INT.pack(pid))


if __name__ == "__main__":
    main()
