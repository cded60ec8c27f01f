"""``parquet`` and ``orc``: files that are columns already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, Final

import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.serialization import BulkWriter, BulkWriterFactory
from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors.files import columnar_files as files
from firesteel.connectors.files.columnar_writers import ORC_CODECS, PARQUET_CODECS, codec_of
from firesteel.program.sources import Chunk, ReadRange, SourceReader, Split
from firesteel.sql.arrow import arrow_schema
from firesteel.sql.connectors.formats.joining import whole
from firesteel.sql.connectors.formats.registry import FormatOptions, TableFormat
from firesteel.sql.connectors.options import boolean, memory, text
from firesteel.sql.types import RowType, TimeType
from firesteel.util.exceptions import TableException

__all__ = ["FORMATS", "BlockFormat"]

_CHUNK: Final = 32_768
_BLOCK_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """:param codec: Arrow's name of it. :param block_bytes: about the size of a row group or stripe before it
    is encoded."""

    name: str
    codec: str
    block_bytes: int = _BLOCK_BYTES
    options: Mapping[str, Any] = field(default_factory=dict)

    def reader(self, row: RowType, columns: tuple[int, ...]) -> SourceReader:
        self._check(row)
        schema = arrow_schema(row)
        chosen = pa.schema([schema.field(c) for c in columns or (0,)])
        return _BlocksReader(files.Columns(self.name, chosen), len(columns))

    def writer(self, row: RowType) -> BulkWriterFactory:
        self._check(row)
        return _Writers(self, row)

    def _check(self, row: RowType) -> None:
        if self.name != "orc":
            return
        for column in row.fields:
            if isinstance(column.data_type, TimeType):
                raise TableException(
                    f"The format 'orc' has no type for {column.data_type}.",
                    detail=f"column {column.name}",
                    hint="declare it as STRING or INT",
                )


class _BlocksReader(SourceReader):
    """Positions are (block, row in the block)."""

    def __init__(self, columns: files.Columns, count: int) -> None:
        self._count = count
        self._files = OpenFiles(partial(_opened, columns))

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._files.read(range_, self._read)

    def _read(self, file: files.OpenBlocks, range_: ReadRange) -> Iterator[Chunk]:  # hot
        first, row = range_.position or (0, 0)
        count, room = range_.max_records, range_.max_bytes
        for block in [number for number in file.blocks if number >= first]:
            table = file.table(block)
            rows = table.num_rows
            columns = Columns([whole(table.column(i)) for i in range(self._count)], rows)
            start = row if block == first else 0
            row_bytes = max(1, table.nbytes // max(1, rows))
            while start < rows:
                if count <= 0 or room <= 0:
                    return
                take = min(_CHUNK, rows - start, count, max(1, room // row_bytes))
                values: Any = columns[start : start + take]
                start += take
                count -= take
                room -= take * row_bytes
                end = start == rows and block == file.blocks[-1]
                yield Chunk(values, None, (block, start), end)
                if end:
                    return
        yield Chunk([], None, (file.blocks[-1] + 1 if file.blocks else 0, 0), True)

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
                for f, a in zip(self.row.fields, arrow_schema(self.row), strict=True)
            ]
        )
        return _Writer(self.format, schema, stream)


class _Writer(BulkWriter):
    def __init__(self, format_: BlockFormat, schema: pa.Schema, stream: BinaryIO) -> None:
        self._format = format_
        self._schema = schema
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
                stream, compression=format_.codec, stripe_size=format_.block_bytes
            )

    def add_element(self, element: Any) -> None:
        self.add_elements(element)

    def add_elements(self, elements: Any) -> None:
        batch = pa.RecordBatch.from_arrays(list(elements.arrays), schema=self._schema)
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


def _parquet(options: FormatOptions) -> BlockFormat:
    if not options["utc-timezone"]:
        raise options.error("utc-timezone", "timestamps of Parquet files are those of UTC", "leave it out")
    codec = codec_of(options["compression"], PARQUET_CODECS, "parquet.compression")
    size = options["block.size"] or _BLOCK_BYTES
    return BlockFormat("parquet", codec, size, {"use_dictionary": bool(options["enable.dictionary"])})


def _orc(options: FormatOptions) -> BlockFormat:
    codec = codec_of(options["compress"], ORC_CODECS, "orc.compress")
    return BlockFormat("orc", codec, options["stripe.size"] or _BLOCK_BYTES)


FORMATS: Final = (
    TableFormat(
        name="parquet",
        options=(
            boolean("utc-timezone", True),
            text("compression", "SNAPPY"),
            memory("block.size"),
            boolean("enable.dictionary", True),
        ),
        files=_parquet,
    ),
    TableFormat(name="orc", options=(text("compress", "ZLIB"), memory("stripe.size")), files=_orc),
)
