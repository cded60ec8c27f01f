"""A log of the data received from a socket, in numbered files.

It consists of records that the delimiter follows. What is behind the last delimiter of a file was being
written when its writer was killed, and does not count.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

from firesteel.storage.filesystems import join, resolve
from firesteel.storage.records import record

_RECEIVE_BYTES: Final = 64 << 10
_BUFFER_BYTES: Final = 64 << 20  # above this the peer has to wait
_SEGMENT_BYTES: Final = 4 << 20  # at which a file that grows is full


@record("socket log part")
@dataclass(frozen=True, slots=True)
class LogPart:
    """A directory, and how many of its segments belong to the part."""

    directory: str
    segments: int

    def path_of(self, segment: int) -> str:
        return join(self.directory, f"{segment:08d}.log")

    def with_all_segments(self) -> LogPart:
        """Return this part extended by segments that were written after it was recorded."""
        storage, inner = resolve(self.directory)
        names = [info.name for info in storage.list_dir(inner) if info.name.endswith(".log")]
        return replace(self, segments=max(self.segments, len(names)))


class GrowingLog:
    """Appends to the last file of a part that nobody reads meanwhile; on a file system that cannot show what
    is being written, each piece of data is a file."""

    def __init__(self, part: LogPart) -> None:
        self._storage, _ = resolve(part.directory)
        self._part = part
        self._segment = -1
        self._size = 0
        self._file: BinaryIO | None = None

    def append(self, data: bytes) -> tuple[int, int]:
        """Return where the data begins: the number of the file, and the offset in it."""
        if not self._storage.is_local:
            self._segment += 1
            self._storage.write(self._part.path_of(self._segment), data)
            return self._segment, 0
        if self._file is None or self._size >= _SEGMENT_BYTES:
            self.close()
            self._segment += 1
            self._file, self._size = self._storage.open_output(self._part.path_of(self._segment)), 0
        offset = self._size
        self._file.write(data)
        self._file.flush()
        self._size += len(data)
        return self._segment, offset

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


class SegmentLog:
    """Writes each piece of data to a separate file, in a new directory for each driver."""

    def __init__(self, work_dir: str) -> None:
        storage, base = resolve(work_dir)
        self._storage = storage
        self.part = LogPart(join(base, f"socket-{uuid.uuid4().hex}"), 0)

    def append(self, data: bytes) -> None:
        self._storage.write(self.part.path_of(self.part.segments), data)
        self.part = replace(self.part, segments=self.part.segments + 1)


class Receiver:
    """A thread that reads a socket until the server closes the connection for the last time."""

    def __init__(
        self, host: str, port: int, delimiter: bytes, max_retries: int, retry_interval_ms: int
    ) -> None:
        self._address = (host, port)
        self._delimiter = delimiter
        self._max_retries = max_retries
        self._retry_interval_s = retry_interval_ms / 1000
        self._changed = threading.Condition()
        self._buffer = bytearray()
        self._ended = False
        self._closed = threading.Event()
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name=f"socket {host}:{port}", daemon=True)
        self.error: OSError | None = None

    def start(self) -> None:
        """Connect.

        :raises OSError: the server cannot be reached.
        """
        self._socket = socket.create_connection(self._address)
        self._thread.start()

    def take(self, at_most: int = _BUFFER_BYTES, wait_s: float = 0.0) -> tuple[bytes, bool]:
        """Return whole records received since the last call, and whether this is the end. The delimiter
        follows each, also the last one of all, behind which there need not be one.

        :param at_most: of more bytes than that only the first record.
        :param wait_s: how long to wait for a record.
        """
        with self._changed:
            if wait_s > 0:
                self._changed.wait_for(lambda: self._ended or self._delimiter in self._buffer, wait_s)
            found = self._buffer.rfind(self._delimiter, 0, at_most)
            if found < 0:
                found = self._buffer.find(self._delimiter)
            end = 0 if found < 0 else found + len(self._delimiter)
            data = bytes(self._buffer[:end])
            del self._buffer[:end]
            self._changed.notify_all()
            return data, self._ended and not self._buffer

    def close(self) -> None:
        self._closed.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):  # the peer may have closed it first
                self._socket.shutdown(socket.SHUT_RDWR)
        with self._changed:
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        retries = 0
        try:
            while not self._closed.is_set():
                self._receive()
                if self._max_retries >= 0 and retries >= self._max_retries:
                    break
                retries += 1
                if self._closed.wait(self._retry_interval_s):
                    break
                if not self._reconnect() and self._max_retries >= 0 and retries >= self._max_retries:
                    break
        finally:
            with self._changed:
                if self._buffer and not self._buffer.endswith(self._delimiter):
                    self._buffer += self._delimiter
                self._ended = True
                self._changed.notify_all()

    def _reconnect(self) -> bool:
        try:
            self._socket = socket.create_connection(self._address)
        except OSError as error:
            self.error = error
            return False
        self.error = None
        return True

    def _receive(self) -> None:
        connection = self._socket
        if connection is None:
            return
        with connection:
            while not self._closed.is_set():
                try:
                    data = connection.recv(_RECEIVE_BYTES)
                except OSError:
                    break  # connection reset by the peer
                if not data:
                    break
                with self._changed:
                    self._buffer += data
                    self._changed.notify_all()
                    while self._is_full() and not self._closed.is_set():
                        self._changed.wait(1)
        self._socket = None

    def _is_full(self) -> bool:
        return len(self._buffer) > _BUFFER_BYTES and self._delimiter in self._buffer
