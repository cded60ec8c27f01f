"""Source of rows in CSV files (Flink: ``FileSource`` with ``CsvReaderFormat``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import Types
from firesteel.connectors.files.file_bytes import ByteSource, check_encoding, has_plain_line_ends
from firesteel.connectors.files.line_blocks import (
    CHUNK_RECORDS,
    OpenText,
    first_block_bytes,
    first_line,
    line_blocks,
    text_files,
)
from firesteel.connectors.files.lines import Lines, split_lines
from firesteel.connectors.files.source import FilesSource
from firesteel.connectors.files.splits import FileRange
from firesteel.formats.csv_columns import Column, column_converter
from firesteel.formats.csv_records import CsvDialect, CsvParseError, Records, parse_records
from firesteel.formats.csv_rows import BadField, RowDecoder
from firesteel.program.bad_records import BadRecord
from firesteel.program.sources import Chunk, Chunks, ReadRange, SourceReader

_HEADERS: Final = ("none", "skip", "check")
_COUNT_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV file is read.

    ``header`` is ``"none"``, ``"skip"`` to skip the first line, or ``"check"`` to check that it names the
    columns in order. With ``ignore_parse_errors`` a field that does not match its type becomes None and a
    line that is not valid CSV is skipped; both are counted.
    """

    columns: tuple[Column, ...]
    dialect: CsvDialect = field(default_factory=CsvDialect)
    header: Literal["none", "skip", "check"] = "none"
    null_literal: str | None = None
    ignore_parse_errors: bool = False
    as_rows: bool = True  # False: tuples
    encoding: str = "utf-8"
    multiline: bool = True  # False: no quoted field spans lines, so a file can be read in ranges

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
            column_converter(column)  # rejects a type that CSV cannot represent


@dataclass(frozen=True, slots=True)
class CsvFileSource(FilesSource):
    """Reads the rows of CSV files; paths, watching and compression are as in ``TextFileSource``.
    ``split_bytes`` requires files in which no field spans lines (``CsvFormat.multiline`` is False)."""

    paths: tuple[str, ...]
    format: CsvFormat
    discovery_interval_ms: int | None = None
    split_bytes: int | None = None

    def __post_init__(self) -> None:
        super(CsvFileSource, self).__post_init__()
        if self.split_bytes is not None and self.format.multiline:
            raise ConfigurationError(
                "a CSV file cannot be read in pieces: a quoted field may span lines",
                hint="set multiline=False where no field does, or leave out split_bytes",
            )
        if self.split_bytes is not None and not has_plain_line_ends(self.format.encoding):
            raise ConfigurationError(f"CSV files in {self.format.encoding} cannot be read in pieces")

    def create_reader(self) -> SourceReader:
        return _CsvReader(self.format)


