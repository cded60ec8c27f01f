"""Connections that come to nothing are closed: clients that send too slowly, too much, or do not read."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEADER_BYTES: Final = 64 << 10
_PROGRESS_BYTES: Final = 256 << 10  # of a large body, for which a client has the whole time again


def guarded(timeout_s: float) -> type[Any]:
    """The protocol of uvicorn with limits.

    :param timeout_s: how long a client may take to send a request, and may not read an answer.
    """

    class Guarded(_Guarded):
        limit_s = timeout_s

    return Guarded


class _Guarded(HttpToolsProtocol):
    limit_s: float

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._since_s: float | None = self.loop.time()  # the client owes a request; None: it owes nothing
        self._unread = 0
        self._header_bytes = 0
        self._watch = self.loop.call_later(self.limit_s / 2, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._since_s = self.loop.time()
        self._header_bytes = 0
        self._body_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes >= _PROGRESS_BYTES:
            self._body_bytes = 0
            self._since_s = self.loop.time()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._since_s = None
        super().on_message_complete()

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > _HEADER_BYTES:
            self.transport.abort()

    def _look(self) -> None:
        """Twice within the limit: a client is cut off after at most one and a half of it."""
        unread = self.transport.get_write_buffer_size()
        late = self._since_s is not None and self.loop.time() - self._since_s >= self.limit_s
        if late or 0 < self._unread <= unread:
            self.transport.abort()
            return
        self._unread = unread
        self._watch = self.loop.call_later(self.limit_s / 2, self._look)
