"""``parquet`` and ``orc``: files that are columns already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, Final

import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.serialization import BulkWriter, BulkWriterFactory
from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors.files import columnar_files as files
from firesteel.connectors.files.columnar_writers import ORC_CODECS, PARQUET_CODECS, codec_of
from firesteel.connectors.files.row_types import local_zone
from firesteel.program.sources import Chunk, Chunks, ReadRange, SourceReader, Split
from firesteel.sql.arrow import arrow_schema
from firesteel.sql.connectors.formats.joining import whole
from firesteel.sql.connectors.formats.local_instants import (
    from_instants,
    has_timestamps,
    instant_type,
    to_instants,
)
from firesteel.sql.connectors.formats.registry import FormatOptions, TableFormat
from firesteel.sql.connectors.options import boolean, integer, memory, number, refused, text, word
from firesteel.sql.types import DataType, RowType, TimeType
from firesteel.util.exceptions import TableException

__all__ = ["FORMATS", "BlockFormat"]

_CHUNK: Final = 32_768
_BLOCK_BYTES: Final = 64 << 20

_Convert = Callable[[pa.Array], pa.Array]
_ConvertInstants = Callable[..., pa.Array]


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """:param codec: Arrow's name of it. :param block_bytes: about the size of a row group or stripe before it
    is encoded. :param options: of Arrow's writer. :param zone: of the clock times that files hold as
    instants; None: they hold clock times. :param bloom_columns: of ORC: those with a bloom filter."""

    name: str
    codec: str
    block_bytes: int = _BLOCK_BYTES
    options: Mapping[str, Any] = field(default_factory=dict)
    zone: str | None = None
    bloom_columns: tuple[str, ...] = ()

    def reader(self, row: RowType, columns: tuple[int, ...]) -> SourceReader:
        self._check(row)
        schema = arrow_schema(self.in_file(row))
        chosen = pa.schema([schema.field(c) for c in columns or (0,)])
        read = [row.types[c] for c in columns]
        return _BlocksReader(
            files.Columns(self.name, chosen), len(columns), self.converters(read, from_instants)
        )

    def writer(self, row: RowType) -> BulkWriterFactory:
        self._check(row)
        return _Writers(self, row)

    def converters(self, types: Sequence[DataType], convert: _ConvertInstants) -> dict[int, _Convert]:
        """Return, for the columns with timestamps, what is done to them."""
        return {
            place: partial(convert, data_type=data_type, zone=self.zone)
            for place, data_type in enumerate(types)
            if self.zone is not None and has_timestamps(data_type)
        }

    def in_file(self, row: RowType) -> RowType:
        """Return the types of the columns of a file."""
        if self.zone is None:
            return row
        return RowType.of(list(row.names), [instant_type(data_type) for data_type in row.types])

    def _check(self, row: RowType) -> None:
        if self.name != "orc":
            return
        for name in self.bloom_columns:
            if name not in row.names:
                raise TableException(
                    f"There is no column '{name}' for a bloom filter of the format 'orc'.",
                    detail="named in 'orc.bloom.filter.columns'",
                    hint=f"the columns of a file are {', '.join(row.names)}",
                )
        for column in row.fields:
            if isinstance(column.data_type, TimeType):
                raise TableException(
                    f"The format 'orc' has no type for {column.data_type}.",
                    detail=f"column {column.name}",
                    hint="declare it as STRING or INT",
                )


class _BlocksReader(SourceReader):
    """Positions are (block, row in the block). :param convert: for some columns, what is done to them."""

    def __init__(self, columns: files.Columns, count: int, convert: Mapping[int, _Convert]) -> None:
        self._count = count
        self._convert = convert
        self._files = OpenFiles(partial(_opened, columns))

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._files.read(range_, self._read)

    def _read(self, file: files.OpenBlocks, range_: ReadRange) -> Chunks:  # hot
        first, row = range_.position or (0, 0)
        count, room = range_.max_records, range_.max_bytes
        for block in [b for b in file.blocks if b >= first]:
            table = file.table(block)
            rows = table.num_rows
            columns = Columns([whole(table.column(i)) for i in range(self._count)], rows)
            start = row if block == first else 0
            row_bytes = max(1, table.nbytes // max(1, rows))
            while start < rows:
                if count <= 0 or room <= 0:
                    return
                take = min(_CHUNK, rows - start, count, max(1, room // row_bytes))
                values: Any = self._converted(columns[start : start + take])
                start += take
                count -= take
                room -= take * row_bytes
                end = start == rows and block == file.blocks[-1]
                yield Chunk(values, None, (block, start), end)
                if end:
                    return
        yield Chunk([], None, (file.blocks[-1] + 1 if file.blocks else 0, 0), True)

    def _converted(self, columns: Columns) -> Columns:
        if not self._convert:
            return columns
        arrays = list(columns.arrays)
        for place, convert in self._convert.items():
            arrays[place] = convert(arrays[place])
        return columns.with_arrays(arrays)

    def close(self) -> None:
        self._files.close()


def _opened(columns: files.Columns, split: Split) -> files.OpenBlocks:
    return files.OpenBlocks(columns, split.payload)


@dataclass(frozen=True)
class _Writers(BulkWriterFactory):
    format: BlockFormat
    row: RowType

    def create(self, stream: BinaryIO) -> BulkWriter:
        schema = pa.schema(
            [
                pa.field(f.name, a.type, f.data_type.nullable)
                for f, a in zip(self.row.fields, arrow_schema(self.format.in_file(self.row)), strict=True)
            ]
        )
        return _Writer(self.format, self.row, schema, stream)


class _Writer(BulkWriter):
    def __init__(self, format_: BlockFormat, row: RowType, schema: pa.Schema, stream: BinaryIO) -> None:
        self._format = format_
        self._schema = schema
        self._convert = format_.converters(row.types, to_instants)
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        if format_.name == "parquet":
            import pyarrow.parquet

            self._out: Any = pyarrow.parquet.ParquetWriter(
                stream, schema, compression=format_.codec, **format_.options
            )
        else:
            import pyarrow.orc

            self._out = pyarrow.orc.ORCWriter(
                stream,
                compression=format_.codec,
                stripe_size=format_.block_bytes,
                **format_.options,
                bloom_filter_columns=[row.names.index(name) for name in format_.bloom_columns] or None,
            )

    def add_element(self, element: Any) -> None:
        self.add_elements(element)

    def add_elements(self, elements: Any) -> None:
        arrays = list(elements.arrays)
        for place, convert in self._convert.items():
            arrays[place] = convert(arrays[place])
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self._batches.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= self._format.block_bytes:
            self._write()

    def _write(self) -> None:
        if not self._batches:
            return
        table = pa.Table.from_batches(self._batches)
        self._batches, self._bytes = [], 0
        if self._format.name == "parquet":
            self._out.write_table(table, row_group_size=table.num_rows)
        else:
            self._out.write(table)

    def flush(self) -> None:
        """Do nothing: small blocks would make the file slow to read."""

    def finish(self) -> None:
        self._write()
        self._out.close()

    def abort(self) -> None:
        self._out.close()


_ORC_PIECE: Final = 64 << 10
_ORC_STRIDE: Final = 1000  # below it Arrow's writer refuses
_UNITS: Final = {"nanos": "ns", "micros": "us", "millis": "ms"}
_PAGE_VERSIONS: Final = {"v1": "1.0", "PARQUET_1_0": "1.0", "v2": "2.0", "PARQUET_2_0": "2.0"}
#: Settings of Java's writer (``ParquetOutputFormat``) that Arrow's has not.
_JAVA_ONLY: Final = (
    "bloom.filter.enabled",
    "bloom.filter.expected.ndv",
    "bloom.filter.fpp",
    "bloom.filter.max.bytes",
    "columnindex.truncate.length",
    "memory.min.chunk.size",
    "memory.pool.ratio",
    "page.row.count.limit",
    "page.size.check.estimate",
    "page.size.row.check.max",
    "page.size.row.check.min",
    "page.value.count.threshold",
    "statistics.truncate.length",
    "summary.metadata.level",
    "validation",
    "writer.max-padding",
)


def _parquet(options: FormatOptions) -> BlockFormat:
    codec = codec_of(options["compression"], PARQUET_CODECS, "parquet.compression")
    writing: dict[str, Any] = {
        "use_dictionary": bool(options["enable.dictionary"]),
        "data_page_version": _PAGE_VERSIONS[options["writer.version"]],
        "write_page_checksum": options["page.write-checksum.enabled"],
    }
    if options["page.size"] is not None:
        writing["data_page_size"] = options["page.size"]
    if options["dictionary.page.size"] is not None:
        writing["dictionary_pagesize_limit"] = options["dictionary.page.size"]
    if options["write.int64.timestamp"]:
        unit = _UNITS[options["timestamp.time.unit"]]
        writing |= {"coerce_timestamps": unit, "allow_truncated_timestamps": True}
    elif "parquet.timestamp.time.unit" in options.table:
        raise options.error(
            "timestamp.time.unit",
            "timestamps are written as INT96, which has no unit",
            "set 'parquet.write.int64.timestamp' to 'true', too",
        )
    else:
        writing["use_deprecated_int96_timestamps"] = True
    zone = None if options["utc-timezone"] else local_zone()
    return BlockFormat("parquet", codec, options["block.size"] or _BLOCK_BYTES, writing, zone)


def _orc(options: FormatOptions) -> BlockFormat:
    codec = codec_of(options["compress"], ORC_CODECS, "orc.compress")
    names = (name.strip() for name in (options["bloom.filter.columns"] or "").split(","))
    writing = {
        "compression_block_size": options["compress.size"],
        "row_index_stride": options["row.index.stride"],
        "bloom_filter_fpp": options["bloom.filter.fpp"],
    }
    if options["compress.size"] % _ORC_PIECE or options["compress.size"] < _ORC_PIECE:
        raise options.error("compress.size", "it must be a multiple of 64 kb")
    if options["row.index.stride"] < _ORC_STRIDE:
        raise options.error("row.index.stride", f"it must be at least {_ORC_STRIDE}")
    if not 0 < options["bloom.filter.fpp"] < 1:
        raise options.error("bloom.filter.fpp", "it must be between 0 and 1")
    block_bytes = options["stripe.size"] or _BLOCK_BYTES
    return BlockFormat("orc", codec, block_bytes, writing, bloom_columns=tuple(filter(None, names)))


FORMATS: Final = (
    TableFormat(
        name="parquet",
        options=(
            boolean("utc-timezone", False),
            boolean("write.int64.timestamp", False),
            word("timestamp.time.unit", tuple(_UNITS), "micros"),
            text("compression", "SNAPPY"),
            memory("block.size"),
            memory("page.size"),
            memory("dictionary.page.size"),
            boolean("enable.dictionary", True),
            word("writer.version", tuple(_PAGE_VERSIONS), "v1"),
            boolean("page.write-checksum.enabled", True),
            refused("batch-size", "how many rows are a batch is decided by the job"),
            *(refused(key, "Arrow's writer of Parquet files has no such setting") for key in _JAVA_ONLY),
        ),
        files=_parquet,
    ),
    TableFormat(
        name="orc",
        options=(
            text("compress", "ZLIB"),
            memory("compress.size", _ORC_PIECE),
            memory("stripe.size"),
            integer("row.index.stride", 10_000),
            refused("create.index", "files have an index, which reading needs", unless=("true",)),
            text("bloom.filter.columns"),
            number("bloom.filter.fpp", 0.05),
        ),
        files=_orc,
    ),
)
