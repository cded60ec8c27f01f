"""Rows of CSV files (Flink: ``FileSource`` with ``CsvReaderFormat``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.connectors._bytes import ByteSource, check_encoding
from firesteel.connectors._file_splits import FileEnumerator, FileRange, check_options, check_paths
from firesteel.connectors._line_blocks import (
    CHUNK_RECORDS,
    OpenText,
    first_block_bytes,
    line_blocks,
    text_files,
)
from firesteel.connectors._lines import Lines, split_lines
from firesteel.connectors.base import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    SplitEnumerator,
)
from firesteel.formats._csv_columns import Column, column_converter
from firesteel.formats._csv_records import CsvDialect, Records, parse_records
from firesteel.formats._csv_rows import BadField, RowDecoder

_HEADERS: Final = ("none", "skip", "check")
_COUNT_BYTES: Final = 1 << 20


class CsvParseError(FiresteelError, ValueError):
    """A line of a CSV file is not what the schema says."""


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV file is read.

    ``header``: ``"none"``, ``"skip"`` the first line, or ``"check"`` that it names the columns in their
    order. ``ignore_parse_errors``: a field that does not fit its type becomes None, a line that is no CSV is
    left out; both are counted.
    """

    columns: tuple[Column, ...]
    dialect: CsvDialect = field(default_factory=CsvDialect)
    header: Literal["none", "skip", "check"] = "none"
    null_literal: str | None = None
    ignore_parse_errors: bool = False
    as_rows: bool = True  # False: tuples
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "encoding", check_encoding(self.encoding))
        if not self.columns:
            raise ConfigurationError("a CSV format needs at least one column")
        if self.header not in _HEADERS:
            raise ConfigurationError(
                f"the header option of a CSV format is none of {_HEADERS}: {self.header!r}"
            )
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ConfigurationError(f"the columns of a CSV format do not have different names: {names}")
        for column in self.columns:
            column_converter(column)  # refuses a type that CSV cannot have


@dataclass(frozen=True, slots=True)
class CsvFileSource(Source):
    """The rows of CSV files; paths, watching and compression as ``TextFileSource`` has them."""

    paths: tuple[str, ...]
    format: CsvFormat
    discovery_interval_ms: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.paths, str):
            object.__setattr__(self, "paths", (self.paths,))
        object.__setattr__(self, "paths", tuple(self.paths))
        check_options(self.paths, self.discovery_interval_ms, None)

    @property
    def boundedness(self) -> Boundedness:
        watched = self.discovery_interval_ms is not None
        return Boundedness.CONTINUOUS_UNBOUNDED if watched else Boundedness.BOUNDED

    def validate(self) -> None:
        check_paths(self.paths, self.discovery_interval_ms is not None)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return FileEnumerator(self.paths, self.discovery_interval_ms, None)

    def create_reader(self) -> SourceReader:
        return _CsvReader(self.format)


