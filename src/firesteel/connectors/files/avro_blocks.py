"""Locates the blocks of an Avro container file from any offset.

(Avro 1.11 specification, *Object Container Files*.) A block belongs to the range it begins in. The reader of
a range searches for the file's sync marker, which ends the header and each block.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final

from firesteel.common.errors import FiresteelError
from firesteel.common.extras import extra
from firesteel.connectors.files.file_bytes import open_bytes
from firesteel.connectors.files.splits import FileRange

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_GROUP_BYTES: Final = 256 << 10
_SEARCH_BYTES: Final = 64 << 10


class AvroFileError(FiresteelError, ValueError):
    """Raised when a file is not an Avro container file or is corrupt."""


class OpenAvro:
    """The blocks of a range of an Avro file.

    :param reader_schema: the schema to read records as; None is the schema they were written with.
    """

    def __init__(self, file: FileRange, reader_schema: Any) -> None:
        self._library = extra("fastavro", "Avro", "avro")
        self._file = file
        self._reader_schema = reader_schema
        self._source, _ = open_bytes(file.path, file.size, "utf-8")
        try:
            self._header = self._read_header()
            self.start = self._first_block()
        except BaseException:
            self._source.close()
            raise
        self._last: tuple[int, tuple[list[Any], int]] | None = None

    def close(self) -> None:
        self._last = None
        self._source.close()

    def _read_header(self) -> bytes:
        """Return the bytes before the first block."""
        size = 4 << 10
        while True:
            head = self._source.read(0, size)
            if head[: len(_MAGIC)] != _MAGIC:
                raise AvroFileError(
                    f"{self._file.path} is not an Avro file: it does not begin with {_MAGIC!r}"
                )
            try:
                end = _after_map(head, len(_MAGIC)) + _SYNC_BYTES
            except IndexError:
                end = size + 1
            if end <= len(head):
                return head[:end]
            if len(head) < size:
                raise self._damaged(0, "its header does not end")
            size *= 4

    def _first_block(self) -> int:
        """Return where the first block of the range begins, or the size of the content if there is none."""
        sync, at = self._header[-_SYNC_BYTES:], max(self._file.start, len(self._header)) - _SYNC_BYTES
        while True:
            data = self._source.read(at, _SEARCH_BYTES)
            found = data.find(sync)
            if found >= 0:
                return at + found + _SYNC_BYTES
            if len(data) < _SEARCH_BYTES:
                return at + len(data)
            at += len(data) - _SYNC_BYTES + 1

    def is_end(self, position: int) -> bool:
        """Return true if the range has no block at or after ``position``."""
        if position >= self._file.end and self._file.end < self._file.size:
            return True
        return not self._source.read(position, 1)

    def records(self, position: int) -> tuple[list[Any], int]:
        """Return the records of some blocks from ``position`` on, and where the next block begins."""
        if self._last is None or self._last[0] != position:
            self._last = (position, self._read(position))
        return self._last[1]

    def _read(self, position: int) -> tuple[list[Any], int]:  # hot
        data = self._blocks(position)
        try:
            reader = self._library.reader(BytesIO(self._header + data), self._reader_schema)
            return list(reader), position + len(data)
        except Exception as error:  # the library has no common base class for its errors
            raise self._damaged(position, f"{type(error).__name__}: {error}") from error

    def _blocks(self, position: int) -> bytes:
        """Return whole blocks of the range: some hundred kilobytes, but at least one block."""
        wanted = _GROUP_BYTES
        limit = self._file.end - position if self._file.end < self._file.size else None
        while True:
            data = self._source.read(position, wanted)
            end, need = self._whole_blocks(data, limit, position)
            if end:
                return data[:end]
            if len(data) < wanted:
                raise self._damaged(position, "its last block does not end")
            wanted = max(need, 2 * wanted)

    def _whole_blocks(self, data: bytes, limit: int | None, position: int) -> tuple[int, int]:
        """Return where the last whole block in ``data`` ends, and, if there is none, where the first one
        would end."""
        sync, end = self._header[-_SYNC_BYTES:], 0
        while end < len(data) and (limit is None or end < limit):
            try:
                _, at = _long(data, end)
                size, at = _long(data, at)
            except IndexError:
                return end, 0
            after = at + size + _SYNC_BYTES
            if after > len(data):
                return end, after
            if size < 0 or data[at + size : after] != sync:
                raise self._damaged(position + end, "no sync marker after a block")
            end = after
        return end, 0

    def _damaged(self, position: int, reason: str) -> AvroFileError:
        return AvroFileError(
            f"{self._file.path} cannot be read as Avro", detail=f"at byte {position}: {reason}"
        )


def _long(data: bytes, at: int) -> tuple[int, int]:
    """Decode a zigzag variable-length number; return it and the offset after it."""
    shift = number = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7


def _after_map(data: bytes, at: int) -> int:
    """Return the offset after a map of text to bytes."""
    while True:
        count, at = _long(data, at)
        if count == 0:
            return at
        if count < 0:  # the size of the block in bytes comes first
            _, at = _long(data, at)
        for _ in range(2 * abs(count)):
            length, at = _long(data, at)
            at += length
