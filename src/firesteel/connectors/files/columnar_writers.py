"""Writes rows to Parquet and ORC files, for ``FileSink.for_bulk_format``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from firesteel.common.errors import ConfigurationError, TypeMismatchError
from firesteel.common.serialization import BulkWriter, BulkWriterFactory
from firesteel.common.typeinfo import TypeInformation
from firesteel.formats.arrow_batches import BatchBuilder, DictBatchBuilder
from firesteel.formats.avro_columns import avro_columns
from firesteel.formats.types_to_arrow import Path

BLOCK_BYTES: Final = 64 << 20
_BATCH_ROWS: Final = 16_384

PARQUET_CODECS: Final = {
    "UNCOMPRESSED": "none",
    "SNAPPY": "snappy",
    "GZIP": "gzip",
    "BROTLI": "brotli",
    "LZ4": "lz4",
    "LZ4_RAW": "lz4",
    "ZSTD": "zstd",
}
ORC_CODECS: Final = {
    "NONE": "uncompressed",
    "ZLIB": "zlib",
    "SNAPPY": "snappy",
    "LZ4": "lz4",
    "ZSTD": "zstd",
}


def codec_of(name: str, codecs: Mapping[str, str], option: str) -> str:
    """Return Arrow's name for the codec that Hadoop calls ``name``."""
    try:
        return codecs[name.upper()]
    except KeyError:
        raise ConfigurationError(
            f"{option} does not name a codec: {name!r}", hint=f"one of {', '.join(codecs)}"
        ) from None


@dataclass(frozen=True)
class ColumnarWriterFactory(BulkWriterFactory):
    """Writes rows of ``type_info``. ``block_bytes`` is the approximate size of a row group or stripe before
    encoding. ``zone`` is the time zone of the rows' timestamps. ``required`` names the fields of Parquet
    files that are never None."""

    format: str
    type_info: TypeInformation
    codec: str
    block_bytes: int
    zone: str = "UTC"
    options: Mapping[str, Any] = field(default_factory=dict)
    required: frozenset[Path] = frozenset()

    def create(self, stream: BinaryIO) -> BulkWriter:
        if self.format == "parquet":
            builder = BatchBuilder(self.type_info, self.zone, self.required)
            return _ParquetWriter(builder, self.block_bytes, stream, self.codec, self.options)
        return _OrcWriter(BatchBuilder(self.type_info), self.block_bytes, stream, self.codec)


@dataclass(frozen=True)
class GenericParquetFactory(BulkWriterFactory):
    """Writes the generic records of an Avro schema, given as its text, to Parquet files."""

    schema: str
    block_bytes: int = BLOCK_BYTES

    def create(self, stream: BinaryIO) -> BulkWriter:
        columns = avro_columns(self.schema)
        builder = DictBatchBuilder(columns.schema, columns.write)
        return _ParquetWriter(builder, self.block_bytes, stream, "snappy", {})


class _ArrowWriter(BulkWriter):
    """Collects rows into batches, and batches into blocks."""

    def __init__(self, builder: BatchBuilder | DictBatchBuilder, block_bytes: int) -> None:
        self._builder = builder
        self._block_bytes = block_bytes
        self._rows: list[Any] = []
        self._batches: list[Any] = []
        self._bytes = 0
        self._out: Any = None

    def add_element(self, element: Any) -> None:
        self.add_elements((element,))

    def add_elements(self, elements: Sequence[Any]) -> None:  # hot
        self._rows.extend(elements)
        if len(self._rows) >= _BATCH_ROWS:
            self._make_batch()
            if self._bytes >= self._block_bytes:
                self._write_block()

    def _make_batch(self) -> None:
        if self._rows:
            batch = self._builder.batch(self._rows)
            self._rows = []
            self._batches.append(batch)
            self._bytes += batch.nbytes

    def _write_block(self) -> None:
        import pyarrow as pa

        if self._batches:
            self._write(pa.Table.from_batches(self._batches))
            self._batches, self._bytes = [], 0

    def _write(self, table: Any) -> None:
        raise TypeError("an Arrow writer writes Parquet or ORC")

    def flush(self) -> None:
        """Do nothing: blocks are written when they are full. Small ones would make the file slow to read."""

    def finish(self) -> None:
        self._make_batch()
        self._write_block()
        self._out.close()

    def abort(self) -> None:
        self._out.close()  # otherwise Arrow does it later, when the stream is closed


class _ParquetWriter(_ArrowWriter):
    def __init__(
        self,
        builder: BatchBuilder | DictBatchBuilder,
        block_bytes: int,
        stream: BinaryIO,
        codec: str,
        options: Mapping[str, Any],
    ) -> None:
        import pyarrow.parquet as pq

        super().__init__(builder, block_bytes)
        self._out = pq.ParquetWriter(stream, builder.schema, compression=codec, **options)

    def _write(self, table: Any) -> None:
        import pyarrow as pa

        try:
            self._out.write_table(table, row_group_size=table.num_rows)
        except pa.ArrowInvalid as error:  # None where the schema does not allow it
            raise TypeMismatchError(
                "a record does not fit the schema of its file", detail=str(error)
            ) from error


class _OrcWriter(_ArrowWriter):
    def __init__(self, builder: BatchBuilder, block_bytes: int, stream: BinaryIO, codec: str) -> None:
        import pyarrow.orc as orc

        super().__init__(builder, block_bytes)
        self._out = orc.ORCWriter(stream, compression=codec, stripe_size=block_bytes)

    def _write(self, table: Any) -> None:
        self._out.write(table)
