"""Records of Parquet and ORC files, some columns of them (Flink: ``FileSource`` with
``ParquetColumnarRowInputFormat``, ``OrcColumnarRowInputFormat``, ``AvroParquetReaders``)."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors._arrow_values import MakeRecord, make_dict, make_row, records
from firesteel.connectors._columnar_files import ColumnarReadError, Columns, OpenBlocks
from firesteel.connectors._file_source import FilesSource
from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors.base import (
    Chunk,
    ReadRange,
    SourceReader,
    Split,
)

__all__ = ["ColumnarFileSource", "ColumnarReadError", "Columns"]

_CHUNK: Final = 4096


@dataclass(frozen=True, slots=True)
class ColumnarFileSource(FilesSource):
    """The rows of Parquet or ORC files, as ``Row`` with the names of the columns, or as dicts.

    A struct becomes what a row becomes, a map a dict, an array a list, a timestamp with a zone the local time
    in ``time_zone`` as a ``datetime`` without one, or a ``datetime`` in UTC where that is None. Paths and
    watching are those of ``FilesSource``; ``split_bytes`` cuts files between row groups or stripes.
    """

    paths: tuple[str, ...]
    columns: Columns
    time_zone: str | None = "UTC"
    as_rows: bool = True
    discovery_interval_ms: int | None = None
    split_bytes: int | None = None
    record_type: TypeInformation | None = None  # of the columns, where it is known

    def __post_init__(self) -> None:
        super(ColumnarFileSource, self).__post_init__()
        try:
            zoneinfo.ZoneInfo(self.time_zone or "UTC")
        except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
            raise ConfigurationError(f"unknown time zone: {self.time_zone!r}") from error

    def create_reader(self) -> SourceReader:
        make = make_row if self.as_rows else make_dict
        reader = _ColumnarReader(self.columns, self.time_zone, make)
        reader.record_type = self.record_type
        return reader


class _ColumnarReader(SourceReader):
    """A position is (block, row in it)."""

    def __init__(self, columns: Columns, zone: str | None, make: MakeRecord) -> None:
        self._columns = columns
        self._zone = zone
        self._make = make
        self._files = OpenFiles(self._open)

    def _open(self, split: Split) -> OpenBlocks:
        return OpenBlocks(self._columns, split.payload)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:  # hot
        with self._files.use(range_.split) as file:
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
        return records(table, self._names(table), self._zone, self._make)

    def _names(self, table: Any) -> list[str]:
        names: list[str] = table.column_names
        return names

    def close(self) -> None:
        self._files.close()
