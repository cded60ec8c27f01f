"""Source of a Python collection; bounded (Flink: ``fromCollection``, ``fromData``)."""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.connectors._splits import FixedSplits
from firesteel.program.pickling import dumps_block, loads_block
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.storage.filesystems import join, resolve

BLOCK_RECORDS: Final = 1000
BLOCK_BYTES: Final = 4 << 20  # limits the number of large records in a block
INLINE_BYTES: Final = 64 << 10
_OFFSET: Final = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class CollectionSource(Source):
    """Reads the records of a list in order, as one split.

    The enumerator writes them once to the job's work directory. A reader holds none of them, and loads only
    the part that it reads. ``type_info`` is the type that the program declared for them, or None.
    """

    records: Sequence[Any]
    type_info: Any = None

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def max_parallelism(self) -> int | None:
        return 1

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return FixedSplits([Split("collection", _store(self.records, context.work_dir))])

    def create_reader(self) -> SourceReader:
        return _CollectionReader()


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Pickled blocks, followed by the little-endian offsets of each block and of their end. They are in
    ``data`` if they are small, else in the file at ``path``."""

    count: int
    block_records: int
    index_offset: int
    path: str | None
    data: bytes | None


def _store(records: Sequence[Any], work_dir: str) -> _Blocks:
    count = len(records)
    size = BLOCK_RECORDS
    first = dumps_block(list(records[:size]))
    if len(first) > BLOCK_BYTES:
        size = max(1, min(size, count) * BLOCK_BYTES // len(first))
        first = dumps_block(list(records[:size]))
    blocks = [first]
    blocks += (dumps_block(list(records[start : start + size])) for start in range(size, count, size))
    offsets, end = array("Q"), 0
    for block in blocks:
        offsets.append(end)
        end += len(block)
    index = b"".join(map(_OFFSET.pack, (*offsets, end)))
    data = b"".join((*blocks, index))
    if len(data) <= INLINE_BYTES:
        return _Blocks(count, size, end, None, data)
    storage, base = resolve(work_dir)
    path = join(base, f"collection-{hashlib.sha256(data).hexdigest()[:32]}.blocks")
    if storage.info(path) is None:
        storage.write(path, data)
    return _Blocks(count, size, end, path, None)


class _CollectionReader(SourceReader):
    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        blocks: _Blocks = range_.split.payload
        position = range_.position or 0
        stop = min(blocks.count, position + range_.max_records)
        room = range_.max_bytes
        if position >= blocks.count:
            yield Chunk([], None, blocks.count, True)
        while position < stop and room > 0:
            number, skip = divmod(position, blocks.block_records)
            data = _read_block(blocks, number)
            records = loads_block(data)
            record_bytes = max(1, len(data) // len(records))
            take = min(len(records) - skip, stop - position, max(1, room // record_bytes))
            room -= take * record_bytes
            position += take
            values = records if take == len(records) else records[skip : skip + take]
            yield Chunk(values, None, position, position == blocks.count)


def _read_block(blocks: _Blocks, number: int) -> bytes:
    index = blocks.index_offset + number * _OFFSET.size
    if blocks.data is not None:
        start, end = struct.unpack_from("<QQ", blocks.data, index)
        return blocks.data[start:end]
    assert blocks.path is not None, "blocks that are not inline are in a file"
    storage, path = resolve(blocks.path)
    with storage.open_input(path) as file:
        file.seek(index)
        start, end = struct.unpack("<QQ", file.read(2 * _OFFSET.size))
        file.seek(start)
        return file.read(end - start)
