"""Source of files with one JSON value per line (Flink: the format ``json`` of its filesystem connector)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.files.csv_source import line_number
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
from firesteel.connectors.files.splits import FileRange
from firesteel.formats.json_rows import json_decoder, json_elements_decoder
from firesteel.formats.json_structs import struct_lines_decoder
from firesteel.program.bad_records import BadRecord, bad_record
from firesteel.program.sources import (
    Chunk,
    Chunks,
    ReadRange,
    SourceReader,
)


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """How a line is read: the fields of ``type_info`` are looked up in it, and others are ignored. A line
    that is an array has a record of each of its elements.

    A field missing from a line becomes None or makes it a bad record. With ``ignore_parse_errors`` bad
    records are skipped and counted. Files are in UTF-8; blank lines are not records.
    """

    type_info: TypeInformation
    fail_on_missing_field: bool = False
    ignore_parse_errors: bool = False

    def __post_init__(self) -> None:
        if self.fail_on_missing_field and self.ignore_parse_errors:
            raise ConfigurationError(
                "a JSON format cannot both fail on missing fields and ignore parse errors"
            )
        json_decoder(self.type_info)  # rejects a type that JSON cannot represent


@dataclass(frozen=True, slots=True)
class JsonFileSource(FilesSource):
    """Reads one record per line; paths, watching, compression and ranges are as in ``TextFileSource``."""

    paths: tuple[str, ...]
    format: JsonFormat
    discovery_interval_ms: int | None = None
    split_bytes: int | None = None

    def create_reader(self) -> SourceReader:
        return _JsonReader(self.format)


class _JsonReader(SourceReader):
    """Positions are offsets of lines in the (decompressed) bytes of the file."""

    def __init__(self, format_: JsonFormat) -> None:
        self._format = format_
        self.record_type = format_.type_info
        self._files = text_files("utf-8")
        self._decode_lines: Callable[[bytes], list[Any]] | None = None
        self._decode: Callable[[bytes], Sequence[Any]] | None = None

    def open(self) -> None:
        options = self._format.type_info, self._format.fail_on_missing_field
        self._decode_lines = struct_lines_decoder(*options)
        self._decode = json_elements_decoder(*options)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._files.read(range_, self._read)

    def _read(self, opened: OpenText, range_: ReadRange) -> Chunks:  # hot
        file: FileRange = range_.split.payload
        position: int = first_line(opened.source, file) if range_.position is None else range_.position
        count, room = range_.max_records, range_.max_bytes
        size = first_block_bytes(count, room)
        for block, last in line_blocks(opened.source, file, position, size):
            room -= len(block)
            start = 0
            while start < len(block) and count > 0:
                lines, taken = some_lines(block, start, min(CHUNK_RECORDS, count))
                values, bad, ignored = self._records(lines, opened, file.path, position)
                start += len(lines)
                position += len(lines)
                count -= taken
                end = last and start == len(block)
                yield Chunk(values, None, position, end, (), bad, ignored)
            if last and not block:
                yield Chunk([], None, position, True)
            if count <= 0 or room <= 0:
                return

    def _records(
        self, lines: bytes, opened: OpenText, path: str, position: int
    ) -> tuple[list[Any], list[BadRecord], int]:
        if self._decode_lines is not None:
            try:
                return self._decode_lines(lines), [], 0
            except (ValueError, RecursionError):
                pass  # decode them one by one
        decode = self._decode
        assert decode is not None, "a reader is opened before it reads"
        values: list[Any] = []
        bad: list[BadRecord] = []
        first = None
        for number, text in enumerate(split_lines(lines, "utf-8").texts):
            if not text.strip():
                continue
            line = text.encode()
            try:
                values += decode(line)
            except ValueError as error:
                if first is None:
                    first = line_number(opened.source, position)
                place = {"path": path, "line": first + number}
                bad.append(bad_record(place, line, error))
        return (values, [], len(bad)) if self._format.ignore_parse_errors else (values, bad, 0)

    def close(self) -> None:
        self._files.close()


def some_lines(block: bytes, start: int, most: int) -> tuple[bytes, int]:
    """Return the first lines of a block of whole lines, at most ``most``, and how many they are."""
    rest = block[start:] if start else block
    if b"\r" not in rest:
        import numpy as np  # tasks have it with Arrow

        ends = np.flatnonzero(np.frombuffer(rest, np.uint8) == ord("\n"))
        count = len(ends) + (not rest.endswith(b"\n"))
        return (rest, count) if count <= most else (rest[: ends[most - 1] + 1] if most else b"", most)
    lines = split_lines(rest, "utf-8")
    count = min(most, len(lines.texts))
    return rest[: lines.offset_after(0, 0, count)], count
