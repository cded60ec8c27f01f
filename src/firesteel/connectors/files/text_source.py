"""Source of lines in text files (Flink: ``FileSource``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from firesteel.connectors.files.file_bytes import check_encoding, has_plain_line_ends
from firesteel.connectors.files.line_blocks import (
    CHUNK_RECORDS,
    OpenText,
    first_block_bytes,
    first_line,
    line_blocks,
    text_files,
)
from firesteel.connectors.files.lines import split_lines
from firesteel.connectors.files.source import FilesSource
from firesteel.connectors.files.splits import FileEnumerator, FileRange
from firesteel.program.sources import (
    Chunk,
    Chunks,
    EnumeratorContext,
    ReadRange,
    SourceReader,
    SplitEnumerator,
)

#: Of long lines fewer come at once: what is made of them, word by word, should stay in the caches of a core.
_CHUNK_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class TextFileSource(FilesSource):
    """Reads the lines of text files, without their line ends (LF, CR LF or CR).

    A file whose name ends in gz, gzip, bz2, xz, deflate or zst is decompressed. Bytes that are invalid in the
    encoding become U+FFFD, as in Java.
    """

    paths: tuple[str, ...]
    encoding: str = "utf-8"
    discovery_interval_ms: int | None = None
    split_bytes: int | None = None

    def __post_init__(self) -> None:
        super(TextFileSource, self).__post_init__()
        object.__setattr__(self, "encoding", check_encoding(self.encoding))

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        split_bytes = self.split_bytes if has_plain_line_ends(self.encoding) else None
        return FileEnumerator(self.paths, self.discovery_interval_ms, split_bytes)

    def create_reader(self) -> SourceReader:
        return _TextReader(self.encoding)


class _TextReader(SourceReader):
    """Positions are offsets of lines in the (decompressed) bytes of the file."""

    def __init__(self, encoding: str) -> None:
        self._files = text_files(encoding)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._files.read(range_, _read_lines)

    def close(self) -> None:
        self._files.close()


def _read_lines(opened: OpenText, range_: ReadRange) -> Chunks:  # hot
    source, encoding = opened.source, opened.encoding
    file: FileRange = range_.split.payload
    position: int = first_line(source, file) if range_.position is None else range_.position
    records, room = range_.max_records, range_.max_bytes
    size = first_block_bytes(records, room)
    for block, last in line_blocks(source, file, position, size):
        lines = split_lines(block, encoding)
        texts, start, offset = lines.texts, 0, 0
        count = min(len(texts), records)
        most = CHUNK_RECORDS
        if lines.one_to_one:  # else the end of each chunk has to be looked for
            most = max(1, min(most, _CHUNK_BYTES * len(texts) // max(1, len(block))))
        while start < count:
            take = min(most, count - start)
            offset = lines.offset_after(start, offset, take)
            end = last and start + take == len(texts)
            values = texts if take == len(texts) else texts[start : start + take]
            start += take
            yield Chunk(values, None, position + offset, end)
        records -= count
        room -= len(block)
        position += len(block)
        if last and not texts:
            yield Chunk([], None, position, True)
        if records <= 0 or room <= 0:
            return
