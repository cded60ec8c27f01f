"""The connection of a Python task with its JVM, taken over by the task.

PySpark reads what comes in a thread of its own, which puts it into a queue for the task, and writes what
leaves in a dozen small pieces. For a task in real time each of these is a change of threads for every burst.
So such a task reads by itself, with a time limit, and writes a burst at once. How PySpark's worker names what
is needed for that is internal to it. No other module knows it.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from io import BufferedReader, BufferedWriter
from struct import Struct
from types import FrameType
from typing import Any, Final

import pyarrow as pa
from pyspark.serializers import SpecialLengths

from firesteel.common.errors import EngineError
from firesteel.spark.own_thread import in_own_thread

_WORKER: Final = "invoke_udf"
_INPUT, _OUTPUT = "input_data_stream", "outfile"
_RECEIVED: Final = "infile"
_CLOSED: Final = getattr(select, "POLLRDHUP", 0)  # the other end; beside what poll always tells
_INT: Final = Struct("!i")
_PATIENCE_MS: Final = 1000.0
_END: Final = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream of Arrow


class TaskFunction:
    """A function for ``mapInArrow`` that gets the connection of its task.

    :param run: called in the worker. It reads its input to the end, or raises.
    """

    def __init__(self, run: Callable[[Connection], None]) -> None:
        self._run = run

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_worker, (self._run,)

    def __call__(self, batches: Any) -> Any:
        raise EngineError("A task in real time runs in a worker of PySpark.")


def _of_worker(run: Callable[[Connection], None]) -> Callable[[Any], Any]:
    """The function as the worker calls it."""

    def function(batches: Any) -> Any:
        connection = Connection(*_streams())
        try:
            run(connection)
        finally:
            connection.end()
        return iter(())

    return in_own_thread(function)


def is_waited_for() -> Callable[[], bool]:
    """Whether the JVM still holds the connection of the task that calls this: it closes that of a task which
    it has given up. To ask costs a microsecond or two, in any thread."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not isinstance(frame.f_locals.get(_RECEIVED), BufferedReader):
        frame = frame.f_back
    if frame is None:  # a worker of another release of Spark
        return lambda: True
    poll = select.poll()
    poll.register(frame.f_locals[_RECEIVED].fileno(), _CLOSED)
    return lambda: not poll.poll(0)


def _streams() -> tuple[BufferedReader, BufferedWriter]:
    """Those of the worker that called this."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != _WORKER:
        frame = frame.f_back
    names = {} if frame is None else frame.f_locals
    if not (isinstance(names.get(_INPUT), BufferedReader) and isinstance(names.get(_OUTPUT), BufferedWriter)):
        raise EngineError(
            "The worker of PySpark is not one of those that are known.",
            detail=f"{_WORKER}() has no {_INPUT} and {_OUTPUT}",
            hint="use a release of Spark that this release of Firesteel was made for",
        )
    return names[_INPUT], names[_OUTPUT]


class Connection:
    """What a task gets and sends, as batches of Arrow with one column, a struct."""

    def __init__(self, received: BufferedReader, sent: BufferedWriter) -> None:
        self._received = _Received(received)
        self._reader: pa.RecordBatchReader | None = None
        self._has_ended = False
        sent.flush()
        self._sent = sent
        self._has_begun = False

    def take(self, wait_ms: float) -> pa.StructArray | None:
        """The next batch; None: none came in time.

        :raises EOFError: there will be none.
        :raises OSError: the connection was cut, because another task has failed, for example.
        """
        if self._has_ended:
            raise EOFError
        if not self._received.is_ready(wait_ms):
            return None
        try:
            if self._reader is None:
                self._reader = pa.ipc.open_stream(self._received)
                if not self._received.is_ready(0):
                    return None
            return self._reader.read_next_batch().column(0)
        except StopIteration:
            self._has_ended = True
            raise EOFError from None
        except pa.ArrowInvalid as e:
            raise OSError(f"the connection to the JVM was cut: {e}") from e

    def read_to_end(self) -> None:
        """Take what there is, for nothing."""
        try:
            while True:
                self.take(_PATIENCE_MS)
        except EOFError:
            return

    def send(self, rows: pa.StructArray) -> None:
        """Send a batch; all have the same type."""
        batch = pa.RecordBatch.from_arrays([rows], names=["_0"])
        if not self._has_begun:
            self._has_begun = True
            self._write(_INT.pack(SpecialLengths.START_ARROW_STREAM))
            self._write(batch.schema.serialize())
        self._write(batch.serialize())

    def end(self) -> None:
        """Nothing more is sent."""
        if self._has_begun:
            self._write(_END)

    def _write(self, data: bytes | pa.Buffer) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._sent.fileno(), left) :]


class _Received:
    """Reads what is asked for and no more: what is behind the input is for the worker."""

    closed = False

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._file = stream.fileno()
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLIN)
        os.set_blocking(self._file, False)
        try:
            self._buffered = len(stream.peek())  # the worker has read ahead
        finally:
            os.set_blocking(self._file, True)

    def is_ready(self, wait_ms: float) -> bool:
        return self._buffered > 0 or bool(self._poll.poll(wait_ms))

    def read(self, size: int) -> bytes:
        if self._buffered:
            found = self._stream.read(min(size, self._buffered))
            self._buffered -= len(found)
        else:
            found = os.read(self._file, size)
        if not found or len(found) == size:
            return found
        parts, left = [found], size - len(found)
        while left:
            if not (found := os.read(self._file, left)):
                break
            parts.append(found)
            left -= len(found)
        return b"".join(parts)
