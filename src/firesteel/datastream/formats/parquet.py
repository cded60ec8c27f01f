"""Parquet files (PyFlink: ``pyflink.datastream.formats.parquet``)."""

from __future__ import annotations

from firesteel.datastream.formats._avro_files import AvroParquetReaders, AvroParquetWriters
from firesteel.datastream.formats._columnar import ParquetBulkWriters, ParquetColumnarRowInputFormat

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]
