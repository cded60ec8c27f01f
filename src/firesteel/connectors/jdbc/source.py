"""Reads the rows of a query, in partitions that are read in parallel (Flink: ``JdbcSource``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.common.types import _make_row
from firesteel.connectors._column_families import family
from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors._splits import FixedSplits
from firesteel.connectors.jdbc.databases import Database, check_columns, database_of
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.connectors.jdbc.statements import Statement, parse
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    Chunks,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)

_CHUNK: Final = 1000
_FIELD_BYTES: Final = 16  # estimate for values that are neither text nor bytes


@dataclass(frozen=True, slots=True)
class JdbcQuerySource(Source):
    """Runs a query once for each set of ``parameters``; each is a split.

    The rows of a split are ordered by all their columns, so they come in the same order on every read. A
    position is the number of rows read. The table must not change while it is being read.
    """

    query: str
    row_type: RowTypeInfo
    connection: ConnectionOptions
    parameters: tuple[tuple[Any, ...], ...] = ((),)
    fetch_size: int = _CHUNK

    def __post_init__(self) -> None:
        wanted = parse(self.query).parameters
        for given in self.parameters:
            if len(given) != wanted:
                raise ConfigurationError(
                    f"The query has {wanted} parameters, and {len(given)} are given.",
                    detail=f"given are {given!r}; the query: {self.query}",
                    hint="a JdbcNumericBetweenParametersProvider gives two: BETWEEN ? AND ?",
                )
        for type_info in self.row_type.get_field_types():
            family(type_info)
        database_of(self.connection)

    @property
    def produced_type(self) -> RowTypeInfo:
        return self.row_type

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def description(self) -> str:
        return "JDBC"

    def validate(self) -> None:
        """Have the database check the query and describe its columns."""
        database = database_of(self.connection)
        connection = database.connect()
        try:
            scan = _ordered(self.query, len(self.row_type.get_field_types()))
            sql = database.sql(Statement(f"{scan.sql} LIMIT 0", scan.parameters))
            plain = database.sql(parse(f"SELECT * FROM ({parse(self.query).sql}) AS t LIMIT 0"))
            for given in self.parameters[:1]:
                found = database.columns(connection, plain, given)
                check_columns(found, self.row_type.get_field_types(), self.query)
                database.columns(connection, sql, given)
        finally:
            connection.close()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return FixedSplits(
            [Split(f"partition-{i}", given) for i, given in enumerate(self.parameters)], in_turn=True
        )

    def create_reader(self) -> SourceReader:
        return _JdbcReader(self)


def _ordered(query: str, columns: int) -> Statement:
    numbers = ", ".join(str(number) for number in range(1, columns + 1))
    inner = parse(query)
    return Statement(f"SELECT * FROM ({inner.sql}) AS t ORDER BY {numbers}", inner.parameters)


class _Scan:
    """A scan over the rows of a split. Continuing at the current position is free; any other position costs a
    query."""

    def __init__(self, source: JdbcQuerySource, database: Database, split: Split) -> None:
        self._database = database
        self._split = split
        self._fetch_size = source.fetch_size
        self._scan = _ordered(source.query, len(source.row_type.get_field_types()))
        self._position = -1
        self._connection: Any = None
        self._cursor: Any = None

    def go_to(self, position: int) -> None:
        """Move to ``position``, the number of rows before it."""
        if position != self._position:
            self.close()
            sql = f"{self._scan.sql} LIMIT {1 << 62} OFFSET {position}"
            rendered = self._database.sql(Statement(sql, self._scan.parameters))
            connection = self._database.connect()
            try:
                self._cursor = self._database.rows(
                    connection, rendered, self._split.payload, self._fetch_size
                )
            except BaseException:
                connection.close()
                raise
            self._connection, self._position = connection, position

    def fetch(self, count: int) -> list[Sequence[Any]]:
        rows: list[Sequence[Any]] = self._cursor.fetchmany(count)
        self._position += len(rows)
        return rows

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._cursor.close()
            connection.close()


class _JdbcReader(SourceReader):
    def __init__(self, source: JdbcQuerySource) -> None:
        database = database_of(source.connection)
        self._names = source.row_type.get_field_names()
        self._convert = _row_converter(source.row_type, database)
        self._scans = OpenFiles(partial(_Scan, source, database))

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._scans.read(range_, self._read)

    def _read(self, scan: _Scan, range_: ReadRange) -> Chunks:  # hot
        position = range_.position or 0
        scan.go_to(position)
        records, room = range_.max_records, range_.max_bytes
        names, convert = self._names, self._convert
        while records > 0 and room > 0:
            wanted = min(_CHUNK, records)
            rows = scan.fetch(wanted)
            position += len(rows)
            records -= len(rows)
            room -= _size(rows)
            ended = len(rows) < wanted
            yield Chunk([_make_row(convert(row), names) for row in rows], None, position, ended)
            if ended:
                return

    def close(self) -> None:
        self._scans.close()


def _size(rows: Sequence[Sequence[Any]]) -> int:
    """Estimate the size in bytes, assuming that the rows of a chunk are similar."""
    if not rows:
        return 0
    one = sum(len(v) if isinstance(v, (str, bytes)) else _FIELD_BYTES for v in rows[0])
    return one * len(rows)


def _row_converter(row_type: RowTypeInfo, database: Database) -> Callable[[Sequence[Any]], list[Any]]:
    read = database.read
    converters = [read.get(family(type_info)) for type_info in row_type.get_field_types()]
    if not any(converters):
        return list
    return lambda row: [
        value if convert is None or value is None else convert(value)
        for convert, value in zip(converters, row, strict=True)
    ]


def between(low: int, high: int, batches: int) -> tuple[tuple[int, int], ...]:
    """Split ``[low, high]`` into ``batches`` consecutive ranges with inclusive bounds, longer ones first.

    (Flink: ``JdbcNumericBetweenParametersProvider``.)
    """
    count = high - low + 1
    length, extra = divmod(count, min(batches, count))
    ranges, start = [], low
    for number in range(min(batches, count)):
        end = start + length + (number < extra) - 1
        ranges.append((start, end))
        start = end + 1
    return tuple(ranges)
