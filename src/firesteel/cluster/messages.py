"""What a dispatcher and the process of a job say to each other, over a Unix socket: views up, orders down.

All of it is plain data: a dispatcher never unpickles anything.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from typing import Any, BinaryIO, Final

import msgspec

from firesteel.cluster.store import JobRecord
from firesteel.jobmanager.reported import Failure
from firesteel.jobmanager.rescale_view import Bounds
from firesteel.rest.cluster import SavepointOrder

_LENGTH: Final = struct.Struct(">I")


class Message(msgspec.Struct, frozen=True, tag=True):
    """Base of all messages."""


# ---- down


class Begin(Message, frozen=True):
    """The first one.

    :param settings: of the cluster, below those of the job.
    :param generation: rises with each process of the job.
    :param wanted: which parallelism its vertices are to have, by their ids; empty: what the program says.
    """

    record: JobRecord
    directory: str
    settings: dict[str, str]
    generation: int
    wanted: dict[str, Bounds] = {}


class Cancel(Message, frozen=True):
    pass


class TakeSavepoint(Message, frozen=True):
    number: int
    order: SavepointOrder


class TakeCheckpoint(Message, frozen=True):
    number: int


class Rescale(Message, frozen=True):
    """Another parallelism. What comes of it is in the views of the job."""

    wanted: dict[str, Bounds]


class GiveAccumulators(Message, frozen=True):
    number: int


class GiveStates(Message, frozen=True):
    number: int


class GiveKeyState(Message, frozen=True):
    number: int
    operator: str
    state: str
    key: str


class GiveCollected(Message, frozen=True):
    """Batches of a sink from ``first`` on; those before are not needed any more."""

    number: int
    sink: str
    generation: int
    first: int
    timeout_s: float


Order = (
    Begin
    | Cancel
    | TakeSavepoint
    | TakeCheckpoint
    | Rescale
    | GiveAccumulators
    | GiveStates
    | GiveKeyState
    | GiveCollected
)

# ---- up


class Viewed(Message, frozen=True):
    """A newer view, as msgpack: a dispatcher decodes what somebody asks for."""

    view: bytes


class Answered(Message, frozen=True):
    number: int
    value: Any


class Refused(Message, frozen=True):
    number: int
    failure: Failure


Report = Viewed | Answered | Refused

decode_order: Final = msgspec.msgpack.Decoder(Order).decode
decode_report: Final = msgspec.msgpack.Decoder(Report).decode
encode: Final = msgspec.msgpack.Encoder().encode


def framed(message: Message) -> bytes:
    body = encode(message)
    return _LENGTH.pack(len(body)) + body


def read_frame(file: BinaryIO) -> bytes | None:
    """Return the body of the next message; None if there are no more."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    return file.read(_LENGTH.unpack(head)[0])


async def receive_frame(reader: asyncio.StreamReader) -> bytes:
    """Return the body of the next message.

    :raises asyncio.IncompleteReadError: there are no more.
    """
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return await reader.readexactly(length)


class Channel:
    """The end of a job's process: any thread may send, one receives."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._file = connected.makefile("rb")
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        with self._sending:
            self._socket.sendall(framed(message))

    def receive(self) -> Order | None:
        """The next order; None: there is no dispatcher any more."""
        body = read_frame(self._file)
        return None if body is None else decode_order(body)
