"""Reads a range of a file in blocks of whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors.files.file_bytes import ByteSource, open_bytes
from firesteel.connectors.files.lines import end_of_line_at, end_of_lines
from firesteel.connectors.files.splits import FileRange
from firesteel.program.sources import Split

BLOCK: Final = 128 << 10
_SMALL: Final = 4 << 10
CHUNK_RECORDS: Final = 4096


@dataclass(frozen=True, slots=True)
class OpenText:
    """The content of an open text file, and the encoding of its bytes."""

    source: ByteSource
    encoding: str

    def close(self) -> None:
        self.source.close()


def text_files(encoding: str) -> OpenFiles[OpenText]:
    """Create the cache of open files for a reader of text."""
    return OpenFiles(partial(_open_text, encoding))


def _open_text(encoding: str, split: Split) -> OpenText:
    file: FileRange = split.payload
    return OpenText(*open_bytes(file.path, file.size, encoding))


def first_line(source: ByteSource, file: FileRange) -> int:
    """Return where the first line of the range begins. A line belongs to the range it begins in."""
    if file.start == 0:
        return 0
    size = _SMALL
    while True:
        block = source.read(file.start - 1, size)
        if len(block) < size:
            return file.start - 1 + end_of_line_at(block, 0)
        end = end_of_line_at(block, 0)
        if end < len(block):  # otherwise the line, or the pair \r\n, may continue
            return file.start - 1 + end
        size *= 2


def first_block_bytes(max_records: int, max_bytes: int) -> int:
    """Return the size of the first block: no more than the limits of the range can need."""
    return max(1, min(BLOCK, max_bytes, max(_SMALL, max_records * 256)))


def line_blocks(
    source: ByteSource, file: FileRange, position: int, size: int
) -> Iterator[tuple[bytes, bool]]:
    """Yield blocks of about ``size`` bytes from ``position`` on, each of whole lines, and whether the block
    is the last one of the range. The last block may be empty."""
    whole = file.end == file.size  # also if it is compressed: it ends where its bytes end
    while True:
        wanted = size
        while True:
            block = source.read(position, wanted)
            at_end = len(block) < wanted
            end = end_of_lines(block, at_end)
            if end or at_end:
                break
            wanted *= 2  # a line is longer than the block
        if not whole and position + end >= file.end:
            end = end_of_line_at(block, max(0, file.end - 1 - position)) if position < file.end else 0
            at_end = True
        position += end
        yield (block if end == len(block) else block[:end]), at_end
        if at_end:
            return
