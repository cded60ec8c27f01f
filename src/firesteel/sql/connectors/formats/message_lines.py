"""Files whose lines are messages: for formats that know nothing of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Final

from firesteel.common.columns import Columns, as_values
from firesteel.connectors.files.line_blocks import OpenText, first_line, line_blocks, text_files
from firesteel.connectors.files.splits import FileRange
from firesteel.program.bad_records import bad_record
from firesteel.program.sources import Chunk, Chunks, ReadRange, SourceReader
from firesteel.sql.connectors.formats.lines import LinesEncoder
from firesteel.sql.connectors.formats.messages import MessageReader
from firesteel.sql.connectors.formats.registry import FormatOptions, MessageFormat
from firesteel.sql.types import RowType

__all__ = ["MessageLines", "in_lines"]

_BLOCK: Final = 1 << 20
_SMALL: Final = 4 << 10


@dataclass(frozen=True, slots=True)
class MessageLines:
    """:param messages: the format of a line."""

    messages: MessageFormat

    @property
    def kinds(self) -> frozenset[str]:
        return self.messages.kinds

    def reader(self, row: RowType, columns: tuple[int, ...]) -> SourceReader:
        return _Reader(self.messages.message_reader(row, columns))

    def writer(self, row: RowType) -> LinesEncoder:
        return LinesEncoder(partial(_line_writer, self.messages, row))


def in_lines(make: Callable[[FormatOptions], MessageFormat]) -> Callable[[FormatOptions], MessageLines]:
    """Return what makes the format of files of a format of messages."""
    return partial(_made, make)


def _made(make: Callable[[FormatOptions], MessageFormat], options: FormatOptions) -> MessageLines:
    return MessageLines(make(options))


def _line_writer(format_: MessageFormat, row: RowType) -> Callable[[Columns], bytes]:
    write = format_.message_writer(row)
    return lambda columns: b"".join([(message or b"") + b"\n" for message in write(columns)])


class _Reader(SourceReader):
    """:param messages: reads lines without their ends."""

    def __init__(self, messages: MessageReader) -> None:
        self._messages = messages
        self._files = text_files("utf-8")

    def open(self) -> None:
        self._messages.open()

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._files.read(range_, self._read)

    def _read(self, opened: OpenText, range_: ReadRange) -> Chunks:
        file: FileRange = range_.split.payload
        position: int = first_line(opened.source, file) if range_.position is None else range_.position
        count, room = range_.max_records, range_.max_bytes
        while count > 0 and room > 0:
            size = max(_SMALL, min(_BLOCK, room, count * 256))
            block, is_last = next(line_blocks(opened.source, file, position, size))
            lines = block.split(b"\n")
            if not lines[-1]:
                lines.pop()
            is_last = is_last and len(lines) <= count
            lines = lines[:count]
            length = min(len(block), sum(map(len, lines)) + len(lines))  # the last line may have no end
            yield self._chunk(file, lines, position, position + length, is_last)
            if is_last:
                return
            position += length
            count -= len(lines)
            room -= max(1, length)

    def _chunk(self, file: FileRange, lines: list[bytes], start: int, end: int, is_last: bool) -> Chunk:
        if not lines:
            return Chunk([], None, end, is_last)
        found = self._messages.read([line.removesuffix(b"\r") for line in lines])
        bad: list[Any] = []
        if found.bad:
            offsets = list(accumulate((len(line) + 1 for line in lines), initial=start))
            bad = [
                bad_record({"path": file.path, "offset": offsets[i]}, lines[i], error)
                for i, error in found.bad
            ]
        return Chunk(as_values(found.columns), None, end, is_last, bad=bad, ignored=found.ignored)

    def close(self) -> None:
        self._files.close()
