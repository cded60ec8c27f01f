"""The end of a session's process: it answers what is asked, and sends requests to the REST API."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from itertools import count
from typing import Any

from firesteel.cluster.client import Address, RestClient
from firesteel.cluster.messages import Answered, Message, Refused, framed, read_frame
from firesteel.cluster.sql.messages import Ask, BeginSession, Down, Reply, Request, decode_down
from firesteel.jobmanager.reported import failure_of

__all__ = ["Link", "LinkClient"]

Answer = Callable[[Mapping[str, Any]], Any]


class Link:
    """Any thread may send; ``serve`` receives."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._file = connected.makefile("rb")
        self._sending = threading.Lock()
        self._numbers = count(1)
        self._replies: dict[int, Future[Reply]] = {}
        begin = self._receive()
        assert isinstance(begin, BeginSession)
        self.begin = begin

    def serve(self, answers: Mapping[str, Answer]) -> None:
        """Answer each question in a thread of its own, until nobody asks any more."""
        while (message := self._receive()) is not None:
            match message:
                case Reply():
                    self._replies.pop(message.number).set_result(message)
                case Ask():
                    threading.Thread(
                        target=self._answer, args=(message, answers[message.what]), daemon=True
                    ).start()

    def request(self, method: str, target: str, content: bytes, kind: str) -> Reply:
        """Send a request to the REST API, and wait for its answer."""
        number = next(self._numbers)
        reply: Future[Reply] = Future()
        self._replies[number] = reply
        self._send(Request(number, method, target, content, kind))
        return reply.result()

    def _answer(self, asked: Ask, answer: Answer) -> None:
        message: Message
        try:
            message = Answered(asked.number, answer(asked.given))
        except BaseException as error:
            message = Refused(asked.number, failure_of(error))
        self._send(message)

    def _send(self, message: Message) -> None:
        with self._sending:
            self._socket.sendall(framed(message))

    def _receive(self) -> Down | None:
        body = read_frame(self._file)
        return None if body is None else decode_down(body)


class LinkClient(RestClient):
    """A client of the cluster that has started this process: no address, no credentials."""

    def __init__(self, link: Link) -> None:
        super().__init__(Address("localhost", 0))
        self._link = link

    def _answer(self, method: str, target: str, data: bytes, raw: bool) -> tuple[int, bytes]:
        kind = "application/octet-stream" if raw else "application/json; charset=UTF-8"
        reply = self._link.request(method, target, data, kind)
        return reply.status, reply.content
