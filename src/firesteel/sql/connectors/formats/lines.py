"""Files of lines as columns: whole blocks at once, and what is unusual line by line.

A format gives two ways to read: a function from a block of lines to columns, which gives None where it is not
sure, and the reader of rows that streams have for such files, which then reads the block instead. Both have
the same positions, so that one goes on where the other stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, Final, NamedTuple

from firesteel.common.columns import Columns, as_values
from firesteel.common.serialization import Encoder
from firesteel.connectors._read_ahead import ReadAhead
from firesteel.connectors.files.json_source import some_lines
from firesteel.connectors.files.line_blocks import OpenText, first_line, line_blocks, text_files
from firesteel.connectors.files.splits import FileRange
from firesteel.program.sources import Chunk, Chunks, ReadRange, SourceReader
from firesteel.sql.operators.convert import columns_of
from firesteel.sql.types import RowType

__all__ = ["LinesEncoder", "LinesReader", "ReadBlock"]

ReadBlock = Callable[[bytes], Columns | None]

_BLOCK: Final = 2 << 20
_SMALL: Final = 4 << 10
_TRIES: Final = 3  # blocks in a row that are not usual, before it is not tried any more


class _Block(NamedTuple):
    """:ivar columns: None: it is to be read line by line. :ivar position: behind it."""

    lines: bytes
    columns: Columns | None
    position: int
    is_last: bool


class LinesReader(SourceReader):
    """:param rows: reads the same files as rows of *row*. :param columns: the wanted ones of *row*."""

    def __init__(
        self, read_block: ReadBlock, rows: SourceReader, row: RowType, columns: tuple[int, ...]
    ) -> None:
        self._read_block = read_block
        self._rows = rows
        self._row = row
        self._columns = columns
        self._files = text_files("utf-8")
        self._tries = _TRIES
        self._ahead = ReadAhead()

    def open(self) -> None:
        self._rows.open()

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._files.read(range_, self._read)

    def _read(self, opened: OpenText, range_: ReadRange) -> Chunks:  # hot
        file: FileRange = range_.split.payload
        position: int = first_line(opened.source, file) if range_.position is None else range_.position
        count, room = range_.max_records, range_.max_bytes
        while count > 0 and room > 0:
            unusual = 0  # bytes of a block that is to be read line by line
            if self._tries:
                blocks = self._ahead.of(self._blocks(opened, file, position, count, room))
                with closing(blocks):
                    for block in blocks:
                        if block.columns is not None and len(block.columns) > count:
                            lines, _ = some_lines(block.lines, 0, count)
                            block = self._block(lines, position + len(lines), False)
                        if block.columns is None:
                            self._tries -= 1
                            unusual = block.position - position
                            break
                        self._tries = _TRIES
                        count -= len(block.columns)
                        room -= max(1, block.position - position)
                        position = block.position
                        yield Chunk(as_values(block.columns), None, position, block.is_last)
                        if block.is_last or count <= 0:
                            return
                    else:
                        continue  # there were fewer lines than was thought
            before, most = position, min(room, unusual) if self._tries else room
            for chunk in self._as_rows(ReadRange(range_.split, position, count, max(1, most))):
                position = chunk.position
                count -= len(chunk.values) + len(chunk.bad) + chunk.ignored
                yield chunk
                if chunk.end:
                    return
            room -= max(1, position - before)

    def _blocks(
        self, opened: OpenText, file: FileRange, position: int, count: int, room: int
    ) -> Iterator[Callable[[], _Block]]:
        """Cut the file into blocks, up to the first that no byte is left for, and probably no record: how
        many lines a block has, its columns say. To count them would keep the other threads from work. What
        is yielded reads a block."""
        while count > 0 and room > 0:
            size = max(_SMALL, min(_BLOCK, room, count * 256))
            block, is_last = next(line_blocks(opened.source, file, position, size))
            position += len(block)
            yield partial(self._block, block, position, is_last)
            if is_last:
                return
            room -= max(1, len(block))
            count -= len(block) * block.count(b"\n", 0, _SMALL) // min(_SMALL, max(1, len(block)))

    def _block(self, lines: bytes, position: int, is_last: bool) -> _Block:
        return _Block(lines, self._read_block(lines), position, is_last)

    def _as_rows(self, range_: ReadRange) -> Iterator[Chunk]:
        for chunk in self._rows.read(range_):
            every = columns_of(chunk.values, self._row)
            chosen = every.with_arrays([every.arrays[c] for c in self._columns])
            yield chunk._replace(values=as_values(chosen))

    def close(self) -> None:
        self._ahead.close()
        self._files.close()
        self._rows.close()


class LinesEncoder(Encoder):
    """Writes columns as lines. :param make: the function from columns to whole lines, made in tasks."""

    def __init__(self, make: Callable[[], Callable[[Columns], bytes]]) -> None:
        self._make = make
        self._encode: Callable[[Columns], bytes] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_make": self._make, "_encode": None}

    def encode(self, element: Any) -> bytes:
        return self.encode_batch(element)

    def encode_batch(self, elements: Any) -> bytes:
        if self._encode is None:
            self._encode = self._make()
        return self._encode(elements)
