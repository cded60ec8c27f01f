"""Sources and sinks of generic records in Avro files, and in Parquet files with an Avro schema."""

from __future__ import annotations

from firesteel.common.io import InputFormat
from firesteel.common.serialization import BulkWriterFactory
from firesteel.connectors.files.avro_files import AvroFileSource, AvroWriterFactory
from firesteel.connectors.files.builders_source import SPLIT_BYTES, BulkFormat, StreamFormat
from firesteel.connectors.files.columnar_files import Columns
from firesteel.connectors.files.columnar_source import ColumnarFileSource
from firesteel.connectors.files.columnar_writers import GenericParquetFactory
from firesteel.formats.avro_columns import avro_columns
from firesteel.formats.avro_types import AvroSchema, GenericRecordAvroTypeInfo
from firesteel.program import sources as base
from firesteel.program.checks import WrongArgumentError, require_text


class AvroInputFormat(InputFormat):
    """Reads the records of Avro files at ``path`` as ``schema``, for ``env.create_input``."""

    def __init__(self, path: str, schema: AvroSchema) -> None:
        super().__init__()
        text = _text_of(schema, "AvroInputFormat")
        self.source = AvroFileSource(
            (require_text(path, "path", "AvroInputFormat"),), text, None, SPLIT_BYTES
        )
        self.produced_type = GenericRecordAvroTypeInfo(schema)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        assert isinstance(self.produced_type, GenericRecordAvroTypeInfo)
        return self.produced_type


class AvroGenericRecordBulkFormat(BulkFormat):
    """Avro files for ``FileSource.for_bulk_file_format``, with everything a FileSource supports, such as
    watched directories (Flink: ``AvroGenericRecordBulkFormat``; not in PyFlink)."""

    def __init__(self, schema: AvroSchema) -> None:
        text = _text_of(schema, "AvroGenericRecordBulkFormat")

        def make(paths: tuple[str, ...], interval_ms: int | None, split_bytes: int | None) -> base.Source:
            return AvroFileSource(paths, text, interval_ms, split_bytes)

        super().__init__(make, GenericRecordAvroTypeInfo(schema))


class AvroBulkWriters:
    """Writers of Avro files for ``FileSink.for_bulk_format``."""

    @staticmethod
    def for_generic_record(schema: AvroSchema, codec: str = "null") -> BulkWriterFactory:
        """Write dicts that match ``schema``.

        :param codec: of the blocks: null, deflate, bzip2, xz, snappy or zstandard. PyFlink lacks this
            parameter and uses null.
        """
        return AvroWriterFactory(_text_of(schema, "AvroBulkWriters"), codec)


class AvroParquetReaders:
    """Formats that read Parquet files as Avro records."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Read the columns that ``schema`` names as dicts, for ``FileSource.for_record_stream_format``."""
        text = _text_of(schema, "AvroParquetReaders")
        columns = Columns("parquet", avro_columns(text).schema)

        def make(paths: tuple[str, ...], interval_ms: int | None, split_bytes: int | None) -> base.Source:
            return ColumnarFileSource(paths, columns, None, text, interval_ms, split_bytes)

        return StreamFormat(make, GenericRecordAvroTypeInfo(schema))


class AvroParquetWriters:
    """Writers of Parquet files with Avro records, for ``FileSink.for_bulk_format``."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Write dicts that match ``schema``. As in parquet-avro, a field that is always null has no column,
        and a union of several types is a group of optional columns ``member0``, ``member1`` ..."""
        text = _text_of(schema, "AvroParquetWriters")
        avro_columns(text)  # rejects types that have no columns
        return GenericParquetFactory(text)


def _text_of(schema: AvroSchema, what: str) -> str:
    if not isinstance(schema, AvroSchema):
        raise WrongArgumentError(
            f"{what} needs an AvroSchema.",
            detail=f"got {schema!r}",
            hint="AvroSchema.parse_string(json_schema)",
        )
    return str(schema)