class _CsvReader(SourceReader):
    """A position is the offset of a record in the (decompressed) bytes of its file."""

    def __init__(self, format_: CsvFormat) -> None:
        self._format = format_
        self._decoder = RowDecoder(
            format_.columns, format_.null_literal, format_.as_rows, format_.ignore_parse_errors
        )
        self._files = text_files(format_.encoding)
        self._skipped = 0

    @property
    def ignored(self) -> int:
        """How many fields and lines were left out because of ``ignore_parse_errors``."""
        return self._skipped + self._decoder.ignored

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        with self._files.use(range_.split) as opened:
            yield from self._read(opened, range_)

    def _read(self, opened: OpenText, range_: ReadRange) -> Iterator[Chunk]:
        source, encoding = opened.source, opened.encoding
        file: FileRange = range_.split.payload
        position: int = range_.position or 0
        records, room = range_.max_records, range_.max_bytes
        size = first_block_bytes(records, room)
        while True:
            raw, last = next(line_blocks(source, file, position, size))
            block = _Block(file.path, source, position, last, split_lines(raw, encoding))
            parsed = self._parse(block)
            if not parsed.used and block.lines.texts and parsed.error is None:
                size *= 2  # one record is longer than the block
                continue
            first = self._header_rows(parsed, block)
            start, offset = first, block.offset_of(parsed, 0, 0, first)
            while start < len(parsed.rows) and records > 0:
                take = min(CHUNK_RECORDS, len(parsed.rows) - start, records)
                values = self._decode(parsed, start, take, block, offset)
                offset = block.offset_of(parsed, start, offset, take)
                start += take
                records -= take
                end = last and start == len(parsed.rows) and parsed.error is None
                yield Chunk(values, None, position + offset, end)
            if records <= 0 and start > first:
                return
            if parsed.error is not None:
                self._fail(block, parsed.error.line, str(parsed.error))
            position += block.lines.offset_after(0, 0, parsed.used)
            room -= len(raw)
            if last:
                if start == first:
                    yield Chunk([], None, position, True)
                return
            if room <= 0:
                if start == first:  # only a header or comments, but we came further
                    yield Chunk([], None, position)
                return

    def _parse(self, block: _Block) -> Records:
        lines, format_ = block.lines, self._format
        texts, text = lines.texts, lines.text
        if block.position == 0 and text.startswith("\ufeff"):  # a byte order mark is no part of a name
            text = text[1:]
            texts = [texts[0][1:], *texts[1:]]
        parsed = parse_records(texts, text, format_.dialect, block.last, format_.ignore_parse_errors)
        self._skipped += parsed.skipped
        return parsed

    def _header_rows(self, parsed: Records, block: _Block) -> int:
        """How many records at the start are the header; checks it."""
        if self._format.header == "none" or block.position > 0 or not parsed.rows:
            return 0
        names = [column.name for column in self._format.columns]
        if self._format.header == "check" and parsed.rows[0] != names:
            self._fail(block, 0, f"the header is {parsed.rows[0]}, expected is {names}")
        return 1

    def _decode(self, parsed: Records, start: int, count: int, block: _Block, offset: int) -> list[object]:
        whole = start == 0 and count == len(parsed.rows)
        try:
            return self._decoder.decode(parsed.rows if whole else parsed.rows[start : start + count])
        except BadField as bad:
            row = start + bad.row
            line = row if parsed.ends is None else (parsed.ends[row - 1] if row else 0)
            where = "" if bad.column is None else f"column {bad.column!r}, value {bad.text!r}: "
            self._fail(block, line, f"{where}{bad}")

    def _fail(self, block: _Block, line: int, reason: str) -> NoReturn:
        number = line_number(block.source, block.position) + line
        raise CsvParseError(
            f"{block.path}, line {number}: {reason}",
            hint="correct the file or the schema, or set ignore_parse_errors",
        )

    def close(self) -> None:
        self._files.close()


@dataclass(frozen=True, slots=True)
class _Block:
    path: str
    source: ByteSource
    position: int  # of its first byte
    last: bool
    lines: Lines

    def offset_of(self, parsed: Records, start: int, offset: int, count: int) -> int:
        """The offset in the block after ``count`` records from record ``start`` on, which begins at
        ``offset``."""
        if not count:
            return offset
        ends, end = parsed.ends, start + count
        if end == len(parsed.rows) and parsed.error is None:
            line = parsed.used  # with the comments after it
        else:
            line = end if ends is None else ends[end - 1]
        first = start if ends is None else (ends[start - 1] if start else 0)
        return self.lines.offset_after(first, offset, line - first)


def line_number(source: ByteSource, offset: int) -> int:
    """The number of the line that begins at an offset, counted from 1."""
    ends, at, half = 1, 0, False
    while at < offset:
        data = source.read(at, min(_COUNT_BYTES, offset - at))
        if not data:
            break
        ends += data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n") - (half and data[0] == 10)
        half = data[-1] == 13
        at += len(data)
    return ends
