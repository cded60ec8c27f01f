"""Parquet files (PyFlink: ``pyflink.datastream.formats.parquet``)."""

from __future__ import annotations

from firesteel.connectors.files.avro_formats import AvroParquetReaders, AvroParquetWriters
from firesteel.connectors.files.columnar_formats import ParquetBulkWriters, ParquetColumnarRowInputFormat

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]
