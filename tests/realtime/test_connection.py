"""The connection of a task with its JVM, played by a pair of sockets, and a worker like PySpark's."""

from __future__ import annotations

import os
import pickle
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from io import BufferedReader, BufferedWriter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.serializers import SpecialLengths

from firesteel.common.errors import EngineError
from firesteel.runtime.inbox import InboxEnded
from firesteel.runtime.wire import RowKind, WireRow
from firesteel.spark.bursts import BurstInbox, to_burst
from firesteel.spark.connection import Connection, TaskFunction

TYPE = pa.struct([pa.field("n", pa.int64(), False)])
BEHIND = b"what is for the worker"


def numbers(*values: int) -> pa.StructArray:
    return pa.array([{"n": n} for n in values], TYPE)


def stream_of(*arrays: pa.StructArray) -> bytes:
    """What the JVM sends."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([pa.field("_0", arrays[0].type)])) as writer:
        for array in arrays:
            writer.write_batch(pa.RecordBatch.from_arrays([array], names=["_0"]))
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


class Ends:
    """Both ends of a connection: the task's as the worker has it, and the JVM's."""

    def __init__(self) -> None:
        self.jvm, task = socket.socketpair()
        self.received: BufferedReader = os.fdopen(os.dup(task.fileno()), "rb", 65536)
        self.sent: BufferedWriter = os.fdopen(os.dup(task.fileno()), "wb", 65536)
        task.close()

    def close(self) -> None:
        for end in (self.jvm, self.received, self.sent):
            end.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.close()


def taken(connection: Connection) -> list[list[int]]:
    found = []
    while True:
        try:
            batch = connection.take(10_000)
        except EOFError:
            return found
        if batch is not None:
            found.append(batch.field(0).to_pylist())


def test_batches_come_and_nothing_behind_them_is_read(ends: Ends) -> None:
    ends.jvm.sendall(stream_of(numbers(1, 2), numbers(), numbers(3)) + BEHIND)
    connection = Connection(ends.received, ends.sent)
    assert taken(connection) == [[1, 2], [], [3]]
    with pytest.raises(EOFError):
        connection.take(10_000)
    assert ends.received.read(len(BEHIND)) == BEHIND


@pytest.mark.parametrize("ahead", [1, 7, 100, 10_000])
def test_what_the_worker_has_read_ahead_is_not_lost(ends: Ends, ahead: int) -> None:
    content = stream_of(*(numbers(n, n + 1) for n in range(50))) + BEHIND
    ends.jvm.sendall(b"!" + content[:ahead])
    assert ends.received.read(1) == b"!"  # what is behind it is in the buffer now
    connection = Connection(ends.received, ends.sent)
    ends.jvm.sendall(content[ahead:])
    assert taken(connection) == [[n, n + 1] for n in range(50)]
    assert ends.received.read(len(BEHIND)) == BEHIND


def test_a_batch_that_does_not_come_is_none(ends: Ends) -> None:
    connection = Connection(ends.received, ends.sent)
    content = stream_of(numbers(1))
    begun = time.monotonic()
    assert connection.take(0) is None
    assert connection.take(20) is None
    assert time.monotonic() - begun >= 0.015
    schema = len(pa.schema([pa.field("_0", TYPE)]).serialize())
    ends.jvm.sendall(content[:schema])
    assert connection.take(10_000) is None  # nothing is in it
    assert connection.take(0) is None
    ends.jvm.sendall(content[schema:])
    assert taken(connection) == [[1]]


def test_a_batch_may_come_in_pieces(ends: Ends) -> None:
    content = stream_of(numbers(*range(100_000)))

    def send() -> None:
        for at in range(0, len(content), 77_777):
            ends.jvm.sendall(content[at : at + 77_777])

    thread = threading.Thread(target=send)
    thread.start()
    assert taken(Connection(ends.received, ends.sent)) == [list(range(100_000))]
    thread.join()


@pytest.mark.parametrize("arrived", [0, 20, -60])
def test_a_connection_that_breaks_is_said(ends: Ends, arrived: int) -> None:
    ends.jvm.sendall(stream_of(numbers(1), numbers(2))[:arrived])
    ends.jvm.shutdown(socket.SHUT_WR)
    with pytest.raises(OSError, match="was cut"):
        taken(Connection(ends.received, ends.sent))


def test_what_is_sent_is_there_at_once(ends: Ends) -> None:
    ends.sent.write(b"before")
    connection = Connection(ends.received, ends.sent)
    connection.send(numbers(1, 2))
    connection.send(numbers(3))
    connection.end()
    begin = b"before" + struct.pack("!i", SpecialLengths.START_ARROW_STREAM)
    content = ends.jvm.recv(1 << 16)
    assert content.startswith(begin)
    batches = list(pa.ipc.open_stream(content[len(begin) :]))
    assert [batch.column(0).field(0).to_pylist() for batch in batches] == [[1, 2], [3]]


def test_who_sends_nothing_writes_nothing(ends: Ends) -> None:
    Connection(ends.received, ends.sent).end()
    ends.jvm.setblocking(False)
    with pytest.raises(BlockingIOError):
        ends.jvm.recv(1)


def test_rows_are_taken_one_by_one(ends: Ends) -> None:
    rows = [WireRow(0, n, 0, RowKind.DATA, b"x" * n) for n in range(9)]
    bursts = (rows[:4], rows[4:])
    ends.jvm.sendall(stream_of(*(to_burst(burst, 1) for burst in bursts)))
    inbox = BurstInbox(Connection(ends.received, ends.sent))
    found: list[WireRow] = []
    while len(found) < len(rows):
        row = inbox.take(10_000)
        found += () if row is None else (row,)
    assert found == rows
    with pytest.raises(InboxEnded):
        inbox.take(10_000)


# ---- the worker


def invoke_udf(function: Callable[[Any], Any], input_data_stream: BufferedReader, outfile: Any) -> Any:
    """As PySpark's worker names it, and what it has. It says whether it would read in a thread."""
    in_thread = os.environ.get("SPARK_PIPELINED_UDF") == "1"
    return in_thread, list(function(iter(())))


