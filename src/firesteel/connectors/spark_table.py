"""Rows of a Spark DataFrame that was written as Parquet files (``env.from_spark``)."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.types import _make_row
from firesteel.connectors._arrow_values import column_values
from firesteel.connectors._file_splits import check_paths
from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors._splits import FixedSplits
from firesteel.connectors._storage import expand, resolve, walk
from firesteel.connectors.base import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)

_CHUNK: Final = 4096


@dataclass(frozen=True, slots=True)
class SparkTableSource(Source):
    """Each row of Parquet files as a ``Row`` with field names.

    A struct becomes a Row, a map a dict, an array a list. A timestamp becomes a ``datetime`` without a zone:
    the local time in ``time_zone`` (Spark: ``spark.sql.session.timeZone``). Bounded; one split for each file.
    """

    paths: tuple[str, ...]
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        if isinstance(self.paths, str):
            object.__setattr__(self, "paths", (self.paths,))
        object.__setattr__(self, "paths", tuple(self.paths))
        try:
            zoneinfo.ZoneInfo(self.time_zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
            raise ConfigurationError(f"unknown time zone: {self.time_zone!r}") from error

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def validate(self) -> None:
        check_paths(self.paths, watched=False)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        files = []
        for path in self.paths:
            storage, inner = resolve(path)
            for info in expand(storage, inner):
                found = walk(storage, info.path) if info.is_dir else (info,)
                files += [file.path for file in found if file.path.endswith(".parquet")]
        return FixedSplits([Split(path) for path in files])

    def create_reader(self) -> SourceReader:
        return _ParquetReader(self.time_zone)


class _ParquetReader(SourceReader):
    """A position is (row group, row in it)."""

    def __init__(self, time_zone: str) -> None:
        self._zone = zoneinfo.ZoneInfo(time_zone)
        self._files = OpenFiles(_ParquetFile)

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        with self._files.use(range_.split) as file:
            yield from file.read(range_, self._zone)

    def close(self) -> None:
        self._files.close()


class _ParquetFile:
    """An open file, and the row group of it that was read last."""

    def __init__(self, split: Split) -> None:
        import pyarrow.parquet as pq

        storage, inner = resolve(split.id)
        self._stream = storage.open_input(inner)
        self._file = pq.ParquetFile(self._stream)
        self._group: tuple[int, Any] | None = None

    def close(self) -> None:
        self._stream.close()

    def _row_group(self, number: int) -> Any:
        if self._group is None or self._group[0] != number:
            self._group = (number, self._file.read_row_group(number))
        return self._group[1]

    def read(self, range_: ReadRange, zone: zoneinfo.ZoneInfo) -> Iterator[Chunk]:
        metadata = self._file.metadata
        group, row = range_.position or (0, 0)
        records, room = range_.max_records, range_.max_bytes
        names = list(self._file.schema_arrow.names)
        while group < metadata.num_row_groups and records > 0 and room > 0:
            rows = metadata.row_group(group).num_rows
            if row >= rows:
                group, row = group + 1, 0
                continue
            row_bytes = max(1, metadata.row_group(group).total_byte_size // rows)
            take = min(_CHUNK, rows - row, records, max(1, room // row_bytes))
            part = self._row_group(group).slice(row, take)
            columns = [column_values(column, zone) for column in part.columns]
            values = [_make_row(fields, names) for fields in map(list, zip(*columns, strict=True))]
            records -= take
            room -= take * row_bytes
            row += take
            end = row == rows and all(
                metadata.row_group(g).num_rows == 0 for g in range(group + 1, metadata.num_row_groups)
            )
            yield Chunk(values, None, (group, row), end)
            if end:
                return
        if group >= metadata.num_row_groups:
            yield Chunk([], None, (group, 0), True)
