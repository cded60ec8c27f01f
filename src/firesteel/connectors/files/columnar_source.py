"""Source of Parquet and ORC files that reads selected columns (Flink: ``FileSource`` with
``ParquetColumnarRowInputFormat``, ``OrcColumnarRowInputFormat``, ``AvroParquetReaders``)."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common._map_all import map_all
from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import RowTypeInfo, TypeInformation
from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors.files.columnar_files import Columns, OpenBlocks
from firesteel.connectors.files.source import FilesSource
from firesteel.formats.arrow_values import MakeRecord, from_arrow_converter, make_dict, make_row, records
from firesteel.formats.avro_columns import avro_columns
from firesteel.formats.avro_schema import Convert
from firesteel.program.sources import (
    Chunk,
    Chunks,
    ReadRange,
    SourceReader,
    Split,
)

_CHUNK: Final = 4096


@dataclass(frozen=True, slots=True)
class ColumnarFileSource(FilesSource):
    """Reads Parquet or ORC files as ``Row`` with the names of the columns, or as generic records.

    A struct becomes the same as a row, a map a dict and an array a list. A timestamp with a time zone becomes
    a naive ``datetime`` in ``time_zone``, or a ``datetime`` in UTC if that is None. Paths and watching are
    those of ``FilesSource``. ``split_bytes`` cuts files between row groups or stripes. ``avro`` is the text
    of the schema of generic records; None reads rows.
    """

    paths: tuple[str, ...]
    columns: Columns
    time_zone: str | None = "UTC"
    avro: str | None = None
    discovery_interval_ms: int | None = None
    split_bytes: int | None = None
    record_type: TypeInformation | None = None  # of the columns, if known

    def __post_init__(self) -> None:
        super(ColumnarFileSource, self).__post_init__()
        try:
            zoneinfo.ZoneInfo(self.time_zone or "UTC")
        except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
            raise ConfigurationError(f"unknown time zone: {self.time_zone!r}") from error

    def create_reader(self) -> SourceReader:
        if self.avro is not None:
            return _ColumnarReader(self.columns, self.time_zone, make_dict, avro_columns(self.avro).read)
        reader = _ColumnarReader(self.columns, self.time_zone, make_row)
        if isinstance(self.record_type, RowTypeInfo):
            reader.set_types(self.record_type.get_field_types())
        reader.record_type = self.record_type
        return reader


class _ColumnarReader(SourceReader):
    """Positions are (block, row in the block)."""

    def __init__(self, columns: Columns, zone: str | None, make: MakeRecord, convert: Convert = None) -> None:
        self._columns = columns
        self._zone = zone
        self._make = make
        self._convert = convert
        self._typed: dict[int, Callable[[Any], Any]] = {}  # columns that hold instants
        self._files = OpenFiles(self._open)

    def set_types(self, types: Sequence[TypeInformation]) -> None:
        """Set the declared types of the columns: in a file an instant looks like a timestamp."""
        zone = zoneinfo.ZoneInfo(self._zone or "UTC")
        converters = {number: from_arrow_converter(type_, zone) for number, type_ in enumerate(types)}
        self._typed = {number: convert for number, convert in converters.items() if convert is not None}

    def _open(self, split: Split) -> OpenBlocks:
        return OpenBlocks(self._columns, split.payload)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._files.read(range_, self._read)

    def _read(self, file: OpenBlocks, range_: ReadRange) -> Chunks:  # hot
        first, row = range_.position or (0, 0)
        count, room = range_.max_records, range_.max_bytes
        for block in [number for number in file.blocks if number >= first]:
            table = file.table(block)
            rows = table.num_rows
            start = row if block == first else 0
            row_bytes = max(1, table.nbytes // max(1, rows))
            while start < rows:
                if count <= 0 or room <= 0:
                    return
                take = min(_CHUNK, rows - start, count, max(1, room // row_bytes))
                values = self._values(table.slice(start, take))
                start += take
                count -= take
                room -= take * row_bytes
                end = start == rows and block == file.blocks[-1]
                yield Chunk(values, None, (block, start), end)
                if end:
                    return
        yield Chunk([], None, (file.blocks[-1] + 1 if file.blocks else 0, 0), True)

    def _values(self, table: Any) -> list[Any]:
        found = records(table, self._names(table), self._zone, self._make, self._typed)
        return found if self._convert is None else map_all(self._convert, found)

    def _names(self, table: Any) -> list[str]:
        names: list[str] = table.column_names
        return names

    def close(self) -> None:
        self._files.close()
