"""A log of the data received from a socket, in numbered immutable files."""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
from dataclasses import dataclass, replace
from typing import Final

from firesteel.storage.filesystems import join, resolve
from firesteel.storage.records import record

_RECEIVE_BYTES: Final = 64 << 10
_BUFFER_BYTES: Final = 64 << 20  # above this the peer has to wait


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
        self._room = threading.Condition()
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

    def take(self) -> tuple[bytes, bool]:
        """Return the data received since the last call, up to the last delimiter (at the end, all of it), and
        whether this is the end."""
        with self._room:
            end = len(self._buffer)
            if not self._ended:
                found = self._buffer.rfind(self._delimiter)
                end = 0 if found < 0 else found + len(self._delimiter)
            data = bytes(self._buffer[:end])
            del self._buffer[:end]
            self._room.notify_all()
            return data, self._ended

    def close(self) -> None:
        self._closed.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):  # the peer may have closed it first
                self._socket.shutdown(socket.SHUT_RDWR)
        with self._room:
            self._room.notify_all()
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
            with self._room:
                self._ended = True

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
                with self._room:
                    self._buffer += data
                    while self._is_full() and not self._closed.is_set():
                        self._room.wait(1)
        self._socket = None

    def _is_full(self) -> bool:
        return len(self._buffer) > _BUFFER_BYTES and self._delimiter in self._buffer