def echo(connection: Connection) -> None:
    for values in taken(connection):
        connection.send(numbers(*values))


@pytest.fixture
def pipelined(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the JVM sets it for the workers of a session in real time."""
    monkeypatch.setenv("SPARK_PIPELINED_UDF", "1")


@pytest.mark.usefixtures("pipelined")
def test_the_worker_leaves_the_connection_to_the_task(ends: Ends) -> None:
    function = pickle.loads(pickle.dumps(TaskFunction(echo)))
    ends.jvm.sendall(stream_of(numbers(1), numbers(2)))
    assert invoke_udf(function, ends.received, ends.sent) == (False, [])
    assert os.environ["SPARK_PIPELINED_UDF"] == "1", "what runs there next has its thread"
    content = ends.jvm.recv(1 << 16)
    assert [b.column(0).field(0).to_pylist() for b in pa.ipc.open_stream(content[4:])] == [[1], [2]]


@pytest.mark.usefixtures("pipelined")
def test_what_was_sent_is_ended_where_a_task_fails(ends: Ends) -> None:
    """The JVM reads to the end of the batches before it looks for an error."""

    function = pickle.loads(pickle.dumps(TaskFunction(fails)))
    with pytest.raises(ValueError, match="once"):
        invoke_udf(function, ends.received, ends.sent)
    content = ends.jvm.recv(1 << 16)
    assert len(list(pa.ipc.open_stream(content[4:]))) == 1
    assert content.endswith(b"\xff\xff\xff\xff\0\0\0\0")


def fails(connection: Connection) -> None:
    connection.send(numbers(1))
    raise ValueError("once")


@pytest.mark.usefixtures("pipelined")
def test_a_worker_that_is_not_known_is_said(ends: Ends) -> None:
    function = pickle.loads(pickle.dumps(TaskFunction(echo)))
    with pytest.raises(EngineError, match="not one of those that are known"):
        invoke_udf(function, ends.received, None)
    with pytest.raises(EngineError, match="not one of those that are known"):
        function(iter(()))