class _CsvReader(SourceReader):
    """Positions are offsets of records in the (decompressed) bytes of the file."""

    def __init__(self, format_: CsvFormat) -> None:
        self._format = format_
        if format_.as_rows:
            names = [column.name for column in format_.columns]
            self.record_type = Types.ROW_NAMED(names, [column.type for column in format_.columns])
        self._decoder = RowDecoder(
            format_.columns, format_.null_literal, format_.as_rows, format_.ignore_parse_errors
        )
        self._files = text_files(format_.encoding)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._files.read(range_, self._read)

    def _read(self, opened: OpenText, range_: ReadRange) -> Chunks:
        file: FileRange = range_.split.payload
        position: int = first_line(opened.source, file) if range_.position is None else range_.position
        records, room = range_.max_records, range_.max_bytes
        size = first_block_bytes(records, room)
        number = 1 if position == 0 else None
        while True:
            raw, last = next(line_blocks(opened.source, file, position, size))
            lines = split_lines(raw, opened.encoding)
            parsed = self._parse(lines, position == 0, last)
            if not parsed.used and lines.texts:
                size *= 2  # one record is longer than the block
                continue
            block = _Block(opened, file.path, position, number, lines, parsed)
            if not self._format.multiline:
                block.refuse_records_of_lines()
            start = self._skip_header(block) if position == 0 else 0
            room -= len(raw)
            complete = False
            while not complete and records > 0:
                stop = min(start + CHUNK_RECORDS, len(parsed.rows), start + records)
                complete = stop == len(parsed.rows)
                values, bad, ignored = self._decode(block, start, stop)
                records -= stop - start + len(bad)
                if stop > start or bad or ignored or (complete and (last or room <= 0)):
                    yield Chunk(values, None, block.pass_records(stop), last and complete, (), bad, ignored)
                start = stop
            if last or room <= 0 or records <= 0:
                return
            position, number = block.pass_records(start), block.number

    def _parse(self, lines: Lines, at_start: bool, last: bool) -> Records:
        texts, text = lines.texts, lines.text
        if at_start and text.startswith("\ufeff"):  # a byte order mark is not part of a name
            text = text[1:]
            texts = [texts[0][1:], *texts[1:]]
        return parse_records(texts, text, self._format.dialect, last)

    def _skip_header(self, block: _Block) -> int:
        """Return how many records at the start are the header, after checking it."""
        parsed = block.parsed
        if self._format.header == "none" or not (parsed.rows or parsed.errors):
            return 0
        if parsed.errors and parsed.errors[0].before == 0:
            raise CsvParseError(f"{block.path}: the header is not CSV: {parsed.errors[0].error}")
        names = [column.name for column in self._format.columns]
        if self._format.header == "check" and parsed.rows[0] != names:
            raise CsvParseError(
                f"{block.path}: the header is {parsed.rows[0]}, expected is {names}",
                hint="correct the file or the schema",
            )
        block.pass_records(1)
        return 1

    def _decode(self, block: _Block, start: int, stop: int) -> tuple[list[Any], list[BadRecord], int]:
        """Return the records of some rows, the bad records among them, and the number of ignored errors."""
        rows = block.parsed.rows
        rows = rows if stop - start == len(rows) else rows[start:stop]
        ignored = self._decoder.ignored
        bad: list[BadRecord] = []
        try:
            values = self._decoder.decode(rows)
        except BadField:
            values, fields = self._decoder.decode_each(rows)
            for field_ in fields:
                row = start + field_.row
                bad.append(block.bad_record(block.line_of(row), block.line_after(row), field_))
        passed = stop + (stop == len(block.parsed.rows))  # including what follows the last record
        lines = [e for e in block.parsed.errors if start <= e.before < passed]
        if self._format.ignore_parse_errors:
            return values, bad, self._decoder.ignored - ignored + len(lines)
        bad += (block.bad_record(e.start, e.error.line + 1, e.error, e.error.line) for e in lines)
        return values, sorted(bad, key=lambda record: record.place["line"]), 0

    def close(self) -> None:
        self._files.close()


@dataclass(slots=True)
class _Block:
    """Some lines of a file, and how far their records have been emitted. ``number`` is the number of the next
    line, counted from 1 in the file, or None if it has not been needed yet."""

    opened: OpenText
    path: str
    position: int  # of its first byte
    number: int | None
    lines: Lines
    parsed: Records
    _line: int = 0  # the first line not passed yet
    _offset: int = 0

    def refuse_records_of_lines(self) -> None:
        """Raise if a record spans lines: a range that begins inside such a record would be misread."""
        for row in range(len(self.parsed.rows)) if self.parsed.ends is not None else ():
            if self.line_after(row) - self.line_of(row) > 1:
                raise CsvParseError(
                    f"{self.path}: a quoted field spans lines",
                    detail=f"in the record {self.parsed.rows[row]!r:.200}",
                    hint="set multiline=True; the file is then read by one subtask",
                )

    def line_of(self, row: int) -> int:
        """Return the line on which a record begins, counted from 0 in the block."""
        return row if self.parsed.starts is None else self.parsed.starts[row]

    def line_after(self, row: int) -> int:
        """Return the line after a record."""
        return row + 1 if self.parsed.ends is None else self.parsed.ends[row]

    def pass_records(self, rows: int) -> int:
        """Return the position after the first ``rows`` records and any comments that follow them."""
        line = self.parsed.used if rows == len(self.parsed.rows) else self.line_after(rows - 1)
        self._offset = self.lines.offset_after(self._line, self._offset, line - self._line)
        if self.number is not None:
            self.number += line - self._line
        self._line = line
        return self.position + self._offset

    def bad_record(self, start: int, stop: int, error: ValueError, at: int | None = None) -> BadRecord:
        """Return the bad record made of the lines from ``start`` to ``stop``; ``at`` is the line of the error
        in them."""
        if self.number is None:
            self.number = line_number(self.opened.source, self.position) + self._line
        number = self.number - self._line + (start if at is None else at)
        text = "\n".join(self.lines.texts[start:stop])
        payload = text.encode(self.opened.encoding, "replace")
        return BadRecord({"path": self.path, "line": number}, payload, str(error))


def line_number(source: ByteSource, offset: int) -> int:
    """Return the number, counted from 1, of the line that begins at ``offset``."""
    ends, at, half = 1, 0, False
    while at < offset:
        data = source.read(at, min(_COUNT_BYTES, offset - at))
        if not data:
            break
        ends += data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n") - (half and data[0] == 10)
        half = data[-1] == 13
        at += len(data)
    return ends
