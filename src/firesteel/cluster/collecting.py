"""Records that a job collects, kept until its client has fetched them."""

from __future__ import annotations

import base64
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from firesteel.storage.filesystems import PRIVATE

_AHEAD: Final = 64  # blocks that wait for the client before the job waits
_REPLY_BYTES: Final = 8 << 20  # of blocks in one answer, if one block is not larger
_LOOK_S: Final = 0.5

Key = tuple[int, int, str]


class Block(msgspec.Struct, frozen=True):
    """Records, and which of the job they are: after a restart a block may come again."""

    key: Key
    data: bytes


class Blocks(msgspec.Struct, frozen=True):
    """:param generation: of the process that has collected them; each counts from 0.
    :param first: the number of the first; ``ended``: there are no more after these.
    """

    generation: int
    first: int
    blocks: list[Block]
    ended: bool


class Collector:
    """What one sink has collected. The job's thread puts, others take."""

    def __init__(self, generation: int) -> None:
        self._generation = generation
        self._changed = threading.Condition()
        self._blocks: list[Block] = []
        self._first = 0
        self._ended = False
        self._given_up = False

    def put(self, key: Key, data: bytes) -> None:
        """Waits while the client is far behind."""
        with self._changed:
            while len(self._blocks) >= _AHEAD and not self._given_up:
                self._changed.wait(_LOOK_S)
            self._blocks.append(Block(key, data))
            self._changed.notify_all()

    def take(self, generation: int, first: int, timeout_s: float) -> Blocks:
        """The blocks from ``first`` on, those before are dropped; waits for one. Who has fetched of another
        generation gets all."""
        with self._changed:
            done = max(0, first - self._first) if generation == self._generation else 0
            del self._blocks[:done]
            self._first += done
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._blocks or self._ended, timeout_s)
            return _reply(self._generation, self._first, self._blocks, ended=self._ended)

    def give_up(self) -> None:
        """The job ends, whatever its client does."""
        with self._changed:
            self._given_up = True
            self._changed.notify_all()

    def end(self, file: Path) -> None:
        """There are no more; what nobody has fetched yet is kept in ``file``."""
        with self._changed:
            self._ended = True
            left = Blocks(self._generation, self._first, self._blocks, True)
            PRIVATE.write(str(file), msgspec.msgpack.encode(left))
            self._changed.notify_all()


def left_over(file: Path, generation: int, first: int) -> Blocks | None:
    """What a job that has ended left for its client, from ``first`` on; None: nothing."""
    try:
        kept = msgspec.msgpack.decode(file.read_bytes(), type=Blocks)
    except FileNotFoundError:
        return None
    dropped = max(0, first - kept.first) if generation == kept.generation else 0
    return _reply(kept.generation, kept.first + dropped, kept.blocks[dropped:], ended=True)


def _reply(generation: int, first: int, blocks: Sequence[Block], *, ended: bool) -> Blocks:
    """Return as many blocks as one answer may have, at least one if there is one.

    :param ended: there are none after *blocks*.
    """
    found: list[Block] = []
    size = 0
    for block in blocks:
        size += len(block.data)
        if found and size > _REPLY_BYTES:
            break
        found.append(block)
    return Blocks(generation, first, found, ended and len(found) == len(blocks))


def as_text(block: Block) -> str:
    """For JSON."""
    return base64.b64encode(msgspec.msgpack.encode(block)).decode()


def from_text(text: str) -> Block:
    return msgspec.msgpack.decode(base64.b64decode(text), type=Block)
