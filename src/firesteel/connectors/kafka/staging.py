"""Stages messages until their checkpoint is complete, next to the state of the job, where committers find
them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from firesteel.common.errors import ConnectorError
from firesteel.connectors.kafka.serialization import Block
from firesteel.program.sinks import WriterContext
from firesteel.storage.filesystems import join, resolve
from firesteel.storage.records import record

_INLINE_BYTES: Final = 64 << 10
_PIECE_BYTES: Final = 8 << 20

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Block]).decode


@record("kafka piece")
@dataclass(frozen=True, slots=True)
class Piece:
    """A committable: messages of one writer in one epoch, in order. ``name`` is unique to them, and the same
    for all attempts of the task that write the same messages. ``path`` is where ``data`` is stored if it is
    not inline."""

    name: str
    topic: str  # of the first message
    count: int
    size: int
    data: bytes | None
    path: str | None

    def blocks(self) -> list[Block]:
        if self.data is not None:
            return _decode(self.data)
        assert self.path is not None, "what is not inline is in a file"
        storage, path = resolve(self.path)
        try:
            with storage.open_input(path) as file:
                return _decode(file.read())
        except FileNotFoundError as error:
            raise ConnectorError(
                "Output that was not committed yet is missing.",
                detail=f"{self.count} messages in {self.path}",
                hint="it is kept beside the checkpoints until it is committed; was the job restored from a "
                "checkpoint older than one whose output is in Kafka already?",
            ) from error

    def discard(self) -> None:
        if self.path is not None:
            storage, path = resolve(self.path)
            storage.delete(path)


class Stage:
    """Collects what one writer stages in one epoch."""

    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self._blocks: list[Block] = []
        self._size = 0
        self._pieces: list[Piece] = []

    def add(self, block: Block) -> None:
        if not block.values:
            return
        self._blocks.append(block)
        self._size += block.size
        if self._size >= _PIECE_BYTES:
            self._finish_piece()

    def finish(self) -> list[Piece]:
        if self._blocks:
            self._finish_piece()
        return self._pieces

    def _finish_piece(self) -> None:
        blocks, self._blocks, self._size = self._blocks, [], 0
        data = _encode(blocks)
        digest = hashlib.blake2b(data, digest_size=12).hexdigest()
        name = f"kafka-{self._context.transaction_id}-{len(self._pieces)}-{digest}"
        path = None
        if len(data) > _INLINE_BYTES:
            storage, base = resolve(self._context.epoch_dir)
            path = join(base, name)
            if storage.info(path) is None:  # another attempt may have written the same
                storage.write(path, data)
        count = sum(len(block.values) for block in blocks)
        inline = data if path is None else None
        self._pieces.append(Piece(name, blocks[0].first_topic, count, len(data), inline, path))


def discard_all_but(kept: Sequence[Piece], others: Iterable[Piece], transaction_prefix: str) -> None:
    """Remove the files of ``others``, and files that lost tasks left next to them."""
    names = {piece.name for piece in kept}
    directories = {piece.path.rpartition("/")[0] for piece in [*kept, *others] if piece.path is not None}
    for directory in directories:
        storage, base = resolve(directory)
        for file in storage.list_dir(base):
            if file.name.startswith(f"kafka-{transaction_prefix}") and file.name not in names:
                storage.delete(file.path)


def digest_of(pieces: Iterable[Piece]) -> str:
    """Return a digest that identifies a set of pieces."""
    return hashlib.blake2b("\n".join(sorted(p.name for p in pieces)).encode(), digest_size=16).hexdigest()


def all_blocks(pieces: Iterable[Piece]) -> Iterator[Block]:
    for piece in pieces:
        yield from piece.blocks()
