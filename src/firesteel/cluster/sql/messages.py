"""What a dispatcher and the process of a SQL session say to each other. Answers go up as ``Answered`` and
``Refused`` of ``cluster/messages.py``."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from firesteel.cluster.messages import Answered, Message, Refused


class BeginSession(Message, frozen=True):
    """The first one. :param settings: of the cluster, and of the session above them."""

    name: str
    settings: dict[str, str]


class Ask(Message, frozen=True):
    """:param what: a key of the table of ``session.py``. :param given: its arguments."""

    number: int
    what: str
    given: dict[str, Any] = {}


class Reply(Message, frozen=True):
    """The answer to a ``Request``, of HTTP."""

    number: int
    status: int
    content: bytes


class Request(Message, frozen=True):
    """A request to the REST API of the cluster that the session belongs to."""

    number: int
    method: str
    target: str
    content: bytes
    kind: str


Down = BeginSession | Ask | Reply
Up = Request | Answered | Refused
decode_down: Final = msgspec.msgpack.Decoder(Down).decode
decode_up: Final = msgspec.msgpack.Decoder(Up).decode
